"""Probes against brute force, against calculus and against chance."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from reslab.delivery.probing import PENALTIES, choose_penalty, fit_linear, probe, vote
from reslab.errors import UserError


def clouds(count: int, *, distance: float, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Three clouds of points, `distance` apart."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % 3
    centres = distance * torch.eye(3, 8)
    return centres[labels] + torch.randn(count, 8, generator=generator), labels


def test_separable_features_are_known_and_noise_is_not() -> None:
    """Far apart nearly all is right; where there is nothing to know, about a third."""
    for distance, low, high in ((8.0, 98.0, 100.0), (0.0, 20.0, 47.0)):
        train, train_labels = clouds(150, distance=distance)
        test, test_labels = clouds(120, distance=distance, seed=1)
        found = probe(train, train_labels, test=test, test_labels=test_labels)
        assert found.images == 120
        assert found.chance == pytest.approx(100 / 3)
        for accuracy in (found.linear, *found.neighbours.values()):
            assert low <= accuracy <= high
        assert list(found.neighbours) == [1, 5, 20]
    again = probe(train, train_labels, test=test, test_labels=test_labels)
    assert again == found


def test_the_linear_probe_is_at_its_minimum() -> None:
    """The slope of loss and penalty vanishes."""
    features, labels = clouds(60, distance=1.0)
    features = features.double()
    weights = fit_linear(features, labels, classes=3, penalty=0.01).requires_grad_()
    logits = features @ weights[:, :-1].T + weights[:, -1]
    loss = F.cross_entropy(logits, labels) + 0.005 * weights[:, :-1].square().sum()
    (slope,) = torch.autograd.grad(loss, weights)
    assert float(slope.abs().max()) < 1e-4
    heavy = fit_linear(features, labels, classes=3, penalty=1.0)
    assert heavy[:, :-1].norm() < weights[:, :-1].norm()


def test_the_penalty_follows_from_the_seed() -> None:
    """One of the list, the same for the same seed, the strongest where all do equally well."""
    features, labels = clouds(60, distance=30.0)
    assert choose_penalty(features.double(), labels, classes=3, seed=0) == PENALTIES[-1]
    noisy, labels = clouds(60, distance=1.0)
    chosen = {choose_penalty(noisy.double(), labels, classes=3, seed=5) for _ in range(2)}
    assert len(chosen) == 1
    assert chosen <= set(PENALTIES)


@pytest.mark.parametrize("count", [1, 5, 20])
def test_votes_equal_brute_force(count: int) -> None:
    """Each asked one alone: sort by cosine, count, and let the more similar win a tie."""
    known, labels = clouds(50, distance=1.0)
    asked, _ = clouds(40, distance=1.0, seed=2)
    found = vote(known, labels, asked, count=count, classes=3)
    for one, guess in zip(asked.tolist(), found.tolist(), strict=True):
        near = sorted(((_cosine(one, other), int(label)) for other, label in zip(known.tolist(), labels, strict=True)))
        tally = dict.fromkeys(range(3), (0, 0.0))
        for similarity, label in near[-count:]:
            votes, total = tally[label]
            tally[label] = (votes + 1, total + similarity)
        assert guess == max(tally, key=lambda c: tally[c])
    assert vote(known[:2], labels[:2], asked, count=20, classes=3).max() <= 1


def _cosine(one: list[float], other: list[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True)) / (math.hypot(*one) * math.hypot(*other))


def test_too_few_images_are_told() -> None:
    """A fifth of nothing chooses no penalty."""
    features, labels = clouds(9, distance=1.0)
    with pytest.raises(UserError, match="there are 9 training images, but a probe needs 10"):
        probe(features, labels, test=features, test_labels=labels)
