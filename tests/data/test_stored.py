"""Stored images come once each, in order, in their own sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from reslab.data.digits import load_digits
from reslab.data.photos.decoding import BadImage, read_pixels
from reslab.data.photos.folder import PhotoDataset, PhotoSplit
from reslab.data.photos.skipping import BadImages
from reslab.data.stored import read_images
from reslab.errors import UserError


def photographs(folder: Path, *sizes: tuple[int, int]) -> PhotoSplit:
    """Photographs of these sizes; of class 0 and 1 in turn."""
    generator = np.random.default_rng(0)
    for number, (height, width) in enumerate(sizes):
        pixels = generator.integers(0, 256, (height, width, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return PhotoSplit(folder, tuple(f"{n}.png" for n in range(len(sizes))), np.arange(len(sizes)) % 2)


def test_photographs_keep_their_sizes(tmp_path: Path) -> None:
    """Each is a batch of one, channels first, its bytes as decoded."""
    split = photographs(tmp_path, (5, 7), (4, 4), (9, 3))
    batches = list(read_images(split, 2))
    assert [labels.tolist() for _, labels in batches] == [[0, 1], [0]]
    images = [image for group, _ in batches for image in group]
    assert [tuple(image.shape) for image in images] == [(1, 3, 5, 7), (1, 3, 4, 4), (1, 3, 9, 3)]
    assert torch.equal(images[2][0], torch.tensor(read_pixels(split.path(2))).permute(2, 0, 1))


def test_arrays_come_whole() -> None:
    """One tensor a batch."""
    split = load_digits().test
    batches = list(read_images(split, 100))
    assert [len(images[0]) for images, _ in batches] == [100, 100, 100, 55]
    assert np.array_equal(torch.cat([images[0] for images, _ in batches]).numpy(), split.images)


def test_bad_photographs_stop_or_are_skipped(tmp_path: Path) -> None:
    """By default the first is named; skipped, they and their labels are missing, and whole batches of them too."""
    split = photographs(tmp_path, (4, 4), (4, 4), (4, 4), (4, 4), (4, 4))
    for number in (1, 2, 3):
        split.path(number).write_bytes(b"not an image")
    with pytest.raises(BadImage, match=r"1\.png is not an image"):
        list(read_images(split, 2))
    told: list[str] = []
    dataset = PhotoDataset(name="x", root=split.root, class_names=("a", "b"), train=split, test=split)
    skipping = BadImages(dataset, skip=True, warn=told.append)
    skipping.most = 3
    assert [labels.tolist() for _, labels in read_images(split, 2, bad=skipping)] == [[0], [0]]
    assert [labels.tolist() for _, labels in read_images(split, 1, bad=skipping)] == [[0], [0]]
    assert [sentence.split("/")[-1] for sentence in told] == [
        f"{number}.png is not an image that can be read; remove it" for number in (1, 2, 3)
    ]
    with pytest.raises(UserError, match=r"more than 1 image is bad, .* the last: .*2\.png is not an image"):
        list(read_images(split, 2, bad=BadImages(dataset, skip=True)))
