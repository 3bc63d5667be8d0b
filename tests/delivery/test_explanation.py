"""Grad-CAM against what it must be where a pool and a linear classifier follow the map."""

from __future__ import annotations

import pytest
import torch
from tests.delivery.conftest import make_network

from reslab.delivery.explanation import COLOURS, find_evidence, paint
from reslab.errors import UserError
from reslab.networks import Network, create_model


@pytest.mark.parametrize("order", ["post", "pre"])
def test_evidence_is_the_classifiers_view_of_the_map(order: str) -> None:
    """The slope is weight over area, so evidence is the positive part of the weighted map, up to scale."""
    network = make_network(order=order)
    images = torch.randn(3, 3, 16, 16)
    with torch.no_grad():
        seen = network.activations(images)
    last = seen["final" if order == "pre" else "conv4_1"]
    for target in (0, 1):
        weights = network.classifier.weight[target].detach()  # pyright: ignore[reportAttributeAccessIssue, reportIndexIssue]
        wanted = (weights[None, :, None, None] * last).sum(1).relu()  # pyright: ignore[reportArgumentType, reportCallIssue]
        wanted /= wanted.amax((1, 2), keepdim=True).clamp_min(1e-30)
        assert torch.allclose(find_evidence(network, images, target), wanted, atol=1e-5)


def test_the_first_guess_is_explained_by_default(network: Network) -> None:
    """Each image's own, and nothing stays behind on the weights."""
    images = torch.randn(4, 3, 16, 16)
    with torch.no_grad():
        guesses = network(images).argmax(1).tolist()
    by_guess = [find_evidence(network, image[None], guess) for image, guess in zip(images, guesses, strict=True)]
    assert torch.allclose(find_evidence(network, images), torch.cat(by_guess), atol=1e-5)
    assert all(parameter.grad is None for parameter in network.parameters())


def test_comparators_have_maps_or_say_so() -> None:
    """AlexNet's last map explains it; a network of vectors has none."""
    network = create_model("alexnet", num_classes=3).eval()
    assert find_evidence(network, torch.randn(1, 3, 96, 96)).shape == (1, 6, 6)
    with pytest.raises(UserError, match="has no feature map to explain"):
        find_evidence(create_model("cifar-resnet-8", dimensions=1).eval(), torch.randn(1, 3, 32))


def test_paint_covers_where_the_evidence_is() -> None:
    """Full evidence is mostly its colour, none is mostly the picture; small pictures are enlarged."""
    evidence = torch.zeros(4, 4)
    evidence[:, 2:] = 1
    picture = paint(torch.zeros(1, 16, 16), evidence)
    assert picture.shape == (224, 452, 3)
    assert not picture[:, :224].any()
    assert picture[100, 451].tolist() == (0.7 * COLOURS[-1]).round().tolist()
    assert picture[100, 228].tolist() == (0.25 * COLOURS[0]).round().tolist()
    assert paint(torch.zeros(3, 300, 400), evidence).shape == (300, 804, 3)
