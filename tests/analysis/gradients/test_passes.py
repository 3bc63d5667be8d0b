"""Gradients and variances against finite differences and closed forms, in float64."""

from __future__ import annotations

import pytest
import torch
from tests.analysis.nets import losses, make_batch, make_tiny
from torch import Tensor
from torch.nn import functional as F

from reslab.analysis.gradients.passes import run_pass
from reslab.analysis.layers import list_layers
from reslab.analysis.norms import Norms, normalizing
from reslab.networks import Network
from reslab.runtime.execution import EAGER

STEP = 1e-6


def mean_loss(network: Network, batch: tuple[Tensor, Tensor]) -> float:
    """What a gradient is of."""
    with torch.no_grad():
        return losses(network(batch[0]), batch[1]).mean().item()


@pytest.mark.parametrize("norms", ["batch", "fixed"])
@pytest.mark.parametrize(
    ("name", "fields"), [("cifar-plain-8", {}), ("cifar-resnet-8", {"order": "pre", "shortcut": "B"})]
)
def test_gradients_are_finite_differences(name: str, fields: dict[str, str], norms: Norms) -> None:
    """Of the mean loss, in a random direction of each layer's weights, and of all else."""
    network, batch = make_tiny(name, **fields), make_batch(5)
    layers = list_layers(network)
    own = {id(layer.weight) for layer in layers}
    others = [one for one in network.parameters() if id(one) not in own]
    with normalizing(network, norms):
        gradients = run_pass(network, layers, batch, losses=losses, execution=EAGER).gradients
        for place, gradient in enumerate(gradients):
            parameters = [layers[place].weight] if place < len(layers) else others
            directions = [torch.randn_like(one) for one in parameters]
            ends = []
            for sign in (1, -1):
                for one, direction in zip(parameters, directions, strict=True):
                    one.data += sign * STEP * direction
                ends.append(mean_loss(network, batch))
                for one, direction in zip(parameters, directions, strict=True):
                    one.data -= sign * STEP * direction
            slope = (ends[0] - ends[1]) / (2 * STEP)
            along = gradient @ torch.cat([direction.flatten() for direction in directions])
            assert along.item() == pytest.approx(slope, rel=1e-5, abs=1e-9)


def test_signals_at_both_ends_have_closed_forms() -> None:
    """The first convolution's is that of the images, the classifier's the logits; what comes back is p - y."""
    network, (images, targets) = make_tiny(), make_batch(7)
    layers = list_layers(network)
    found = run_pass(network, layers, (images, targets), losses=losses, execution=EAGER)
    first = F.conv2d(images, layers[0].weight, padding=1)
    logits = network(images)
    back = logits.softmax(1) - F.one_hot(targets, 3)
    assert found.forward[0].item() == pytest.approx(first.var(correction=0).item())
    assert found.forward[-1].item() == pytest.approx(logits.var(correction=0).item())
    assert found.backward[-1].item() == pytest.approx(back.var(correction=0).item())


def test_what_comes_back_inside_is_a_finite_difference() -> None:
    """Of the summed loss, by each value that leaves a convolution: the network goes on with a changed one."""
    network, batch = make_tiny(), make_batch(2)
    layers = list_layers(network)
    (place,) = (place for place, layer in enumerate(layers) if layer.name == "conv4_1.1")
    found = run_pass(network, layers, batch, losses=losses, execution=EAGER)
    changes: list[Tensor] = []
    handle = layers[place].module.register_forward_hook(lambda module, given, signal: signal + changes[-1])
    slopes = []
    signal = torch.zeros(2, 4, 2, 2, dtype=torch.float64)
    for value in range(signal.numel()):
        ends = []
        for sign in (1, -1):
            change = signal.clone()
            change.view(-1)[value] = sign * STEP
            changes.append(change)
            ends.append(2 * mean_loss(network, batch))
        slopes.append((ends[0] - ends[1]) / (2 * STEP))
    handle.remove()
    assert found.backward[place].item() == pytest.approx(torch.tensor(slopes).var(correction=0).item(), rel=1e-4)


def test_signals_of_an_image_do_not_depend_on_how_many_there_are() -> None:
    """With fixed statistics; the gradient is that of the mean, so it does not grow either."""
    network, (images, targets) = make_tiny(), make_batch(4)
    layers = list_layers(network)
    once, twice = (
        run_pass(network, layers, batch, losses=losses, execution=EAGER)
        for batch in ((images, targets), (images.repeat(2, 1, 1, 1), targets.repeat(2)))
    )
    assert torch.allclose(once.forward, twice.forward)
    assert torch.allclose(once.backward, twice.backward)
    assert all(torch.allclose(*pair) for pair in zip(once.gradients, twice.gradients, strict=True))
