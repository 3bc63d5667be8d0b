"""Loss and error over a plane, beside weights that are set point by point."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from tests.analysis.landscape.nets import warmed
from torch import Tensor
from torch.nn import functional as F

from reslab.analysis.landscape.directions import choose_moving, draw_direction, rescale_filters
from reslab.analysis.landscape.grid import spread_evenly
from reslab.analysis.landscape.passes import Passes, Precision, Settling, stack_one
from reslab.analysis.landscape.plane import Plane, Probe

NETWORK = warmed()
IMAGES = torch.randn(23, *NETWORK.spec.input_shape, generator=torch.Generator().manual_seed(2))
TARGETS = torch.arange(23) % NETWORK.spec.classes
POINTS = np.concatenate(spread_evenly(dimensions=2, points=3, span=0.4).rows)


def losses(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(outputs, targets, reduction="none")


def wrong(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs.argmax(1) != targets).float()


def make(
    precision: Precision = "fp64", *, batch: int = 8, at_once: int = 4, anew: bool = False, dimensions: int = 2
) -> tuple[Probe, Plane]:
    passes = Passes(NETWORK, precision=precision)
    weights = choose_moving(dict(passes.network.named_parameters()), "filters")
    directions = [rescale_filters(draw_direction(weights, seed=0, axis=axis), weights) for axis in range(dimensions)]
    placed = tuple({name: values.to(passes.dtype) for name, values in one.items()} for one in directions)
    settle = Settling(passes, IMAGES[:12].flip(2)) if anew else None
    images = list(zip(IMAGES.split(batch), TARGETS.split(batch), strict=True))
    probe = Probe(passes=passes, settle=settle, images=images, losses=losses, wrong=wrong, at_once=at_once)
    return probe, Plane(weights, placed)


def brute(plane: Plane, place: np.ndarray) -> tuple[float, float]:
    """Set the weights of one point, and test."""
    network = copy.deepcopy(NETWORK).double()
    for name, values in plane.weights.items():
        moved = values + sum(c * d[name] for c, d in zip(place, plane.directions, strict=True))
        network.get_parameter(name).data.copy_(moved)
    with torch.no_grad():
        outputs = network(IMAGES.double())
    return float(losses(outputs, TARGETS).mean()), float(wrong(outputs, TARGETS).double().mean())


@pytest.mark.parametrize("dimensions", [1, 2])
def test_points_are_what_setting_weights_gives(dimensions: int) -> None:
    """One by one, by hand."""
    probe, plane = make(dimensions=dimensions)
    places = POINTS[:, :dimensions]
    found = np.stack(probe.measure(plane, places), 1)
    assert found == pytest.approx(np.array([brute(plane, place) for place in places]), rel=1e-11)
    assert len({loss for loss, _ in found}) == len({tuple(place) for place in places})


def test_the_origin_is_the_evaluated_network() -> None:
    """In float64 its loss to the last digits, in float32 to its rounding; and the same images are wrong."""
    with torch.no_grad():
        outputs = NETWORK(IMAGES)
    expected = float(losses(outputs.double(), TARGETS).mean()), float(wrong(outputs, TARGETS).double().mean())
    precisions: tuple[Precision, ...] = ("fp64", "fp32")
    for precision in precisions:
        loss, error = make(precision)[0].measure(make(precision)[1], np.zeros((1, 2)))
        assert loss[0] == pytest.approx(expected[0], rel=1e-6)
        assert error[0] == expected[1]
    exact = brute(make()[1], np.zeros(2))
    assert make()[0].measure(make()[1], np.zeros((1, 2)))[0][0] == pytest.approx(exact[0], rel=1e-13)


@pytest.mark.parametrize("anew", [False, True])
def test_points_at_once_and_batches_change_nothing(anew: bool) -> None:
    """Of the surface, in float64 to its rounding."""
    expected = np.stack(make(anew=anew)[0].measure(make(anew=anew)[1], POINTS))
    for batch, at_once in ((23, 9), (5, 1), (1, 2)):
        probe, plane = make(batch=batch, at_once=at_once, anew=anew)
        assert np.stack(probe.measure(plane, POINTS)) == pytest.approx(expected, rel=1e-12)


def test_a_stack_has_statistics_of_its_own_unless_they_settle() -> None:
    """A snapshot's are those it was stored with; taken anew, the stored ones do not matter."""
    parameters, buffers = (dict(pairs) for pairs in (NETWORK.named_parameters(), NETWORK.named_buffers()))
    other = {name: values * 1.5 if values.is_floating_point() else values for name, values in buffers.items()}
    network = copy.deepcopy(NETWORK)
    network.load_state_dict({**parameters, **other})
    with torch.no_grad():
        expected = float(losses(network.double()(IMAGES.double()), TARGETS).mean())
    found = {}
    for anew in (False, True):
        probe, _ = make(anew=anew)
        like = probe.passes.network  # pyright: ignore[reportFunctionMemberAccess]
        found[anew] = [
            probe.measure_stack(stack_one(parameters, like), stack_one(each, like))[0] for each in (buffers, other)
        ]
    assert found[False][1] == pytest.approx(expected, rel=1e-11)
    assert found[False][0] != pytest.approx(found[False][1], rel=1e-3)
    assert found[True][0] == found[True][1]
