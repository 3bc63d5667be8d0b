"""Images come again and again, from memory where they are few."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from reslab.analysis.landscape.images import Images


@pytest.mark.parametrize(("room", "reads"), [(1 << 20, 1), (4 * 3 * 10, 3)], ids=["kept", "read again"])
def test_every_time_through_is_the_same(room: int, reads: int) -> None:
    """All batches in order, and how many images they were; what is too much is read anew and not kept."""
    began = []

    def read() -> Iterator[tuple[Tensor, Tensor]]:
        began.append(None)
        for start in range(0, 25, 10):
            yield torch.arange(3.0 * start, 3.0 * min(start + 10, 25)).view(-1, 3), torch.arange(min(10, 25 - start))

    images = Images(read, room=room)
    times = [[(batch.tolist(), targets.tolist()) for batch, targets in images] for _ in range(3)]
    assert times[0] == times[1] == times[2]
    assert images.count == 25
    assert len(began) == reads
    assert (images.kept is None) == (reads > 1)


def test_what_was_broken_off_is_not_kept() -> None:
    """The next time begins anew, with all of them."""
    images = Images(lambda: iter([(torch.ones(2, 3), torch.ones(2))] * 3))
    next(iter(images))
    assert len(list(images)) == 3
