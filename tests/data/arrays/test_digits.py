"""The embedded digits."""

from __future__ import annotations

import numpy as np

from reslab.data.arrays.digits import load_digits


def test_the_digits_are_the_known_set() -> None:
    """1,797 images of 8x8 in 17 shades, split four to one, every digit on both sides."""
    digits = load_digits()
    assert (len(digits.train), len(digits.test)) == (1442, 355)
    assert digits.train.images.shape[1:] == (1, 8, 8)
    assert max(digits.train.images.max(), digits.test.images.max()) == digits.brightest == 16
    assert np.bincount(digits.test.targets).min() > 25
    assert digits.fingerprint.startswith("d5451ba0064d3cb0")
