"""Bootstrap intervals against resampling one draw after the other, and against theory."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from reslab.analysis.intervals import bootstrap_means, bootstrap_pairs

OPTIONS = {"confidence": 0.95, "resamples": 2000, "seed": 3}


def test_means_and_their_intervals() -> None:
    """About as wide as theory says of independent values, for each quantity by itself; a shape is kept."""
    values = np.random.default_rng(1).normal(5, 2, (400, 3, 2))
    means, lows, highs = bootstrap_means(values, **OPTIONS)
    assert np.allclose(means, values.mean(0), rtol=1e-13)
    assert means.shape == lows.shape == highs.shape == (3, 2)
    assert np.allclose(highs - lows, 2 * 1.96 * values.std(0) / 20, rtol=0.08)
    assert np.all((lows < means) & (means < highs))


def test_pairs_are_of_different_members() -> None:
    """Of one block or several; what stands on the diagonal counts for nothing."""
    generator = np.random.default_rng(2)
    blocks = [generator.normal(size=(2, size, size)) for size in (4, 3)]
    means, *_ = bootstrap_pairs(blocks, **OPTIONS)
    for quantity in range(2):
        pairs = [block[quantity][i, j] for block in blocks for i, j in itertools.permutations(range(len(block[0])), 2)]
        assert means[quantity] == pytest.approx(np.mean(pairs))


def test_intervals_of_pairs_cover_the_truth() -> None:
    """Cosine-like products of members with a common part: nine in ten intervals of 90 % hold its square."""
    generator, hits = np.random.default_rng(4), 0
    for _ in range(100):
        members = 0.5 + generator.normal(size=12)
        table = np.multiply.outer(members, members)[None]
        _, low, high = bootstrap_pairs([table], confidence=0.9, resamples=300, seed=5)
        hits += bool(low[0] <= 0.25 <= high[0])
    assert 78 <= hits <= 98


def test_a_seed_gives_the_same_interval() -> None:
    """And two members alone, of which half of the draws have no pair, still have one."""
    block = np.array([[[1.0, 0.4], [0.4, 1.0]]])
    first = bootstrap_pairs([block], **OPTIONS)
    assert [bound.tolist() for bound in first] == [bound.tolist() for bound in bootstrap_pairs([block], **OPTIONS)]
    assert [bound.item() for bound in first] == pytest.approx([0.4] * 3)
