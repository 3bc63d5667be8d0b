"""RoI pooling by the kernels against the host's way: in Triton's interpreter, and on a GPU."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.networks.detection.test_regions import draw_boxes

from reslab.networks.detection.regions import pool_max

PROGRAM = """
import torch
from reslab.networks.detection.pooling_kernels import pool, spread
from reslab.networks.detection.regions import _divide, _pool, _spread
torch.manual_seed(0)
for side, channels in [(1, 3), (2, 8), (7, 5)]:
    height, width, regions = 5, 6, 7
    table = torch.randn(2 * height * width, channels).round(decimals=1)
    first = torch.randint(-1, 4, (regions, 2)).float()
    last = first + torch.randint(0, 4, (regions, 2)).float()
    images = torch.arange(regions) % 2
    rows, row_counts = _divide(first[:, 0], last[:, 0], height, side)
    columns, column_counts = _divide(first[:, 1], last[:, 1], width, side)
    bins, most = ((images * height)[:, None] + rows, row_counts, columns, column_counts), (7, 8)
    expected, pixels = _pool(table, bins, width, most)
    values, chosen = pool(table, bins, width, most[1])
    assert torch.equal(values, expected), side
    gradients = torch.randn_like(values)
    ours, theirs = torch.empty_like(table), torch.zeros_like(table)
    spread(chosen, gradients, bins, width, most[1], ours)
    _spread(pixels, gradients, bins, width, most, theirs)
    torch.testing.assert_close(ours, theirs)
print("same")
"""


def test_the_kernels_are_the_hosts_way() -> None:
    """In Triton's interpreter, which must be asked for before Triton is first imported; bins without a pixel too."""
    pytest.importorskip("triton")
    environment = os.environ | {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "same\n", done.stderr


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([2, 7, 14]), st.sampled_from([3, 64, 1024]))
def test_the_device_pools_as_the_host_does(seed: int, side: int, channels: int) -> None:
    """Values to the bit, gradients but for the order they are added in, which is the same each time."""
    torch.manual_seed(seed)
    map_ = torch.randn(2, channels, 19, 23).round(decimals=1)
    boxes, images = draw_boxes(8, width=23 * 16, height=19 * 16), torch.randint(2, (8,))
    values, gradients = [], []
    for device in ("cpu", "cuda", "cuda"):
        own = map_.clone().to(device).requires_grad_()
        pooled = pool_max(own, boxes.to(device), images.to(device), stride=16, side=side)
        torch.manual_seed(seed)
        (pooled * torch.randn(pooled.shape).to(device)).sum().backward()
        assert own.grad is not None
        values.append(pooled.detach().cpu())
        gradients.append(own.grad.cpu())
    assert torch.equal(values[0], values[1])
    torch.testing.assert_close(gradients[0], gradients[1])
    assert torch.equal(gradients[1], gradients[2])
