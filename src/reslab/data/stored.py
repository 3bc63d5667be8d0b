"""Images as they are stored, in batches: arrays of one size at once, photographs each in its own size, decoded once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from reslab.data.dataset import Split
from reslab.data.photos.decoding import BadImage, Pixels, read_pixels
from reslab.data.photos.folder import PhotoSplit
from reslab.data.photos.members import Stored


def read_images(
    images: Split | PhotoSplit, size: int, *, skip_bad: bool = False
) -> Iterator[tuple[list[Tensor], Tensor]]:
    """Yield every image once, in order, `size` at a time, as tensors (count, channels, height, width), and the labels.

    A tensor has images of one size: all of them for arrays, one for photographs. `skip_bad` passes over those that
    cannot be read.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # decoding lets Python's lock go
        for first in range(0, len(images), size):
            part = images.take(slice(first, first + size))
            labels = torch.from_numpy(part.labels).long()
            if isinstance(part, Split):
                yield [torch.from_numpy(part.images)], labels
                continue
            decoded = list(pool.map(_read_or_skip if skip_bad else read_pixels, map(part.path, range(len(part)))))
            good = [index for index, photo in enumerate(decoded) if photo is not None]
            if good:
                yield [torch.tensor(decoded[index]).permute(2, 0, 1)[None] for index in good], labels[good]


def _read_or_skip(path: Stored) -> Pixels | None:
    try:
        return read_pixels(path)
    except BadImage:
        return None
