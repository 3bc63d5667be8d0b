"""Batches of whole images: one shape an iteration, found by their step, shared among processes, tested once each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tests.objects import make_scenes, write_voc

from reslab.data.feed import Feed
from reslab.data.objects import feed as feeding
from reslab.data.objects.dataset import ObjectsDataset, read_objects
from reslab.data.objects.feed import ObjectsFeed, clear_padding, make_feed
from reslab.data.preprocessing import preprocess_images
from reslab.data.targets import move_target
from reslab.errors import UserError
from reslab.runtime.listener import DEAF, Listener
from reslab.runtime.processes import ALONE, Processes
from reslab.spec import Preprocess, find
from reslab.spec.augmentation import AugmentationSpec
from reslab.spec.boxes import CLASS, FRAME
from reslab.spec.detection import Detection
from reslab.spec.preprocess import AUTHORS
from reslab.spec.recipe import Recipe
from reslab.spec.trial import DataSpec, Trial

SIZES = ((60, 45), (45, 60), (60, 30), (50, 50))
RECIPE = Recipe(batch=2, iterations=8, centring="imagenet")
TASK = Detection(shorter=90, longest=160)


@pytest.fixture
def dataset(tmp_path: Path) -> ObjectsDataset:
    train = make_scenes("t", 14, sizes=SIZES)
    return read_objects(write_voc(tmp_path / "voc", train=train, val=make_scenes("v", 7, seed=4, sizes=SIZES)))


def make_trial(dataset: ObjectsDataset, *, preprocess: Preprocess | None = None, **data: Any) -> Trial:
    network = find("resnet-18", {"classes": len(dataset.class_names)})
    known = DataSpec(name=dataset.name, fingerprint=dataset.fingerprint, **data)
    return Trial(data=known, network=network, recipe=RECIPE, seed=1, task=TASK, preprocess=preprocess)


def make(
    dataset: ObjectsDataset,
    *,
    processes: Processes = ALONE,
    recipe: dict[str, Any] | None = None,
    listener: Listener = DEAF,
    preprocess: Preprocess | None = None,
    **data: Any,
) -> ObjectsFeed:
    trial = make_trial(dataset, preprocess=preprocess, **data)
    trial = replace(trial, recipe=replace(trial.recipe, **recipe or {}))
    return make_feed(dataset, trial, device="cpu", processes=processes, folder=None, listener=listener)


def test_iterations_have_one_shape_and_fixed_rows(dataset: ObjectsDataset) -> None:
    """What follows with another shape is loaded by itself."""
    feed: Feed = make(dataset)
    step, shapes = 0, set()
    while step < 14:
        images, targets = feed.load(step, 14 - step)
        count = len(images)
        assert images.shape[:3] == (count, 2, 3)
        assert targets.shape == (count, 2, 4, 7)
        assert (targets[:, :, 0, CLASS] == FRAME).all()
        shapes.add(tuple(images.shape[-2:]))
        step += count
    assert len(shapes) == 4
    assert feed.image_shape[0] == 3
    assert feed.image_shape[1] * feed.image_shape[2] == max(height * width for height, width in shapes)


def test_images_are_centred_and_padding_is_zero(dataset: ObjectsDataset) -> None:
    """As the weights know them, or by ImageNet's colours; as in a test."""
    for preprocess in (None, AUTHORS):
        feed = make(dataset, preprocess=preprocess)
        assert (feed.preprocess.resize, feed.preprocess.crop) == (90, None)
        (images,), (targets,) = feed.load(3, 1)
        decoded = feed.crops[feed.find_shape(3), feed.sampler.draw(3, 2)]
        plain = replace(feed.preprocess, resize=None)
        expected = preprocess_images(decoded.pixels.permute(0, 3, 1, 2), plain, brightest=255)
        for image, rows, whole in zip(images, targets, expected, strict=True):
            width, height = int(rows[0, 2]), int(rows[0, 3])
            assert torch.allclose(image[:, :height, :width], whole[:, :height, :width], atol=1e-5)
            assert not image[:, height:].any() and not image[:, :, width:].any()


def test_padding_is_cleared_whatever_it_holds() -> None:
    """To zero, not to a zero below it."""
    targets = torch.zeros(2, 1, 7)
    targets[:, 0, 2], targets[:, 0, 3] = torch.tensor([2, 4]), torch.tensor([3, 1])
    cleared = clear_padding(torch.full((2, 3, 3, 4), -1.0), targets)
    assert [int((image != 0).sum()) for image in cleared] == [3 * 6, 3 * 4]
    assert not torch.signbit(cleared[cleared == 0]).any()


def test_scales_change_no_shape(dataset: ObjectsDataset) -> None:
    """Iterations have the images and the shape they have without, so that no graph is recorded besides."""
    plain, scaled = make(dataset), make(dataset, recipe={"augmentation": AugmentationSpec(scales=(0.5, 0.75))})
    assert scaled.image_shape == plain.image_shape
    frames = []
    for step in range(9):
        (one, whole), (other, small) = plain.load(step, 1), scaled.load(step, 1)
        assert one.shape == other.shape
        assert torch.equal(whole[0, :, 0, 5:], small[0, :, 0, 5:])
        frames += (small[0, :, 0, 2:4] / whole[0, :, 0, 2:4]).mean(1).tolist()
    assert {round(4 * scale) for scale in frames} == {2, 3}


def test_steps_may_be_asked_for_in_any_order(dataset: ObjectsDataset) -> None:
    """As a resumed run does."""
    feed = make(dataset)
    first = {step: feed.load(step, 1) for step in range(9)}
    for step in (5, 2, 8):
        for before, now in zip(first[step], make(dataset).load(step, 1), strict=True):
            assert torch.equal(before, now)
    assert torch.equal(feed.load(4, 1)[0], first[4][0])


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("count", [2, 3])
def test_processes_share_batches_and_tests(dataset: ObjectsDataset, parts: int, count: int) -> None:
    """Nobody has what another has, and together they have all; of a batch all have one shape."""
    recipe = {"batch": 12, "accumulate": parts}
    feeds = [make(dataset, processes=Processes(rank, count), recipe=recipe) for rank in range(count)]
    shares = [next(feed.wanted(1)) for feed in feeds]
    assert len({shape for shape, _ in shares}) == 1
    size = 12 // (count * parts)
    ordered = [key for part in range(parts) for _, share in shares for key in share[part * size : (part + 1) * size]]
    assert ordered == feeds[0].sampler.draw(1, 12)
    tested = [torch.cat([indices for *_, indices in feed.tests()]).tolist() for feed in feeds]
    assert all(set(numbers) == set(feed.tested) for numbers, feed in zip(tested, feeds, strict=True))
    assert sorted(number for numbers in tested for number in numbers) == list(range(7))


def test_every_test_image_comes_once_with_its_own_target(
    dataset: ObjectsDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In batches of one shape, no larger than they may be; boxes in the pixels of what is shown."""
    monkeypatch.setattr(feeding, "TESTED_TOGETHER", 2)
    feed, seen = make(dataset), []
    for images, targets, numbers in feed.tests():
        assert len(images) == len(targets) == len(numbers) <= 2
        for image, rows, number in zip(images, targets, numbers.tolist(), strict=True):
            width, height = dataset.test.sizes[number].tolist()
            geometry = feed.fitting.place(width, height)
            assert np.array_equal(rows, move_target("boxes", dataset.test.targets[number], geometry))
            alone = next(part for part in make(dataset).tests() if number in part[2])
            assert torch.equal(alone[0][alone[2].tolist().index(number)], image)
        seen += numbers.tolist()
    assert sorted(seen) == list(range(7))
    assert (feed.num_tests, feed.num_skipped_tests, feed.is_resident) == (7, 0, False)


def test_bad_images_stop_or_are_skipped(dataset: ObjectsDataset) -> None:
    """Of tests too, where the others are tested."""
    (dataset.root / dataset.test.files[2]).write_bytes(b"")
    with pytest.raises(UserError, match=r"v002\.jpg is not an image"):
        list(make(dataset).tests())
    told: list[str] = []
    feed = make(dataset, on_bad_image="skip", listener=Listener(warn=told.append))
    assert sorted(torch.cat([numbers for *_, numbers in feed.tests()]).tolist()) == [0, 1, 3, 4, 5, 6]
    assert len(told) == 1 and "v002.jpg" in told[0]
    assert feed.num_skipped_tests == 1


def test_images_are_held_back_to_choose_by(dataset: ObjectsDataset) -> None:
    """They are tested, and not trained on; all have room for as many objects."""
    feed = make(dataset, validation=0.3)
    held = feed.validation
    assert held is not None and held.num_tests == 4
    assert not set(held.dataset.test.files) & set(feed.dataset.train.files)
    assert held.dataset.test.targets.room == dataset.train.targets.room
    assert sum(len(numbers) for *_, numbers in held.tests()) == 4
    assert make(dataset).validation is None
    assert len(feed.targets) == 10


def test_images_are_named_by_their_files(dataset: ObjectsDataset) -> None:
    """So that one finds what an iteration saw."""
    feed = make(dataset)
    assert feed.name_images(3) == ", ".join(dataset.train.files[image] for _, image in feed.sampler.draw(3, 2))


def test_grey_images_are_repeated(dataset: ObjectsDataset) -> None:
    """In three channels, as those of photographs are."""
    path = dataset.train.path(0)
    Image.open(str(path)).convert("L").save(str(path))
    feed = make(dataset)
    pixels = feed.crops[int(feed.sampler.shapes[0]), [(0, 0)]].pixels
    assert torch.equal(pixels[..., 0], pixels[..., 2])


def test_what_is_for_other_images_is_refused(dataset: ObjectsDataset) -> None:
    """Crops, mixing, balanced classes and mean images."""
    trial = make_trial(dataset)
    dataset.refuse_trial(trial)
    dataset.refuse_trial(replace(trial, recipe=replace(RECIPE, augmentation=AugmentationSpec(scales=(0.8, 1.0)))))
    dataset.refuse_trial(replace(trial, recipe=replace(RECIPE, centring="mean-image"), preprocess=AUTHORS))
    for change, told in (
        ({"augmentation": AugmentationSpec(crop="resized")}, "augmentation.crop is resized"),
        ({"augmentation": AugmentationSpec(mixup=0.2)}, "augmentation.mixup is 0.2"),
        ({"sampling": "balanced"}, "sampling is balanced"),
        ({"class_weights": "balanced"}, "class_weights is balanced"),
        ({"centring": "mean-image"}, "set recipe.centring=imagenet"),
    ):
        with pytest.raises(UserError, match=told):
            dataset.refuse_trial(replace(trial, recipe=replace(RECIPE, **change)))
    with pytest.raises(UserError, match="a mean image is subtracted"):
        dataset.refuse_trial(replace(trial, preprocess=Preprocess(per_pixel_mean=True)))
    with pytest.raises(UserError, match="has an object to train on"):
        replace(dataset, train=dataset.train.take(slice(0))).refuse_trial(trial)
    with pytest.raises(UserError, match="has an object to test on"):
        replace(dataset, test=dataset.test.take(slice(0))).refuse_trial(trial)
    assert dataset.make_feed(trial, device="cpu", processes=ALONE, folder=None, listener=DEAF).fitting.shorter == 90
    assert dataset.list_packages(trial) == {"numpy", "pillow", "simplejpeg", "torch"}
