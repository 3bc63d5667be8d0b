"""The one way to read images in order, each once: to test, predict, embed, export, analyze, and to take a mean.

Files are decoded ahead of their use: by threads, for decoders let Python's lock go, and many beside a GPU by processes,
for even so the threads take it from the one that computes. Images are handed out as they are stored; what a network is
shown of them is `views`' business.
"""

import math
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Protocol, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from reslab.data.dataset import Split
from reslab.data.targets import as_tensor
from reslab.data.workers import count_workers, work_ahead
from reslab.errors import UserError

AHEAD = 32  # images that are decoded before they are asked for, at the least
AT_ONCE, BYTES_AT_ONCE = 16, 16 << 20  # images that a process decodes and hands over together, and what they take
MEASURED = 4  # images, of which the largest says how large they are
ENOUGH = 1_000  # images, for which processes are worth their start


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


class Choosable(Readable, Protocol):
    """Images of which a part can be had."""

    def take(self, indices: NDArray[np.int64]) -> Self:
        """Return the images at `indices`."""
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


def read_in_order(
    split: Split, size: int, *, device: torch.device | str = "cpu", on_bad: OnBad = stop_at_bad
) -> Iterator[Batch]:
    """Yield every image once on a device, in order, about `size` at a time: batches have as many, give or take one.

    Images of one size come as one tensor, others as one each.
    """
    targets = as_tensor(split.targets).to(device)
    parts = even_parts(len(split), size)
    if split.block(slice(0)) is not None:
        for part in parts:
            block = split.block(slice(part.start, part.stop))
            assert block is not None
            yield Batch(list(part), [block.to(device, non_blocking=True)], targets[part.start : part.stop])
        return
    decoded, found = decode_ahead(device, split, on_bad=on_bad, ahead=size), None
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


def decode_ahead(
    device: torch.device | str, images: Choosable, *, on_bad: OnBad, ahead: int = AHEAD
) -> Iterator[tuple[int, Tensor]]:
    """Yield the images that can be read, on a device, with their numbers."""
    workers = count_workers(device)
    if workers > 1 and len(images) >= ENOUGH and ahead >= AT_ONCE:  # whoever asks for less wants but the first
        at_once = max(1, min(AT_ONCE, BYTES_AT_ONCE // measure_largest(images)))
        return decode_by_processes(images, workers=workers, at_once=at_once, device=device, on_bad=on_bad)
    decoded = decode_in_order(images, on_bad=on_bad, ahead=ahead)
    return ((index, image.to(device, non_blocking=True)) for index, image in decoded)


@dataclass(frozen=True)
class _Decoded:
    """What a process has decoded: the bytes of images (height, width, channels), one after the other; bad images."""

    pixels: Tensor
    shapes: dict[int, tuple[int, int, int]]
    bad: dict[int, BadImage]


class _Decoding(Dataset[_Decoded]):
    """Images by their numbers, some at a time."""

    def __init__(self, images: Readable) -> None:
        self.images = images

    def __getitem__(self, part: range) -> _Decoded:
        pixels: dict[int, Tensor] = {}
        bad: dict[int, BadImage] = {}
        for index in part:
            try:
                pixels[index] = self.images.read(index).permute(1, 2, 0)
            except BadImage as error:
                bad[index] = error
        flat = torch.cat([image.flatten() for image in pixels.values()]) if pixels else torch.empty(0)
        shapes = {index: (image.shape[0], image.shape[1], image.shape[2]) for index, image in pixels.items()}
        return _Decoded(flat, shapes, bad)


def decode_by_processes(
    images: Readable,
    *,
    workers: int,
    at_once: int = AT_ONCE,
    device: torch.device | str = "cpu",
    on_bad: OnBad = stop_at_bad,
) -> Iterator[tuple[int, Tensor]]:
    """Yield the images that can be read, on a device, with their numbers, decoded ahead by so many `workers`."""
    parts = even_parts(len(images), at_once)
    for part, decoded in zip(parts, work_ahead(_Decoding(images), parts, workers=workers), strict=True):
        flat, first = decoded.pixels.to(device), 0
        for index in part:
            if index in decoded.bad:
                on_bad(index, decoded.bad[index])
                continue
            shape = decoded.shapes[index]
            last = first + math.prod(shape)
            yield index, flat[first:last].view(shape).permute(2, 0, 1)
            first = last


def measure_largest(images: Choosable) -> int:
    """Return the bytes of the largest of a few images, from first to last."""
    chosen = images.take(np.linspace(0, len(images) - 1, MEASURED).round().astype(np.int64))
    found = decode_in_order(chosen, on_bad=lambda index, error: None, threads=1)
    return max((image.numel() for _, image in found), default=1)


def even_parts(count: int, size: int) -> list[range]:
    """Divide `count` images into as few parts as have `size` at most, all of one length, give or take an image."""
    parts = max(1, -(-count // size))
    return [range(*pair) for pair in pairwise([count * number // parts for number in range(parts + 1)])]
