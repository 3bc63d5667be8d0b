"""Fast inference agrees with the network within bfloat16."""

from __future__ import annotations

import pytest
import torch

from reslab.delivery.inference import FastInference
from reslab.networks import create_model


def test_logits_agree_on_the_cpu() -> None:
    """To bfloat16's digits, as float32; nothing is recorded there."""
    torch.manual_seed(0)
    network = create_model("cifar-resnet-8").eval()
    images = torch.randn(3, 3, 32, 32)
    fast = FastInference(network, device="cpu")
    with torch.no_grad():
        wanted = network(images)
    for _ in range(2):
        found = fast(images)
        assert found.dtype == torch.float32
        assert (found - wanted).norm() < 0.05 * wanted.norm()
    assert not fast.recordings


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_shape_that_returns_is_recorded() -> None:
    """From its second time on the same logits come from a graph, for whatever images are given."""
    torch.manual_seed(0)
    network = create_model("resnet-18").cuda().eval()
    first, second = torch.randn(2, 4, 3, 64, 64, device="cuda")
    fast = FastInference(network, device="cuda")
    wanted = [fast.network(images.bfloat16()).float() for images in (first, second)]
    found = [fast(images) for images in (first, second, first)]
    assert list(fast.recordings) == [first.shape]
    for ours, theirs in zip(found, (*wanted, wanted[0]), strict=True):
        assert (ours - theirs).norm() < 0.05 * theirs.norm()
