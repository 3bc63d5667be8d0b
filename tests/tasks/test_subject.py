"""What tests and instruments are pointed at: images as they are stored, and as the network wants them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.photographs import make_photos
from tests.trials import DIGITS

from reslab.data.dataset import Dataset
from reslab.data.photos.bad_images import BadImages
from reslab.data.photos.folder import PhotoDataset, read_folder
from reslab.data.preprocessing import preprocess_images
from reslab.errors import UserError
from reslab.networks import create_model
from reslab.runtime.execution import EAGER
from reslab.runtime.listener import Listener
from reslab.spec import Preprocess
from reslab.spec.task import MultiLabel
from reslab.tasks.subject import Subject
from reslab.tasks.task import find_task

CENTRE = Preprocess(resize=18, crop=16, mean=(0.4,), std=(0.5,))


def make_subject(dataset: Dataset, preprocess: Preprocess, *, bad: BadImages | None = None) -> Subject:
    """An untrained network and the test images."""
    side = preprocess.crop or dataset.side or 16
    fields = {"classes": len(dataset.class_names), "channels": dataset.channels, "input_size": side}
    return Subject(
        origin="untrained",
        network=create_model("cifar-resnet-8", **fields).eval(),
        own=False,
        data=dataset.name,
        split="full",
        images=dataset.test,
        trained_on=dataset.train,
        class_names=dataset.class_names,
        brightest=dataset.brightest,
        preprocess=preprocess,
        side=side,
        execution=EAGER,
        device="cpu",
        bad=bad,
    )


@pytest.fixture
def photos(tmp_path: Path) -> PhotoDataset:
    """Of two colours and differing sizes, four of each to be tested on."""
    return read_folder(make_photos(tmp_path / "photos", train=2, val=4))


@pytest.mark.parametrize("size", [1, 100, 1000])
def test_arrays_come_in_order_each_once(size: int) -> None:
    """Stored and prepared, a batch as one tensor."""
    subject = make_subject(DIGITS, Preprocess(mean=(0.3,)))
    stored = [(images, targets) for images, targets in subject.stored(size)]
    assert all(len(images) == 1 and len(images[0]) == len(targets) <= size for images, targets in stored)
    assert torch.equal(torch.cat([images for (images,), _ in stored]), torch.from_numpy(DIGITS.test.images))
    assert torch.equal(torch.cat([targets for _, targets in stored]), torch.from_numpy(DIGITS.test.targets).long())
    prepared = torch.cat([images for images, _ in subject.batches(size)])
    expected = preprocess_images(torch.from_numpy(DIGITS.test.images), subject.preprocess, brightest=16)
    assert torch.equal(prepared, expected)
    assert len(subject) == len(DIGITS.test)


def test_photographs_come_as_they_are_and_are_cropped_alike(photos: PhotoDataset) -> None:
    """Stored each for itself, for their sizes differ; prepared as one tensor a batch."""
    subject = make_subject(photos, CENTRE)
    ((images, targets),) = subject.stored(10)
    assert len({image.shape for image in images}) > 1
    assert targets.tolist() == photos.test.targets.tolist()
    ((prepared, _),) = subject.batches(10)
    expected = torch.cat([preprocess_images(image, CENTRE, brightest=255) for image in images])
    assert torch.equal(prepared, expected)


def test_fewer_images_of_a_folder_are_spread_over_it(photos: PhotoDataset) -> None:
    """Evenly, of every class, and the same ones each time; of arrays they are the first, and all are all."""
    subject = replace(make_subject(photos, CENTRE), spread=True)
    assert photos.test.targets.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    targets = {count: torch.cat([targets for _, targets in subject.batches(3, images=count)]) for count in (2, 4, 5, 8)}
    assert {count: those.tolist() for count, those in targets.items()} == {
        2: [0, 1], 4: [0, 0, 1, 1], 5: [0, 0, 0, 1, 1], 8: [0, 0, 0, 0, 1, 1, 1, 1],
    }  # fmt: skip
    (first,) = replace(subject, spread=False).batches(3, images=2)
    assert first[1].tolist() == [0, 0]
    assert [subject.takes_evenly("test", count) for count in (0, 2, 8)] == [False, True, False]


def test_a_bad_photograph_stops_or_is_passed_over(photos: PhotoDataset) -> None:
    """As whoever takes note of them says; its target goes with it."""
    photos.test.path(1).write_bytes(b"")
    for bad in (None, BadImages(photos)):
        with pytest.raises(UserError, match=r"001\.jpg is not an image"):
            list(make_subject(photos, CENTRE, bad=bad).stored(4))
    next(make_subject(photos, CENTRE).stored(1))  # it is the next batch's
    told: list[str] = []
    skipping = make_subject(photos, CENTRE, bad=BadImages(photos, skip=True, listener=Listener(warn=told.append)))
    targets = torch.cat([targets for _, targets in skipping.batches(4)])
    assert targets.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert [sentence.split()[0] for sentence in told] == ["skipped:"]


def test_what_was_kept_is_of_all_of_them_or_of_others() -> None:
    """Those that could not be read are among all."""
    subject = make_subject(DIGITS, Preprocess())
    assert subject.covered_by({"data": "digits", "images": 355})
    assert subject.covered_by({"data": "digits", "images": 350, "skipped_images": 5})
    for others in ({}, {"data": "digits", "images": 350}, {"data": "cifar10", "images": 355}):
        assert not subject.covered_by(others)
    some = replace(subject, images=DIGITS.test.take(slice(20)))
    assert (len(some), some.covered_by({"data": "digits", "images": 20})) == (20, True)


def test_training_images_come_without_augmentation() -> None:
    """In their order, the first of them, or some drawn by a seed, each once."""
    subject = make_subject(DIGITS, Preprocess(mean=(0.3,)))
    images = preprocess_images(torch.from_numpy(DIGITS.train.images), subject.preprocess, brightest=16)
    assert torch.equal(torch.cat([batch for batch, _ in subject.batches(100, on="train")]), images)
    first = list(subject.batches(16, on="train", images=32))
    assert [len(batch) for batch, _ in first] == [16, 16]
    assert torch.equal(torch.cat([batch for batch, _ in first]), images[:32])
    once, again, other = (
        torch.cat([batch for batch, _ in subject.batches(16, on="train", images=32, drawn=seed)]) for seed in (1, 1, 2)
    )
    assert torch.equal(once, again)
    assert not torch.equal(once, other)
    whole = torch.cat([batch for batch, _ in subject.batches(100, on="train", drawn=1)])
    assert torch.equal(whole[:32], once)
    assert torch.equal(whole.flatten(1).sum(1).sort().values, images.flatten(1).sum(1).sort().values)


def test_no_more_images_are_promised_than_there_are() -> None:
    """0 takes all; the sentence names the remedy."""
    subject = make_subject(DIGITS, Preprocess())
    assert (subject.count("test"), subject.count("train"), subject.count("test", 9)) == (355, 1442, 9)
    with pytest.raises(UserError, match=r"images is 1,443, but digits has 1,442 training images; leave out images="):
        next(subject.batches(10, on="train", images=1443))


def test_losses_and_mistakes_are_the_tasks_own() -> None:
    """Of each image; their means are what a test says."""
    subject = make_subject(DIGITS, Preprocess())
    outputs, targets = torch.randn(20, 10, dtype=torch.float64), torch.arange(20) % 10
    losses, wrong = subject.losses(outputs, targets), subject.wrong(outputs, targets)
    assert losses.tolist() == pytest.approx((outputs.logsumexp(1) - outputs[range(20), targets]).tolist())
    assert wrong.tolist() == [float(row.argmax() != target) for row, target in zip(outputs, targets, strict=True)]
    subject.network.task, subject.network.thresholds = MultiLabel(), (0.9,) * 10
    labels = torch.zeros(20, 10, dtype=torch.float64)
    assert subject.wrong(outputs, labels).tolist() == [float(row.sigmoid().max() >= 0.9) for row in outputs]


def test_it_knows_its_task_and_how_it_is_shown(photos: PhotoDataset) -> None:
    """The task is the network's; a protocol has the network's mean image and the side of its crops."""
    subject = make_subject(photos, CENTRE)
    subject.network.task, subject.network.mean_image = MultiLabel(), torch.zeros(3, 16, 16)
    assert type(subject.task) is type(find_task("multi-label"))
    viewing = subject.viewing("10-crop")
    assert (viewing.side, viewing.shorter_sides, viewing.brightest) == (16, (18,), 255)
    assert viewing.mean_image is subject.network.mean_image
