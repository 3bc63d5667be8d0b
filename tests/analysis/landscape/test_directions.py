"""Directions are drawn alike for all checkpoints, and as long as the filters they move."""

from __future__ import annotations

import pytest
import torch
from tests.analysis.landscape.nets import warmed

from reslab.analysis.landscape.directions import choose_moving, digest, draw_direction, multiply, rescale_filters
from reslab.networks import create_model

GOLDEN = [-1.2884073404901375, -1.122905465136786, 0.9012895130338164, 0.3441687176998223]
NETWORK = warmed()
WEIGHTS = choose_moving(dict(NETWORK.named_parameters()), "filters")


def test_only_what_has_filters_moves_unless_all_is_asked_for() -> None:
    """Convolutions and the classifier's weights; biases, gains and shifts stay."""
    assert all(values.dim() > 1 for values in WEIGHTS.values())
    assert "classifier.weight" in WEIGHTS and "classifier.bias" not in WEIGHTS
    everything = dict(NETWORK.named_parameters())
    assert choose_moving(everything, "all").keys() == everything.keys()


def test_every_filter_is_as_long_as_the_networks() -> None:
    """Slice by slice of each convolution, row by row of the classifier."""
    direction = rescale_filters(draw_direction(WEIGHTS, seed=3, axis=0), WEIGHTS)
    for name, values in direction.items():
        for ours, theirs in zip(values, WEIGHTS[name], strict=True):
            assert float(ours.norm()) == pytest.approx(float(theirs.double().norm()), rel=1e-12)


def test_scaling_a_filter_scales_its_direction() -> None:
    """By the same factor, and nothing else's; a filter of zeros is not moved."""
    drawn = draw_direction(WEIGHTS, seed=3, axis=0)
    before = rescale_filters(drawn, WEIGHTS)
    changed = {name: values.clone() for name, values in WEIGHTS.items()}
    changed["stem.conv.weight"][2] *= 8
    changed["classifier.weight"][1] = 0
    after = rescale_filters(drawn, changed)
    assert torch.allclose(after["stem.conv.weight"][2], 8 * before["stem.conv.weight"][2], rtol=1e-6)
    assert not after["classifier.weight"][1].any()
    for name, values in after.items():
        for number in range(len(values)):
            if (name, number) not in (("stem.conv.weight", 2), ("classifier.weight", 1)):
                assert torch.equal(values[number], before[name][number])


def test_vectors_are_rescaled_as_one_filter() -> None:
    """Where everything moves."""
    everything = choose_moving(dict(NETWORK.named_parameters()), "all")
    direction = rescale_filters(draw_direction(everything, seed=3, axis=0), everything)
    bias = everything["classifier.bias"].double().norm()
    assert float(direction["classifier.bias"].norm()) == pytest.approx(float(bias), rel=1e-12)


def test_a_seed_and_an_architecture_make_a_raw_direction() -> None:
    """Of any checkpoint; another seed, axis or architecture makes another."""
    raw = digest(draw_direction(WEIGHTS, seed=0, axis=0))
    fresh = choose_moving(dict(create_model("cifar-resnet-8", input_size=8).named_parameters()), "filters")
    assert digest(draw_direction(fresh, seed=0, axis=0)) == raw
    wider = choose_moving(dict(create_model("cifar-resnet-8", classes=11).named_parameters()), "filters")
    others = [draw_direction(WEIGHTS, seed=1, axis=0), draw_direction(WEIGHTS, seed=0, axis=1)]
    assert len({raw, *map(digest, others), digest(draw_direction(wider, seed=0, axis=0))}) == 4


def test_the_numbers_are_the_same_for_good() -> None:
    """Of one small parameter: surfaces that were measured years apart have the same axes."""
    drawn = draw_direction({"w": torch.zeros(2, 2)}, seed=0, axis=0)["w"]
    assert drawn.flatten().tolist() == pytest.approx(GOLDEN, rel=1e-12)


def test_random_directions_are_nearly_at_right_angles() -> None:
    """In so many dimensions."""
    one, other = (rescale_filters(draw_direction(WEIGHTS, seed=0, axis=axis), WEIGHTS) for axis in (0, 1))
    length = multiply(one, one)
    assert abs(multiply(one, other)) < 0.02 * length
    assert length == pytest.approx(multiply(WEIGHTS, WEIGHTS), rel=1e-9)
