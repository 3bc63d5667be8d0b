"""Stored images come once each, in order, in their own sizes."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from torch import Tensor

from reslab.data.arrays.digits import load_digits
from reslab.data.photos.bad_images import BadImages
from reslab.data.photos.folder import PhotoDataset, PhotoSplit
from reslab.data.photos.pixels import read_pixels
from reslab.data.reading import (
    BadImage,
    Batch,
    decode_by_processes,
    decode_in_order,
    even_parts,
    measure_largest,
    read_in_order,
)
from reslab.errors import UserError
from reslab.runtime.listener import Listener


def photographs(folder: Path, *sizes: tuple[int, int]) -> PhotoSplit:
    """Photographs of these sizes; of class 0 and 1 in turn."""
    generator = np.random.default_rng(0)
    for number, (height, width) in enumerate(sizes):
        pixels = generator.integers(0, 256, (height, width, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return PhotoSplit(folder, tuple(f"{n}.png" for n in range(len(sizes))), np.arange(len(sizes)) % 2)


def said(batches: list[Batch]) -> list[tuple[list[int], list[int]]]:
    """Return the numbers and the targets of batches."""
    return [(batch.indices, batch.targets.tolist()) for batch in batches]


def test_photographs_keep_their_sizes(tmp_path: Path) -> None:
    """Each is a batch of one, channels first, its bytes as decoded."""
    split = photographs(tmp_path, (5, 7), (4, 4), (9, 3))
    batches = list(read_in_order(split, 2))
    assert said(batches) == [([0], [0]), ([1, 2], [1, 0])]
    images = [image for batch in batches for image in batch.images]
    assert [tuple(image.shape) for image in images] == [(1, 3, 5, 7), (1, 3, 4, 4), (1, 3, 9, 3)]
    assert torch.equal(images[2][0], torch.tensor(read_pixels(split.path(2))).permute(2, 0, 1))


def test_arrays_come_whole() -> None:
    """One tensor a batch."""
    split = load_digits().test
    batches = list(read_in_order(split, 100))
    assert [len(batch.images) for batch in batches] == [1] * 4
    assert [len(batch.images[0]) for batch in batches] == [88, 89, 89, 89]
    assert [index for batch in batches for index in batch.indices] == list(range(355))
    assert np.array_equal(torch.cat([batch.images[0] for batch in batches]).numpy(), split.images)
    assert np.array_equal(torch.cat([batch.targets for batch in batches]).numpy(), split.targets)


def test_rows_of_labels_come_as_they_are(tmp_path: Path) -> None:
    """A target may be anything of an image's own."""
    split = photographs(tmp_path, (4, 4), (4, 4), (4, 4))
    labelled = PhotoSplit(split.root, split.files, np.array([[0, 1], [1, 1], [0, 0]]))
    assert torch.cat([batch.targets for batch in read_in_order(labelled, 2)]).tolist() == [[0, 1], [1, 1], [0, 0]]


def test_bad_photographs_stop_or_are_skipped(tmp_path: Path) -> None:
    """By default the first is named; skipped, they and their labels are missing, and whole batches of them too."""
    split = photographs(tmp_path, (4, 4), (4, 4), (4, 4), (4, 4), (4, 4))
    for number in (1, 2, 3):
        split.path(number).write_bytes(b"not an image")
    with pytest.raises(BadImage, match=r"1\.png is not an image"):
        list(read_in_order(split, 2))
    told: list[str] = []
    dataset = PhotoDataset(name="x", root=split.root, class_names=("a", "b"), train=split, test=split)
    skipping = BadImages(dataset, skip=True, listener=Listener(warn=told.append))
    skipping.most = 3
    for size in (2, 1):
        assert said(list(read_in_order(split, size, on_bad=skipping.noting("test")))) == [([0], [0]), ([4], [0])]
    assert [sentence.split("/")[-1] for sentence in told] == [
        f"{number}.png is not an image that can be read; remove it" for number in (1, 2, 3)
    ]
    with pytest.raises(UserError, match=r"more than 1 image cannot be read, .* the last one: .*2\.png is not an image"):
        list(read_in_order(split, 2, on_bad=BadImages(dataset, skip=True).noting("test")))


def test_a_bad_photograph_stops_its_own_batch(tmp_path: Path) -> None:
    """What comes before is handed out, though it was decoded ahead."""
    split = photographs(tmp_path, (4, 4), (4, 4), (4, 4), (4, 4))
    split.path(2).write_bytes(b"not an image")
    batches = read_in_order(split, 2)
    assert next(batches).indices == [0, 1]
    with pytest.raises(BadImage, match=r"2\.png is not an image"):
        next(batches)


def test_nothing_is_read_of_nothing(tmp_path: Path) -> None:
    """No batch comes of photographs that are none."""
    assert not list(read_in_order(photographs(tmp_path), 4))


@dataclass
class Slow:
    """Numbers, of which those that are even take longer than others; it knows which were asked for."""

    count: int
    bad: tuple[int, ...] = ()
    asked: list[int] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)

    def __len__(self) -> int:
        return self.count

    def read(self, index: int) -> Tensor:
        self.asked.append(index)
        self.threads.add(threading.get_ident())
        time.sleep(0.002 * (index % 2 == 0))
        if index in self.bad:
            raise BadImage(f"{index} is bad", image=str(index))
        return torch.tensor(index)


def test_images_keep_their_order_whoever_is_ready_first() -> None:
    """Those that are bad are told by their numbers, and left out."""
    slow, told = Slow(20, bad=(3, 18)), []
    found = list(decode_in_order(slow, on_bad=lambda index, error: told.append((index, error.image)), threads=4))
    assert [index for index, _ in found] == [int(image) for _, image in found]
    assert [index for index, _ in found] == [index for index in range(20) if index not in (3, 18)]
    assert told == [(3, "3"), (18, "18")]
    assert threading.get_ident() not in slow.threads


def test_no_more_is_decoded_than_asked_for() -> None:
    """Who stops early has paid for what he took and for what was under way, not for a million others."""
    slow = Slow(1000)
    stream = decode_in_order(slow, ahead=8, threads=2)
    assert [next(stream)[0] for _ in range(3)] == [0, 1, 2]
    stream.close()  # pyright: ignore[reportAttributeAccessIssue]
    assert max(slow.asked) <= 3 + 8


@given(count=st.integers(0, 400), size=st.integers(1, 60))
def test_parts_are_even(count: int, size: int) -> None:
    """As few as there can be, all images once in order, none longer than another by more than an image."""
    parts = even_parts(count, size)
    assert [index for part in parts for index in part] == list(range(count))
    lengths = [len(part) for part in parts]
    assert max(lengths) <= size
    assert max(lengths) - min(lengths) <= 1
    assert len(parts) == max(1, -(-count // size))


@pytest.mark.slow
def test_processes_decode_as_threads_do(tmp_path: Path) -> None:
    """The same images in the same order, bad ones told in their places."""
    split = photographs(tmp_path, (5, 7), (4, 4), (9, 3), (6, 6), (3, 8))
    split.path(1).write_bytes(b"not a photograph")
    told: list[tuple[int, str]] = []

    def note(index: int, error: BadImage) -> None:
        told.append((index, error.image))

    expected = list(decode_in_order(split, on_bad=note))
    found = list(decode_by_processes(split, workers=2, at_once=2, on_bad=note))
    assert [index for index, _ in found] == [index for index, _ in expected] == [0, 2, 3, 4]
    assert all(torch.equal(one, other) for (_, one), (_, other) in zip(found, expected, strict=True))
    assert told == [(1, str(split.path(1)))] * 2


def test_many_images_beside_a_gpu_are_for_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few are not worth their start."""
    split, asked = photographs(tmp_path, (5, 7), (4, 4), (9, 3)), []
    monkeypatch.setattr(
        "reslab.data.reading.decode_by_processes",
        lambda images, *, workers, **rest: asked.append(workers) or iter(()),
    )
    monkeypatch.setenv("RESLAB_WORKERS", "3")
    assert len(list(read_in_order(split, 2))) == 2
    assert not asked
    monkeypatch.setattr("reslab.data.reading.ENOUGH", 3)
    assert len(list(read_in_order(split, 2))) == 2  # who asks for a few at a time may want but the first
    assert not list(read_in_order(split, 16))
    assert asked == [3]
    monkeypatch.setenv("RESLAB_WORKERS", "1")
    assert len(list(read_in_order(split, 2))) == 2


def test_the_largest_of_a_few_says_how_large_images_are(tmp_path: Path) -> None:
    """From first to last; what cannot be read says nothing."""
    split = photographs(tmp_path, (5, 7), (4, 4), (90, 30), (6, 6))
    assert measure_largest(split) == 90 * 30 * 3
    split.path(2).write_bytes(b"not a photograph")
    assert measure_largest(split) == 6 * 6 * 3
    assert measure_largest(load_digits().test) == 64


def test_processes_hand_over_few_large_images_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two batches a process wait in shared memory: sixteen of a telephone's photographs each would fill it."""
    split, asked = photographs(tmp_path, (50, 70), (40, 40), (90, 30)), []
    monkeypatch.setattr(
        "reslab.data.reading.decode_by_processes",
        lambda images, *, at_once, **rest: asked.append(at_once) or iter(()),
    )
    monkeypatch.setenv("RESLAB_WORKERS", "3")
    monkeypatch.setattr("reslab.data.reading.ENOUGH", 3)
    for room in (16 << 20, 25_000, 1):
        monkeypatch.setattr("reslab.data.reading.BYTES_AT_ONCE", room)
        list(read_in_order(split, 16))
    assert asked == [16, 2, 1]
