"""Whole images by keys and in order: resized, flipped with their boxes, and padded; others stand in for bad ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tests.objects import CLASSES, COLOURS, make_scenes, write_voc

from reslab.data.objects.dataset import ObjectsDataset, read_objects
from reslab.data.objects.fitting import Fitting
from reslab.data.objects.whole_images import WholeImages, arrange_tests, read_whole
from reslab.data.reading import BadImage
from reslab.data.workers import work_ahead
from reslab.spec.augmentation import AugmentationSpec
from reslab.spec.boxes import CLASS, FRAME

FITTING = Fitting(90, 160)
SIZES = ((60, 45), (45, 60), (60, 42))


@pytest.fixture
def dataset(tmp_path: Path) -> ObjectsDataset:
    train = make_scenes("t", 9, sizes=SIZES)
    return read_objects(write_voc(tmp_path / "voc", train=train, val=make_scenes("v", 5, seed=4, sizes=SIZES)))


def pictures(
    dataset: ObjectsDataset, *, flip: bool = True, skip: bool = False, scales: tuple[float, ...] = ()
) -> WholeImages:
    augmentation = AugmentationSpec(flip=flip, scales=scales)
    return WholeImages(dataset.train, augmentation, seed=1, skip=skip, fitting=FITTING)


def assert_boxes_fit(pixels: np.ndarray, rows: np.ndarray) -> None:
    """Inside every box that nothing covers, pixels are of its class's colour, and beside it they are not."""
    for place, (left, top, right, bottom, number, *_) in enumerate(rows):
        later = rows[place + 1 :]
        if ((later[:, 0] < right) & (later[:, 2] > left) & (later[:, 1] < bottom) & (later[:, 3] > top)).any():
            continue
        coloured = np.abs(pixels.astype(int) - COLOURS[CLASSES[int(number)]]).max(2) < 80
        across, down = (round((one + other) / 2) for one, other in ((left, right), (top, bottom)))
        rows_there, columns_there = np.flatnonzero(coloured[:, across]), np.flatnonzero(coloured[down])
        for there, middle, first, last in ((rows_there, down, top, bottom), (columns_there, across, left, right)):
            gaps = np.diff(there) > 1
            start = max([there[0], *there[1:][gaps & (there[1:] <= middle)]])
            end = min([there[-1], *there[:-1][gaps & (there[:-1] >= middle)]])
            assert abs(start - first) <= 2 and abs(end + 1 - last) <= 2


def test_boxes_go_with_their_images(dataset: ObjectsDataset) -> None:
    """Flipped or not: the drawn rectangles lie where the boxes say; what is beyond the frame is zero."""
    whole, flipped = pictures(dataset), 0
    for image in range(9):
        number = int(whole.shapes[image])
        batch = whole[number, [(epoch, image) for epoch in range(4)]]
        width, height = FITTING.resize(*dataset.train.sizes[image].tolist())
        assert batch.pixels.shape == (4, *FITTING.shapes[number], 3)
        plain = pictures(dataset, flip=False)[number, [(0, image)]]
        for pixels, rows in zip(batch.pixels.numpy(), batch.targets.numpy(), strict=True):
            assert rows[0].tolist() == [0, 0, width, height, FRAME, *dataset.train.sizes[image]]
            assert not pixels[height:].any() and not pixels[:, width:].any()
            assert_boxes_fit(pixels, rows[rows[:, CLASS] >= 0])
            same = np.array_equal(pixels, plain.pixels[0])
            assert same or np.array_equal(pixels[:height, :width], plain.pixels[0].numpy()[:height, :width][:, ::-1])
            flipped += not same
    assert 9 < flipped < 27


def test_images_are_shown_at_several_scales(dataset: ObjectsDataset) -> None:
    """Each of them about as often, with its boxes, in the shape that the full size has; always the same ones."""
    scales, count = (0.5, 0.8, 1.0), 12
    jittered, again, seen = pictures(dataset, scales=scales), pictures(dataset, scales=scales), []
    for image in range(9):
        number, keys = int(jittered.shapes[image]), [(epoch, image) for epoch in range(count)]
        batch, size = jittered[number, keys], dataset.train.sizes[image].tolist()
        assert torch.equal(batch.pixels, again[number, keys].pixels)
        assert batch.pixels.shape == (count, *FITTING.shapes[number], 3)
        shown = [FITTING.shrink(scale).resize(*size) for scale in scales]
        for pixels, rows in zip(batch.pixels.numpy(), batch.targets.numpy(), strict=True):
            width, height = rows[0, 2:4].astype(int).tolist()
            seen.append(shown.index((width, height)))
            assert not pixels[height:].any() and not pixels[:, width:].any()
            assert_boxes_fit(pixels, rows[rows[:, CLASS] >= 0])
    assert all(24 <= times <= 48 for times in np.bincount(seen).tolist())


def test_one_full_scale_is_none(dataset: ObjectsDataset) -> None:
    """To the bit."""
    plain, whole = pictures(dataset), pictures(dataset, scales=(1.0,))
    for image in range(9):
        wanted = (int(plain.shapes[image]), [(epoch, image) for epoch in range(3)])
        assert torch.equal(plain[wanted].pixels, whole[wanted].pixels)


def test_workers_give_the_same(dataset: ObjectsDataset) -> None:
    """Whoever decodes."""
    whole = pictures(dataset)
    wanted = [(int(whole.shapes[image]), [(0, image), (1, image)]) for image in (0, 4)]
    here, there = (list(work_ahead(whole, wanted, workers=workers)) for workers in (0, 1))
    for one, other in zip(here, there, strict=True):
        assert torch.equal(one.pixels, other.pixels) and torch.equal(one.targets, other.targets)


def test_the_next_of_its_shape_stands_in_for_a_bad_image(dataset: ObjectsDataset) -> None:
    """Where bad ones are skipped; where all are bad there is nothing."""
    (dataset.root / dataset.train.files[0]).write_bytes(b"")
    whole = pictures(dataset, skip=True)
    number = int(whole.shapes[0])
    found = whole[number, [(0, 0)]]
    assert torch.equal(found.pixels, whole[number, [(0, 3)]].pixels)
    assert [Path(error.image).name for error in found.bad] == ["t000.jpg"]
    assert pictures(dataset)[number, [(0, 0)]].pixels.numel() == 0
    for image in (3, 6):
        (dataset.root / dataset.train.files[image]).write_bytes(b"")
    nothing = whole[number, [(0, 0)]]
    assert nothing.pixels.numel() == 0
    assert len(nothing.bad) == 3


def test_tests_are_arranged_by_shape(dataset: ObjectsDataset) -> None:
    """Each image once, in order within its shape; a part is read as the whole is."""
    tests = arrange_tests(dataset.test, FITTING)
    assert sorted(tests.order.tolist()) == list(range(5))
    assert (np.diff(tests.shapes) >= 0).all()
    for place, image in enumerate(tests.order.tolist()):
        size = dataset.test.sizes[image]
        width, height = FITTING.resize(*size.tolist())
        pixels = tests.read(place)
        assert pixels.shape == (3, *FITTING.shapes[tests.shapes[place]])
        assert pixels[:, :height, :width].any() and not pixels[:, height:].any() and not pixels[:, :, width:].any()
    assert torch.equal(tests.take(np.array([3, 1])).read(1), tests.read(1))


def test_an_image_that_has_changed_since_is_bad(dataset: ObjectsDataset, tmp_path: Path) -> None:
    """Its boxes would not fit."""
    Image.new("RGB", (30, 20)).save(tmp_path / "a.png")
    with pytest.raises(BadImage, match=r"a\.png is 30x20, but was 20x30 when its objects were read"):
        read_whole(tmp_path / "a.png", FITTING, size=(20, 30), shape=(96, 96))
