"""Processes that live find each other, whatever dead ones left in the store."""

from __future__ import annotations

import datetime
from concurrent.futures import ThreadPoolExecutor

import pytest
from torch.distributed import DistStoreError, HashStore, Store

from reslab.runtime.rendezvous import find_corner

SOON = datetime.timedelta(seconds=0.2)
LATER = datetime.timedelta(seconds=20)


def meet(store: Store, count: int) -> list[str]:
    """All processes of one attempt, as threads; what each then reads that the first wrote."""
    with ThreadPoolExecutor(count) as threads:
        corners = list(
            threads.map(lambda rank: find_corner(store, rank=rank, count=count, timeout=LATER), range(count))
        )
    assert not corners[0].check(["address"])
    corners[0].set("address", "here")
    return [corner.get("address").decode() for corner in corners]


def test_a_new_attempt_has_a_corner_of_its_own() -> None:
    """Nothing of the attempts before is there: not of one that met, nor of one whose process died after it asked."""
    store = HashStore()
    assert meet(store, 3) == ["here"] * 3
    with pytest.raises(DistStoreError):
        find_corner(store, rank=2, count=3, timeout=SOON)
    assert meet(store, 3) == ["here"] * 3


def test_who_does_not_come_is_not_waited_for_forever() -> None:
    """By the first, or by another."""
    with pytest.raises(RuntimeError, match=r"timed out waiting for processes \[1, 2\]"):
        find_corner(HashStore(), rank=0, count=3, timeout=SOON)
    with pytest.raises(DistStoreError, match="timeout"):
        find_corner(HashStore(), rank=1, count=3, timeout=SOON)
