"""Pictures on their way to a network, whatever they come from: files, Pillow images, arrays, folders, named datasets.

A picture is bytes, RGB or grey, until a network's intake prepares it. Pictures come as a stream, so that a folder of
any size passes through little memory; what cannot be read is named, and stops the stream unless someone takes note.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.data.dataset import Dataset, Split
from reslab.data.geometry import Pixels
from reslab.data.photos.image_files import walk_images
from reslab.data.photos.pixels import read_pixels, take_pixels
from reslab.data.reading import AHEAD, BadImage, decode_in_order
from reslab.errors import UserError
from reslab.files import is_folder

Image = str | Path | PIL.Image.Image | Pixels
OnBad = Callable[[BadImage], None]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One image (channels, height, width) in bytes, of which `brightest` is white; its class or labels, where known."""

    name: str
    pixels: Tensor
    brightest: int = 255
    label: int | list[int] | None = None
    on_bad: OnBad | None = None  # is told if it does not fit a network, which else stops the stream


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """Labelled pictures that can be gone through again and again; bad ones go to `on_bad`, or stop the way."""

    split: Split
    brightest: int = 255
    on_bad: OnBad | None = None

    def __len__(self) -> int:
        return len(self.split)

    def __iter__(self) -> Iterator[Picture]:
        for index, pixels in decode_in_order(self.split, on_bad=lambda _, error: note_bad(error, self.on_bad)):
            name, label = self.split.name(index), self.split.targets[index].tolist()
            yield Picture(name=name, pixels=pixels, brightest=self.brightest, label=label, on_bad=self.on_bad)

    def spread(self, count: int) -> Pictures:
        """Return `count` of the pictures, evenly spread; all where there are not more."""
        return replace(self, split=self.split.take(spread(len(self), count)))


@dataclass(frozen=True, kw_only=True)
class LabelledData:
    """Pictures to learn from and pictures to be tested on."""

    name: str
    class_names: tuple[str, ...]
    train: Pictures
    test: Pictures


def spread(there: int, count: int) -> NDArray[np.int64]:
    """Return the numbers of `count` of the images there are, evenly spread; all where there are not more."""
    return np.linspace(0, there - 1, min(count, there)).round().astype(np.int64)


def label_pictures(data: Dataset, *, on_bad: OnBad | None = None) -> LabelledData:
    """Return the pictures of data in which each has one class."""
    if data.target != "class":
        kind = "several labels each" if data.target == "labels" else "objects, no class"
        raise UserError(f"images of {data.name} have {kind}, but one class per image is needed here; give other data")
    return pair_pictures(data, on_bad=on_bad)


def pair_pictures(data: Dataset, *, on_bad: OnBad | None = None) -> LabelledData:
    """Return the pictures of data, each with its class or its row of labels."""
    return LabelledData(
        name=data.name,
        class_names=data.class_names,
        train=Pictures(split=data.train, brightest=data.brightest, on_bad=on_bad),
        test=Pictures(split=data.test, brightest=data.brightest, on_bad=on_bad),
    )


def find_images(words: Iterable[str | Path], *, on_bad: OnBad | None = None) -> list[Path]:
    """Return the image files that paths stand for; a folder stands for all under it, as for a training.

    What is not there is told now, not when its turn comes.
    """
    found: list[Path] = []
    for word in words:
        if re.match(r"(https?|ftp|file)://", str(word)):
            raise UserError(f"'{word}' is a URL, and URLs are not fetched; download the image and give its path")
        path = Path(word)
        if is_folder(path):
            inside = list(walk_images(path, set()))
            if not inside:
                raise UserError(f"{path} has no images; give files, or a folder that has some")
            found += inside
        elif path.exists():
            found.append(path)
        else:
            note_bad(BadImage(f"{path} cannot be read: {os.strerror(errno.ENOENT)}; check the file"), on_bad)
    return found


def read_images(
    images: Iterable[Image], *, on_bad: OnBad | None = None, threads: int | None = None
) -> Iterator[Picture]:
    """Read images in order; a bad one is handed to `on_bad` and left out, or stops the stream where there is none.

    With a number of `threads`, no more than twice as many images are held at a time.
    """
    given = Given(list(images))
    if not all(isinstance(image, (str, Path)) for image in given.images):
        threads = 1  # an image that Pillow has opened is one thread's at a time
    ahead = AHEAD if threads is None else threads
    decoded = decode_in_order(given, on_bad=lambda _, error: note_bad(error, on_bad), ahead=ahead, threads=threads)
    for index, pixels in decoded:
        yield Picture(name=given.name(index), pixels=pixels, on_bad=on_bad)


@dataclass(frozen=True)
class Given:
    """Images as they were given: files, Pillow images, arrays."""

    images: Sequence[Image]

    def __len__(self) -> int:
        return len(self.images)

    def name(self, index: int) -> str:
        """Return what an image is called: its path, or its number."""
        image = self.images[index]
        return str(image) if isinstance(image, (str, Path)) else f"image {index + 1}"

    def read(self, index: int) -> Tensor:
        """Return an image's bytes."""
        image, name = self.images[index], self.name(index)
        if isinstance(image, (str, Path)):
            pixels = read_pixels(Path(image))
        elif isinstance(image, PIL.Image.Image):
            pixels = take_pixels(image, name=name)
        else:
            pixels = _take_array(image, name=name)
        return torch.from_numpy(pixels.transpose(2, 0, 1).copy())


def as_sequence(images: Any) -> Sequence[Image]:
    """Return images as a sequence; one alone counts too."""
    # Pillow's come first: asked whether they are like arrays, they would be decoded.
    if isinstance(images, (str, Path, PIL.Image.Image)) or hasattr(images, "__array_interface__"):
        return [images]
    return list(images)


def note_bad(error: BadImage, on_bad: OnBad | None) -> None:
    """Hand what is wrong with an image to whoever takes note; else let it stop the stream."""
    if on_bad is None:
        raise error
    on_bad(error)


def _take_array(image: Any, *, name: str) -> Pixels:
    """Return an array's bytes, in colour or grey; transparency is dropped, as of files."""
    pixels = np.asarray(image)
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or not 1 <= pixels.shape[2] <= 4 or not pixels.size:
        raise BadImage(
            f"{name} is an array of {pixels.dtype} and shape {pixels.shape}; "
            "give uint8 of shape (height, width, channels), with 1 or 3 channels and perhaps one for transparency"
        )
    return pixels[:, :, : 3 if pixels.shape[2] > 2 else 1]
