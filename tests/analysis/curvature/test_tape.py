"""Networks as operators give what differentiating twice gives; those with a part that is not known are told."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.analysis.curvature.problems import draw, make_network, make_problem

import reslab
from reslab.analysis.curvature.double_backward import DoubleBackward
from reslab.analysis.curvature.forward_over_reverse import ForwardOverReverse
from reslab.analysis.curvature.tape import Unknown, make_tape
from reslab.networks import create_model
from reslab.runtime.execution import Execution

THREE = (*[reslab.StageSpec(width=4, blocks=1)] * 2, reslab.StageSpec(width=8, blocks=1, stride=2))
VARIANTS: dict[str, dict[str, Any]] = {
    "residual": {},
    "plain": {"shortcut": "none"},
    "projections": {"shortcut": "C"},
    "padded on both sides": {"zero_padding": "both"},
    "pre-activation": {"order": "pre"},
    "pre-activation, projections": {"order": "pre", "shortcut": "B"},
    "bottleneck": {"block": "bottleneck", "stages": THREE},
    "frozen norms": {"norm": "frozen"},
    "no norms": {"norm": "none"},
    "no norms, pre-activation": {"norm": "none", "order": "pre"},
    "stem with a bias, pooled": {"stem": reslab.StemSpec(width=2, kernel=7, stride=1, bias=True), "pool": "padded"},
    "stem of photographs": {"stem": reslab.StemSpec(width=2, kernel=7, stride=2), "pool": "ceil", "input_size": 16},
    "dropout": {"dropout": 0.3, "stochastic_depth": 0.2},
    "sequences": {"dimensions": 1},
    "volumes": {"dimensions": 3, "input_size": 4},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_tapes_equal_double_backward(variant: str) -> None:
    """To 1e-10, by both statistics, for both matrices, in both layouts, with several vectors."""
    network = make_network(**VARIANTS[variant])
    parameters = list(network.parameters())
    vectors = draw((2, sum(each.numel() for each in parameters)), 2)
    for norms, matrix, last in (
        ("fixed", "hessian", False),
        ("batch", "hessian", True),
        ("fixed", "gauss-newton", True),
        ("batch", "gauss-newton", False),
    ):
        execution = Execution(channels_last=last)
        execution.prepare_network(network)
        problem = make_problem(network, norms=norms, matrix=matrix, precision="fp64")
        batches = [(execution.prepare(images), targets) for images, targets in problem.batches()]
        problem = make_problem(network, norms=norms, matrix=matrix, precision="fp64", batches=lambda to=batches: to)
        ours, torchs = (way(problem, parameters).multiply(vectors) for way in (ForwardOverReverse, DoubleBackward))
        assert (ours - torchs).abs().max() < 1e-10 * torchs.abs().max()


@pytest.mark.parametrize(
    ("name", "fields", "part"),
    [
        ("cifar-resnet-8", {"shortcut": "gated"}, "Gate"),
        ("cifar-resnet-8", {"squeeze_excitation": 4}, "SqueezeExcitation"),
        ("cifar-resnet-8", {"norm": "group"}, "GroupNorm"),
        ("cifar-plain-8", {"maxout": 2}, "Maxout"),
        ("highway-19", {}, "HighwayNetwork"),
        ("lenet-5", {}, "LeNet"),
    ],
)
def test_parts_that_are_not_known_are_told(name: str, fields: dict[str, Any], part: str) -> None:
    """So that somebody else may differentiate them."""
    with pytest.raises(Unknown, match=part):
        make_tape(create_model(name, **fields), norms="fixed")


def test_a_norm_of_fixed_statistics_becomes_part_of_the_kernels_before_it() -> None:
    """By the batch it is a step of its own."""
    network = make_network()
    fixed, batch = (make_tape(network, norms=norms).steps[0] for norms in ("fixed", "batch"))  # pyright: ignore[reportArgumentType]
    kinds = [[type(step).__name__ for step in chain.steps] for chain in (fixed, batch)]  # pyright: ignore[reportAttributeAccessIssue]
    assert kinds == [["Convolution", "Rectifier"], ["Convolution", "BatchNorm", "Rectifier"]]


def test_precision_is_for_convolutions_alone() -> None:
    """What leaves the network is float32 again."""
    network = make_network().float()
    products = ForwardOverReverse(make_problem(network, precision="bf16"), list(network.parameters()))
    assert products.multiply(draw((1, products.size), 2, torch.float32)).dtype == torch.float32
