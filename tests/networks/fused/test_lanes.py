"""What lanes do to the network's moving averages; on a GPU, what comes after them waits for them."""

import copy

import pytest
import torch
from torch import nn

from reslab.networks.fused.lanes import Lanes, averages_of


@pytest.mark.parametrize("count", [1, 2, 3])
def test_averages_move_as_if_parts_came_one_after_the_other(count: int) -> None:
    """By batch normalization's own layers; a lone lane writes the network's averages itself."""
    torch.manual_seed(0)
    norms = [nn.BatchNorm2d(4), nn.BatchNorm2d(8)]
    for norm in norms:
        norm(torch.randn(8, norm.num_features, 2, 2))
    expected = copy.deepcopy(norms)
    lanes = Lanes(norms, count=count, device=torch.device("cpu"))
    with lanes.sharing_averages():
        for lane in lanes.all:
            for norm, usual, mean, variance in zip(norms, expected, lane.means, lane.variances, strict=True):
                images = torch.randn(5, norm.num_features, 3, 3)
                nn.functional.batch_norm(images, mean, variance, training=True, momentum=0.1)
                usual(images)
    for ours, theirs in zip(averages_of(norms), averages_of(expected), strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_what_comes_after_waits_for_all_lanes() -> None:
    """Each lane sees what was there before it, and what is asked for after joining sees what lanes wrote."""
    device = torch.device("cuda")
    lanes = Lanes([nn.BatchNorm2d(4).to(device)], count=3, device=device)
    total = torch.zeros(3, 1 << 22, device=device)
    for _ in range(10):
        total += 1
        for row, lane in enumerate(lanes.all):
            with lane.entered():
                for _ in range(8):
                    total[row] += 1
        lanes.join()
        total /= 9
    assert torch.allclose(total, torch.ones_like(total) * sum(9.0**-k for k in range(10)), rtol=1e-5)
