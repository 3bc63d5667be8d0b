"""What instruments are told, and how findings by different settings are told apart."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from reslab.analysis.settings import DIGITS, Settings
from reslab.errors import UserError
from reslab.spec.codec import decode


@dataclass(frozen=True, kw_only=True)
class Wider(Settings):
    """Settings of a later version."""

    width: float = 1.0


def test_words_of_a_command_become_settings() -> None:
    """Of the types they have; what cannot be is refused by its name."""
    assert decode(Settings, {"images": "40", "on": "train"}) == Settings(images=40, on="train")
    with pytest.raises(UserError, match=r"^on is 'both'; choose test or train"):
        decode(Settings, {"on": "both"})
    with pytest.raises(UserError, match=r"^images is -1; it must be at least 0"):
        decode(Settings, {"images": "-1"})
    with pytest.raises(UserError, match=r"^seed is '0.5'; give a whole number"):
        decode(Settings, {"seed": "0.5"})


def test_a_digest_is_of_what_is_not_as_by_default() -> None:
    """None where all is; a field that is new leaves the digests of before."""
    assert Settings().digest == Wider().digest == Settings(images=0).digest == ""
    assert Settings(seed=1).digest == Wider(seed=1).digest == decode(Wider, {"seed": "1", "width": "1"}).digest
    digests = {one.digest for one in (Settings(seed=1), Settings(images=1), Settings(on="train"), Wider(width=2))}
    assert len(digests) == 4
    assert all(len(digest) == DIGITS for digest in digests)
