"""A folded network gives what the network gives, with fewer layers."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from reslab.networks import Network, create_model
from reslab.networks.folding import FoldedBlock, FoldedLayer, fold
from reslab.runtime.execution import FAST

CASES = {
    "resnet-50-v1.5": {"input_size": 64},  # projections with a stride, bottlenecks
    "resnet-20": {},  # option A
    "cifar-resnet-14": {"dropout": 0.3},  # which inference leaves out
    "cifar-plain-20": {},  # no addition: layers alone
    "cifar-resnet-20": {"order": "pre"},  # normalization first: little to fold
    "resnet-18": {"input_size": 64, "squeeze_excitation": 4},
}


def make_network(name: str, **fields: object) -> Network:
    torch.manual_seed(0)
    network = create_model(name, num_classes=5, **fields)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            for values in (module.weight, module.bias, module.running_mean):
                assert values is not None
                nn.init.normal_(values, 0.5, 0.3)
            assert module.running_var is not None
            nn.init.uniform_(module.running_var, 0.5, 2)
    return network.eval()


@pytest.mark.parametrize(("name", "fields"), CASES.items())
def test_logits_are_the_same(name: str, fields: dict[str, object]) -> None:
    """To float64's rounding, whatever the blocks; the network itself is left as it was."""
    network = make_network(name, **fields).double()
    images = torch.randn(2, *network.spec.input_shape, dtype=torch.float64)
    with torch.no_grad():
        wanted = network(images)
        folded = fold(network)
        torch.testing.assert_close(folded(images), wanted)
        torch.testing.assert_close(network(images), wanted, rtol=0, atol=0)


def test_nothing_is_left_to_normalize() -> None:
    """Of ResNet-50, every block is one of ours and no normalization stays; a gate or another norm is left alone."""
    for dropout in (0.0, 0.3):
        modules = list(fold(make_network("resnet-50-v1.5", input_size=64, dropout=dropout)).modules())
        assert sum(isinstance(module, FoldedBlock) for module in modules) == 16
        assert not any(isinstance(module, nn.BatchNorm2d | nn.Dropout) for module in modules)
    others = list(fold(create_model("cifar-resnet-8", norm="group")).modules())
    assert not any(isinstance(module, FoldedLayer | FoldedBlock) for module in others)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_joined_kernels_give_the_same() -> None:
    """In bfloat16 on CUDA, by cuDNN's joined kernels where it has them."""
    network = make_network("resnet-50-v1.5", input_size=64).cuda()
    images = torch.randn(4, 3, 64, 64, device="cuda")
    folded = fold(network).bfloat16()
    FAST.prepare_network(folded)
    with torch.no_grad():
        wanted, found = network(images), folded(FAST.prepare(images.bfloat16())).float()
    assert (found - wanted).norm() < 0.05 * wanted.norm()
    assert any(module.joins for module in folded.modules() if isinstance(module, FoldedLayer))
