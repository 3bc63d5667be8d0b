"""Arrays as a dataset."""

from __future__ import annotations

import pickle
from dataclasses import replace

from tests.trials import DIGITS

from reslab.data.dataset import Split


def test_a_fingerprint_is_taken_once_and_is_of_the_dataset_it_was_taken_of() -> None:
    """Not of those made from it; where it is sent to another process, it goes along."""
    assert DIGITS.fingerprint is DIGITS.fingerprint
    turned = replace(DIGITS, train=Split(DIGITS.train.images, 9 - DIGITS.train.labels))
    assert turned.fingerprint != DIGITS.fingerprint
    assert replace(turned, train=DIGITS.train).fingerprint == DIGITS.fingerprint
    assert pickle.loads(pickle.dumps(turned)).fingerprint == turned.fingerprint
