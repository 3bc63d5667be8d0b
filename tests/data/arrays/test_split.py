"""Images as arrays: their bytes, alone and together, and what tells them apart."""

from __future__ import annotations

import numpy as np
import torch

from reslab.data.arrays.split import ArraySplit

IMAGES = np.random.default_rng(0).integers(0, 256, (6, 3, 4, 5), dtype=np.uint8)
SPLIT = ArraySplit(IMAGES, np.array([0, 1, 2, 0, 1, 2], np.uint8))


def test_images_come_alone_or_together() -> None:
    """The same bytes, which are the arrays' own."""
    block = SPLIT.block(slice(1, 4))
    assert block.shape == (3, 3, 4, 5)
    assert all(torch.equal(SPLIT.read(index), block[index - 1]) for index in range(1, 4))
    assert np.shares_memory(block.numpy(), IMAGES)
    assert (len(SPLIT), SPLIT.name(4)) == (6, "image 4")


def test_a_part_has_its_images_and_their_targets() -> None:
    """By a slice or by numbers, in any order."""
    part = SPLIT.take(np.array([5, 1]))
    assert np.array_equal(part.images, IMAGES[[5, 1]])
    assert part.targets.tolist() == [2, 1]
    assert SPLIT.take(slice(4, None)).targets.tolist() == [1, 2]


def test_images_are_told_apart_by_their_pixels() -> None:
    """In whatever split they are, and however they lie in memory; the data as a whole has a fingerprint."""
    identities = SPLIT.identities()
    assert len(set(identities.tolist())) == 6
    assert np.array_equal(SPLIT.take(np.array([5, 1])).identities(), identities[[5, 1]])
    assert np.array_equal(ArraySplit(np.asfortranarray(IMAGES), SPLIT.targets).identities(), identities)
    assert SPLIT.digests() is None
