"""torchvision's networks behave as ours do."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from reslab.errors import UserError
from reslab.networks import create_model
from reslab.networks.network import StandIn


def test_googlenet_returns_logits_and_joins_its_auxiliaries_in_the_loss() -> None:
    """Training gives plain logits; the loss sees 1 : 0.3 : 0.3; evaluation has one term."""
    network = create_model("googlenet", num_classes=5)
    x = torch.randn(2, 3, 224, 224)
    assert network(x).shape == (2, 5)
    weighted = network.weighted_logits(x)
    assert [weight for weight, _ in weighted] == [1.0, 0.3, 0.3]
    assert all(logits.shape == (2, 5) for _, logits in weighted)
    network.stand_in = StandIn(network.trunk)
    assert [weight for weight, _ in network.weighted_logits(x)] == [1.0, 0.3, 0.3]
    assert len(network.eval().weighted_logits(x)) == 1


@pytest.mark.parametrize("name", ["alexnet", "densenet-121", "vit-b-16", "googlenet", "efficientnet-b0"])
def test_classes_and_channels(name: str) -> None:
    """The head has the asked classes, the first convolution the asked channels."""
    network = create_model(name, num_classes=7, in_chans=1).eval()
    assert network(torch.randn(1, 1, 224, 224)).shape == (1, 7)


@pytest.mark.parametrize("name", ["alexnet", "googlenet"])
def test_activations_end_in_the_logits(name: str) -> None:
    """Traced, not hooked; in evaluation the same numbers."""
    network = create_model(name).eval()
    x = torch.randn(1, 3, 224, 224)
    seen = network.activations(x)
    assert len(seen) > 10
    assert torch.allclose(list(seen.values())[-1], network(x), atol=1e-6)


def test_vit_takes_whole_patches() -> None:
    """Another image size means another number of patches, which must be whole."""
    assert create_model("vit-b-16", input_size=32)(torch.randn(1, 3, 32, 32)).shape == (1, 1000)
    with pytest.raises(UserError, match="patches of 16"):
        create_model("vit-b-16", input_size=100)


def test_looking_changes_no_mode() -> None:
    """Activations leave every module's mode alone, follow a replaced head, and keep no network alive."""
    network = create_model("alexnet", num_classes=5)
    network.model.features.eval()  # pyright: ignore[reportAttributeAccessIssue, reportCallIssue]
    modes = [module.training for module in network.modules()]
    x = torch.randn(1, 3, 224, 224)
    network.activations(x)
    assert [module.training for module in network.modules()] == modes
    network.model.classifier[6] = torch.nn.Linear(4096, 3)  # pyright: ignore[reportIndexIssue]
    assert list(network.activations(x).values())[-1].shape == (1, 3)
    alive = weakref.ref(network)
    del network
    gc.collect()
    assert alive() is None
