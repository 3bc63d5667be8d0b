"""The one way to read images in order, each once: to test, predict, embed, export, analyze, and to take a mean.

Files are decoded by threads, a batch ahead of its use: decoders let Python's lock go. Images are handed out as they are
stored; what a network is shown of them is `views`' business.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

from reslab.data.dataset import Split
from reslab.errors import UserError

AHEAD = 32  # images that are decoded before they are asked for, at the least


class BadImage(UserError):
    """An image that cannot be used: its path, with which the sentence begins."""

    def __init__(self, sentence: str, *, image: str = "") -> None:
        super().__init__(sentence)
        self.image = image


OnBad: TypeAlias = Callable[[int, BadImage], None]  # raises it, or takes note of it by the image's number


class Readable(Protocol):
    """Images that can be read by their number."""

    def __len__(self) -> int: ...

    def read(self, index: int) -> Tensor:
        """Return an image's bytes (channels, height, width), or raise a `BadImage`."""
        ...


@dataclass(frozen=True)
class Batch:
    """Images in order: their numbers, tensors (count, channels, height, width) of one size each, and their targets."""

    indices: list[int]
    images: list[Tensor]
    targets: Tensor


def stop_at_bad(index: int, error: BadImage) -> None:
    """Let a bad image stop the work."""
    raise error


def read_in_order(split: Split, size: int, *, on_bad: OnBad = stop_at_bad) -> Iterator[Batch]:
    """Yield every image once, in order, about `size` at a time: all batches have as many, give or take one.

    Images of one size come as one tensor, others as one each.
    """
    targets = torch.from_numpy(np.asarray(split.targets)).long()
    parts = even_parts(len(split), size)
    if split.block(slice(0)) is not None:
        for part in parts:
            block = split.block(slice(part.start, part.stop))
            assert block is not None
            yield Batch(list(part), [block], targets[part.start : part.stop])
        return
    decoded, found = decode_in_order(split, on_bad=on_bad, ahead=size), None
    for part in parts:
        batch = []
        while not batch or batch[-1][0] != part[-1]:  # a bad image after that is the next batch's
            found = found or next(decoded, None)
            if found is None or found[0] not in part:
                break
            batch.append(found)
            found = None
        if batch:
            indices = [index for index, _ in batch]
            yield Batch(indices, [image[None] for _, image in batch], targets[indices])


def decode_in_order(
    images: Readable, *, on_bad: OnBad = stop_at_bad, ahead: int = AHEAD, threads: int | None = None
) -> Iterator[tuple[int, Tensor]]:
    """Yield the images that can be read with their numbers, some decoded `ahead`, by so many `threads`."""
    count = threads or os.cpu_count() or 1
    with ThreadPoolExecutor(count) as pool:
        waiting: deque[tuple[int, Future[Tensor]]] = deque()
        asked = ((index, pool.submit(images.read, index)) for index in range(len(images)))
        try:
            waiting.extend(islice(asked, max(ahead, 2 * count)))
            while waiting:
                index, future = waiting.popleft()
                try:
                    image = future.result()
                except BadImage as error:
                    on_bad(index, error)
                else:
                    yield index, image
                waiting.extend(islice(asked, 1))
        finally:
            for _, future in waiting:
                future.cancel()


def even_parts(count: int, size: int) -> list[range]:
    """Divide `count` images into as few parts as have `size` at most, all of one length, give or take an image."""
    parts = max(1, -(-count // size))
    return [range(*pair) for pair in pairwise([count * number // parts for number in range(parts + 1)])]
