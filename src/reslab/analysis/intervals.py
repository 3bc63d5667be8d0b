"""Bootstrap intervals: how far a mean would be off with other batches, lines or images (Efron, 1979)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def bootstrap_means(values: Floats, *, confidence: float, resamples: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Return the mean over the first axis, and the bounds of its percentile interval."""
    counts = _draw(len(values), resamples, np.random.default_rng(seed))
    drawn = counts / len(values) @ values.reshape(len(values), -1)
    return values.mean(0), *_bounds(drawn.reshape(resamples, *values.shape[1:]), confidence)


def bootstrap_pairs(
    blocks: Sequence[Floats], *, confidence: float, resamples: int, seed: int
) -> tuple[Floats, Floats, Floats]:
    """Return the mean over all pairs of different members of each block, and the bounds of its interval.

    A block is (quantities, members, members). Members are drawn within their block; one that is drawn twice makes no
    pair with itself.
    """
    generator = np.random.default_rng(seed)
    sums, pairs = 0.0, np.zeros(resamples + 1)
    for block in blocks:
        members = block.shape[-1]
        counts = np.concatenate([np.ones((1, members)), _draw(members, resamples, generator)])
        different = block * (1 - np.eye(members))
        sums = sums + np.einsum("rm,qmn,rn->rq", counts, different, counts, optimize=True)
        pairs += counts.sum(1) ** 2 - (counts**2).sum(1)
    with np.errstate(invalid="ignore"):  # a draw of one member alone has no pairs, and does not count
        means = sums / pairs[:, None]
    return means[0], *_bounds(means[1:], confidence)


def _draw(members: int, resamples: int, generator: np.random.Generator) -> Floats:
    """Return how often each member is in each resample."""
    return generator.multinomial(members, np.full(members, 1 / members), size=resamples).astype(np.float64)


def _bounds(drawn: Floats, confidence: float) -> Floats:
    return np.nanquantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
