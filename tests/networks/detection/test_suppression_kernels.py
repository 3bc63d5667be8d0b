"""Suppression on CUDA against the host's: in Triton's interpreter, and on a GPU."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.networks.detection.test_suppression import draw, read

from reslab.networks.detection.suppression import suppress

PROGRAM = """
import torch
from reslab.networks.detection.suppression import _walk
from reslab.networks.detection.suppression_kernels import walk
for count, overlap, most in [(1, .5, 1), (64, .3, 20), (70, .5, 70)]:
    corners = (torch.rand(2, count, 2, 2) * 12).round()
    boxes, there = torch.cat([corners.amin(2), corners.amax(2)], dim=-1), torch.tensor([count, count // 2])
    ours, theirs = (each(boxes, there, overlap, most) for each in (walk, _walk))
    assert torch.equal(ours[1], theirs[1]), (count, ours, theirs)
    kept = torch.arange(most) < ours[1][:, None]
    assert torch.equal(ours[0][kept], theirs[0][kept]), count
print("same")
"""


def test_the_kernels_are_the_hosts_way() -> None:
    """In Triton's interpreter, which must be asked for before Triton is first imported."""
    pytest.importorskip("triton")
    environment = os.environ | {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "same\n", done.stderr


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@settings(max_examples=20)
@given(st.integers(0, 10_000), st.sampled_from([1, 63, 64, 65, 500, 3000]), st.sampled_from([0.0, 0.3, 0.5, 0.7]))
def test_the_device_keeps_what_the_host_keeps(seed: int, count: int, overlap: float) -> None:
    """To the last tie."""
    boxes, scores, valid = draw(4, count, seed, whole=seed % 2 == 0)
    ours = suppress(boxes.cuda(), scores.cuda(), valid.cuda(), overlap=overlap, count=count)
    assert read(*ours) == read(*suppress(boxes, scores, valid, overlap=overlap, count=count))
