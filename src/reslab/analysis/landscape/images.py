"""The images a landscape is measured on, gone through again for every row of it."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from torch import Tensor

Batches: TypeAlias = Iterator[tuple[Tensor, Tensor]]
ROOM = 4 << 30  # bytes that images may take up on the device: CIFAR's test images are 0.1 GB, ImageNet's 30


class Images:
    """Batches of images and targets that can be gone through again; they stay on the device where they are few."""

    def __init__(self, read: Callable[[], Batches], *, room: int = ROOM) -> None:
        self.read, self.room = read, room
        self.kept: list[tuple[Tensor, Tensor]] | None = None
        self.count = 0  # known after the first time

    def __iter__(self) -> Batches:
        if self.kept is not None:
            yield from self.kept
            return
        kept: list[tuple[Tensor, Tensor]] = []
        taken = count = 0
        for images, targets in self.read():
            taken, count = taken + images.nbytes, count + len(images)
            if taken <= self.room:
                kept.append((images, targets))
            else:
                kept.clear()
            yield images, targets
        self.count = count
        if taken <= self.room:
            self.kept = kept
