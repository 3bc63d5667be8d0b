"""Where processes find each other: a corner of the launcher's store that nobody has used before.

torchrun, when it starts processes again, may give them the store of the attempt before, and there the addresses of
dead processes: one that reads such an address before it is overwritten calls in vain. So the first process names a new
corner, and tells it only to processes that are alive: each asks under a name of its own, which no earlier one had.
"""

from __future__ import annotations

import datetime
import time
import uuid

from torch.distributed import PrefixStore, Store  # pyright: ignore[reportPrivateImportUsage]

SECONDS_BETWEEN_LOOKS = 0.02


def find_corner(store: Store, *, rank: int, count: int, timeout: datetime.timedelta) -> Store:
    """Return the part of the store that the `count` processes alive now have for themselves."""
    name = uuid.uuid4().hex
    if rank == 0:
        _answer_all(store, name, count, deadline=time.monotonic() + timeout.total_seconds())
        return PrefixStore(name, store)
    store.set(f"asks/{rank}", name)
    store.wait([f"answer/{name}"], timeout)
    corner = store.get(f"answer/{name}").decode()
    store.set(f"heard/{corner}/{rank}", "")
    return PrefixStore(corner, store)


def _answer_all(store: Store, corner: str, count: int, *, deadline: float) -> None:
    """Answer every process that asks, also in the name of an earlier attempt, until all that live have the answer."""
    waiting = set(range(1, count))
    while waiting:
        if time.monotonic() > deadline:
            raise RuntimeError(f"timed out waiting for processes {sorted(waiting)}")
        for rank in waiting:
            if store.check([f"asks/{rank}"]):
                store.set(f"answer/{store.get(f'asks/{rank}').decode()}", corner)
        waiting = {rank for rank in waiting if not store.check([f"heard/{corner}/{rank}"])}
        time.sleep(SECONDS_BETWEEN_LOOKS)
