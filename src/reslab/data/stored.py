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
from reslab.data.photos.skipping import BadImages


def read_images(
    images: Split | PhotoSplit, size: int, *, bad: BadImages | None = None
) -> Iterator[tuple[list[Tensor], Tensor]]:
    """Yield every image once, in order, `size` at a time, as tensors (count, channels, height, width), and the labels.

    A tensor has images of one size: all of them for arrays, one for photographs. `bad` takes note of those that
    cannot be read, which else stop the way.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # decoding lets Python's lock go
        for first in range(0, len(images), size):
            part = images.take(slice(first, first + size))
            labels = torch.from_numpy(part.labels).long()
            if isinstance(part, Split):
                yield [torch.from_numpy(part.images)], labels
                continue
            places = [part.path(index) for index in range(len(part))]
            good, pixels = [], []
            for index, decoded in enumerate(pool.map(_read, places)):
                if isinstance(decoded, BadImage):
                    if bad is None:
                        raise decoded
                    bad.note([(str(places[index]), str(decoded))], part="test")
                else:
                    good.append(index)
                    pixels.append(torch.tensor(decoded).permute(2, 0, 1)[None])
            if good:
                yield pixels, labels[good]


def _read(path: Stored) -> Pixels | BadImage:
    try:
        return read_pixels(path)
    except BadImage as error:
        return error
