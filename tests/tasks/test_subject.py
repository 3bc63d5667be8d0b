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


def test_it_knows_its_task_and_how_it_is_shown(photos: PhotoDataset) -> None:
    """The task is the network's; a protocol has the network's mean image and the side of its crops."""
    subject = make_subject(photos, CENTRE)
    subject.network.task, subject.network.mean_image = MultiLabel(), torch.zeros(3, 16, 16)
    assert type(subject.task) is type(find_task("multi-label"))
    viewing = subject.viewing("10-crop")
    assert (viewing.side, viewing.shorter_sides, viewing.brightest) == (16, (18,), 255)
    assert viewing.mean_image is subject.network.mean_image
