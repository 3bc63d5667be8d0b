"""Gradients along paths: all of them together are the network's gradient."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from tests.analysis.test_anatomy import some_images, warmed
from torch.nn import functional as F

from reslab.analysis.anatomy import take_apart
from reslab.analysis.lesions.paths import PathTracer, draw_path, has_paths, measure_norms, sum_up_paths


@pytest.mark.parametrize("fields", [{}, {"order": "pre"}, {"shortcut": "C", "order": "pre"}], ids=str)
def test_all_paths_together_are_the_gradient(fields: dict[str, str]) -> None:
    """The sum over all 2^n of them, in float64, is what torch finds."""
    network = warmed("cifar-resnet-8", **fields).double()
    images, targets = some_images(network).double(), torch.tensor([1, 2])
    tracer = PathTracer(take_apart(network), images)
    losses = F.cross_entropy(tracer.logits, targets, reduction="none")
    every = [path for length in range(4) for path in itertools.combinations(range(3), length)]
    summed = torch.stack([tracer.trace(losses, path) for path in every]).sum(0)
    whole = images.clone().requires_grad_()
    F.cross_entropy(network(whole), targets, reduction="sum").backward()
    assert whole.grad is not None
    assert torch.allclose(summed, whole.grad, rtol=1e-10, atol=1e-14)
    assert torch.equal(tracer.logits, network(images))


def test_the_shortest_path_is_the_network_without_blocks() -> None:
    """Where no ReLU follows the addition, the path around every block is linear in what the stem gives."""
    network = warmed("cifar-resnet-8", order="pre").double()
    images, targets = some_images(network).double(), torch.tensor([1, 2])
    tracer = PathTracer(take_apart(network), images)
    losses = F.cross_entropy(tracer.logits, targets, reduction="none")
    norms = list(measure_norms(tracer, losses, 2, seed=0))
    assert len(norms) == 4
    assert norms[0][0] == norms[0][1] == tracer.trace(losses, []).flatten(1).norm(dim=1).mean().item()
    assert norms[3][0] == tracer.trace(losses, [0, 1, 2]).flatten(1).norm(dim=1).mean().item()
    assert list(measure_norms(tracer, losses, 2, seed=0, known=norms[:2])) == norms


@pytest.mark.parametrize(
    ("name", "fields", "has"),
    [
        ("cifar-resnet-8", {}, True),
        ("cifar-plain-8", {}, False),
        ("cifar-resnet-8", {"shortcut": "gated"}, False),
        ("highway-19", {}, False),
    ],
)
def test_who_has_paths(name: str, fields: dict[str, str], has: bool) -> None:
    """Networks with two ways at every block."""
    assert has_paths(take_apart(warmed(name, **fields))) is has


def test_paths_are_drawn_by_their_own_numbers() -> None:
    """The same for the same seed, whatever was drawn before."""
    assert draw_path(9, 4, 1, seed=3) == draw_path(9, 4, 1, seed=3) != draw_path(9, 4, 2, seed=3)
    assert draw_path(5, 5, 0, seed=0) == [0, 1, 2, 3, 4] and draw_path(5, 0, 0, seed=0) == []


def test_shares_are_norms_by_their_number() -> None:
    """Norms that fall by a factor a block give a binomial distribution again, shifted to shorter paths."""
    blocks, factor = 600, 0.1
    norms = np.repeat(factor ** np.arange(blocks + 1)[:, None], 3, axis=1)
    found = sum_up_paths(norms, width=2.0)
    expected = blocks * factor / (1 + factor)
    assert found["mean_length"] == pytest.approx(expected)
    low, high = found["central"]
    assert low < expected < high and high - low < 30
    assert sum(row["share"] for row in found["lengths"]) == pytest.approx(1)
    few = sum_up_paths(norms[:4], width=2.0)["lengths"]
    assert [row["paths"] for row in few] == pytest.approx([math.comb(3, length) / 8 for length in range(4)])
    assert all(row["norm_error"] < 1e-16 for row in few)
