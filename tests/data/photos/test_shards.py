"""Shards are the dataset that a folder with the same images is."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.data.photos.test_tar_index import write
from tests.photographs import make_photos

from reslab.data.catalogue import open_data
from reslab.data.photos.check import check_folder
from reslab.data.photos.crops import TrainingCrops
from reslab.data.photos.folder import PhotoDataset, PhotoSplit, read_folder
from reslab.data.photos.pixels import read_pixels
from reslab.data.photos.shard_writer import write_shards
from reslab.data.photos.shards import FILE, has_shards, read_shards
from reslab.data.reading import read_in_order
from reslab.errors import UserError
from reslab.spec.augmentation import AugmentationSpec


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return make_photos(tmp_path / "photos", train=4, val=2)


@pytest.fixture
def shards(photos: Path, tmp_path: Path) -> Path:
    write_shards(photos, tmp_path / "shards" / "photos", size=10_000)
    return tmp_path / "shards" / "photos"


def assert_same(one: PhotoDataset, other: PhotoDataset) -> None:
    assert (one.name, one.class_names, one.held_out) == (other.name, other.class_names, other.held_out)
    for ours, theirs in ((one.train, other.train), (one.test, other.test)):
        assert ours.files == theirs.files
        assert ours.targets.tolist() == theirs.targets.tolist()
        assert all(ours.path(index).read_bytes() == theirs.path(index).read_bytes() for index in range(len(ours)))
    assert one.fingerprint == other.fingerprint


def test_shards_are_their_folder(photos: Path, shards: Path) -> None:
    """Name, classes, order, labels, bytes and fingerprint; parts of a split too; and by data=FOLDER."""
    assert has_shards(shards)
    assert not has_shards(photos)
    ours, theirs = open_data(str(shards)), open_data(str(photos))
    assert isinstance(ours, PhotoDataset) and isinstance(theirs, PhotoDataset)
    assert_same(ours, theirs)
    parts = [dataset.train.take(np.array([5, 0])) for dataset in (ours, theirs)]
    assert [part.files for part in parts] == [("train/greens/001.jpg", "train/blues/000.jpg")] * 2
    assert np.array_equal(read_pixels(parts[0].path(0)), read_pixels(parts[1].path(0)))


@pytest.mark.parametrize("below", ["", "train"])
def test_without_val_the_same_is_held_out(photos: Path, tmp_path: Path, below: str) -> None:
    """As drawn by the seed."""
    shutil.rmtree(photos / "val")
    source = photos if below else shutil.move(photos / "train", tmp_path / "other" / "photos")
    out = tmp_path / "shards" / "photos"
    write_shards(Path(source), out, size=10**9)
    assert [path.name for path in sorted(out.iterdir())] == [FILE, "train-000000.tar"]
    for seed in (0, 3):
        assert_same(read_shards(out, seed=seed), read_folder(Path(source), seed=seed))
    with pytest.raises(UserError, match=r"data\.held_out_seed is -1"):
        read_shards(out, seed=-1)


def test_others_shards_have_numbers_for_names(tmp_path: Path) -> None:
    """Keys may come again in another shard; test shards are called what people call them."""
    sample = {"0.jpg": b"one", "0.cls": b"0", "1.jpg": b"two", "1.cls": b"1"}
    # Of several kinds to test on the first is taken, as of folders.
    for name in ("x-train-0000.tar", "x-train-0001.tar", "x-validation-00.tar", "x-test-00.tar"):
        write(tmp_path / "wds" / name, sample)
    dataset = read_shards(tmp_path / "wds")
    assert (dataset.class_names, dataset.held_out) == (("0", "1"), False)
    assert (dataset.train.files, dataset.train.targets.tolist()) == (("0.jpg", "0.jpg", "1.jpg", "1.jpg"), [0, 0, 1, 1])
    assert [str(dataset.train.path(index))[-10:] for index in range(2)] == ["0.tar/0.jpg"[-10:], "1.tar/0.jpg"[-10:]]
    assert len(dataset.test) == 2


def test_workers_read_from_shards(photos: Path, shards: Path) -> None:
    """What is kept for them in shared memory leads to the same pixels."""

    def crops(split: PhotoSplit) -> torch.Tensor:
        augmentation = AugmentationSpec(crop="resized")
        return TrainingCrops(split, augmentation, seed=5)[24, [(0, index) for index in range(len(split))]].pixels

    assert torch.equal(crops(read_shards(shards).test), crops(read_folder(photos).test))


def test_shards_are_read_in_order_like_their_folder(photos: Path, shards: Path) -> None:
    """Every image once, whichever shard it is in."""
    ours, theirs = (
        [image for batch in read_in_order(dataset.test, 3) for image in batch.images]
        for dataset in (read_shards(shards), read_folder(photos))
    )
    assert len(ours) == 4
    assert all(torch.equal(*pair) for pair in zip(ours, theirs, strict=True))


def test_what_does_not_fit_is_told(shards: Path, tmp_path: Path) -> None:
    """Shards that are missing, strange, changed or compressed; a list of them that cannot be read."""
    first, told = shards / "train-000000.tar", json.loads((shards / FILE).read_text())
    strange = shutil.copy(first, shards / "train-000099.tar")
    with pytest.raises(UserError, match=r"train-000099\.tar is not listed in shards\.json"):
        read_shards(shards)
    Path(strange).unlink()
    (shards / FILE).write_text(json.dumps(told | {"images": told["images"] | {"train-000000.tar": 9}}))
    with pytest.raises(UserError, match=r"train-000000\.tar has \d+ images, but shards\.json lists 9"):
        read_shards(shards)
    (shards / FILE).write_text(json.dumps(told))
    first.rename(tmp_path / "away")
    with pytest.raises(UserError, match=r"train-000000\.tar is missing; fetch or write it again"):
        read_shards(shards)
    (tmp_path / "away").rename(shards / "train-000000.tar.gz")
    with pytest.raises(UserError, match=r"train-000000\.tar\.gz is compressed.*; decompress it"):
        read_shards(shards)
    (shards / "train-000000.tar.gz").rename(first)
    (shards / FILE).write_text("[]")
    with pytest.raises(UserError, match=r"shards\.json cannot be read .*; write the shards again, or remove it"):
        read_shards(shards)
    for wrong in (
        {"class_names": "ab"},
        {"images": told["images"] | {"train-000000.tar": "nine"}},
        {"renamed": {"a": 5}},
    ):
        (shards / FILE).write_text(json.dumps(told | wrong))
        with pytest.raises(
            UserError, match=r"shards\.json cannot be read \(.*\); write the shards again, or remove it"
        ):
            read_shards(shards)
    (shards / FILE).write_text(json.dumps(told | {"class_names": ["ants", "ants"]}))
    with pytest.raises(UserError, match=r"shards\.json gives two classes the name ants"):
        read_shards(shards)
    (shards / FILE).unlink()
    assert read_shards(shards).class_names == ("0", "1")
    (shards / "train").mkdir()
    with pytest.raises(UserError, match="has both shards and a folder 'train'"):
        read_shards(shards)


@pytest.mark.parametrize(
    ("train", "val", "sentence"),
    [
        ({0: 2, 1: 2}, {2: 1}, r"val-0\.tar/2-0\.jpg has the label 2, but the 2 training classes are numbered from 0"),
        ({0: 2, 999_999_999: 2}, {0: 1}, "has no training images of class 1"),
        ({0: 2, 2: 2}, {0: 1}, "has no training images of class 1; add some, or number the classes without gaps"),
        ({0: 2}, {0: 1}, "has images of 1 class; at least two classes are needed"),
        ({}, {0: 1}, "the train shards of .* have no images"),
        ({0: 2, 1: 2}, {}, "the test shards of .* have no images"),
        ({0: 2, 1: 1}, None, "class 1 of .* has only one image, so none can be held out"),
        (None, {0: 1}, r"has no shards to train on; name them like train-000000\.tar"),
    ],
)
def test_labels_that_do_not_fit_are_told(
    train: dict[int, int] | None, val: dict[int, int] | None, sentence: str, tmp_path: Path
) -> None:
    """With the image, or the class."""
    for name, counts in (("train", train), ("val", val)):
        if counts is not None:
            samples = [(f"{label}-{number}", label) for label, count in counts.items() for number in range(count)]
            images = {f"{key}.jpg": b"image" for key, _ in samples}
            write(
                tmp_path / "wds" / f"{name}-0.tar",
                images | {f"{key}.cls": str(label).encode() for key, label in samples},
            )
    with pytest.raises(UserError, match=sentence):
        read_shards(tmp_path / "wds")


def test_shards_are_checked_like_folders(photos: Path, shards: Path, tmp_path: Path) -> None:
    """The same counts; a bad image is named within its shard."""
    assert check_folder(shards).counts == check_folder(photos).counts
    (photos / "train/blues/000.jpg").write_bytes(b"no photograph")
    shutil.copy(photos / "train/blues/001.jpg", photos / "val/greens/copy.jpg")
    out = tmp_path / "again"
    write_shards(photos, out, size=10**9)
    checked = check_folder(out)
    assert not checked.passed
    found = {(finding.kind, finding.path) for finding in checked.findings}
    assert ("unreadable", "train-000000.tar/train/blues/000.jpg") in found
    assert ("in train and val", "val-000000.tar/val/greens/copy.jpg") in found
    with tarfile.open(out / "val-000000.tar", "w"):
        pass
    with pytest.raises(UserError, match="has 0 images, but"):
        check_folder(out)


def test_all_wrong_shards_are_found(photos: Path, tmp_path: Path) -> None:
    """Cut, written anew with fewer images, without a label; what the others hold is looked at."""
    shards = tmp_path / "several"
    contents = write_shards(photos, shards, size=1)
    cut, fewer, unlabelled, *_ = sorted(name for name in contents.images if name.startswith("train"))
    (shards / cut).write_bytes((shards / cut).read_bytes()[:600])
    with tarfile.open(shards / fewer, "w"):
        pass
    write(shards / unlabelled, {"a.jpg": b"image"})
    checked = check_folder(shards)
    wrong = {finding.path: finding.detail for finding in checked.findings if finding.kind == "wrong shard"}
    assert wrong.keys() == {cut, fewer, unlabelled}
    assert wrong[cut].startswith("is damaged or incomplete")
    assert wrong[fewer].startswith("has 0 images, but shards.json lists 1")
    assert wrong[unlabelled].startswith("a.jpg has no label")
    assert not checked.passed
    assert sum(checked.images) == sum(contents.images.values()) - 3
    assert checked.refusal
    assert cut in checked.refusal
