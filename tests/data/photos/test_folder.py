"""Folders of photographs become datasets; what is wrong with one is told in a sentence."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tests.photographs import make_photos
from tests.trials import make_photo_trial

from reslab.data.photos import folder
from reslab.data.photos.folder import read_folder
from reslab.data.photos.pixels import read_pixels
from reslab.data.photos.reader import read_photos
from reslab.data.photos.shard_writer import write_shards
from reslab.errors import UserError
from reslab.spec.trial import DataSpec


def fill(place: Path, count: int, *, suffix: str = ".png") -> None:
    place.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        Image.new("RGB", (4, 4), (number % 256, 0, 0)).save(place / f"{number}{suffix}")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for split, count in (("train", 5), ("val", 2)):
        for name in ("bee", "ant"):
            fill(tmp_path / "photos" / split / name, count)
    return tmp_path / "photos"


def test_train_and_val(photos: Path) -> None:
    """Classes by name, files by name, labels beside them; other files are ignored."""
    (photos / "train" / "ant" / "notes.txt").write_text("not an image")
    fill(photos / "train" / "ant" / "more", 1, suffix=".JPG")
    dataset = read_folder(photos)
    assert (dataset.name, dataset.class_names, dataset.held_out) == ("photos", ("ant", "bee"), False)
    assert dataset.train.targets.tolist() == [0] * 6 + [1] * 5
    assert dataset.train.files[5] == "train/ant/more/0.JPG"
    assert dataset.test.files == ("val/ant/0.png", "val/ant/1.png", "val/bee/0.png", "val/bee/1.png")
    assert dataset.test.path(0) == photos / "val/ant/0.png"
    assert dataset.train.take(slice(1, 3)).files == dataset.train.files[1:3]


def test_without_val_a_fifth_of_every_class_is_held_out(tmp_path: Path) -> None:
    """About so much, the same for the same seed; nothing is in both."""
    fill(tmp_path / "a", 200)
    fill(tmp_path / "b", 3)
    dataset = read_folder(tmp_path, seed=1)
    assert dataset.held_out
    assert 25 < (dataset.test.targets == 0).sum() < 55
    assert 1 <= (dataset.test.targets == 1).sum() <= 2
    assert not set(dataset.test.files) & set(dataset.train.files)
    assert len(dataset.test) + len(dataset.train) == 203
    assert read_folder(tmp_path, seed=1).test.files == dataset.test.files
    assert read_folder(tmp_path, seed=2).test.files != dataset.test.files


def test_an_image_stays_on_its_side_when_a_folder_grows(tmp_path: Path) -> None:
    """With more images, and with a class more that comes before the others."""
    fill(tmp_path / "bee", 40)
    fill(tmp_path / "cat", 40)
    before = read_folder(tmp_path)
    fill(tmp_path / "bee", 60)
    fill(tmp_path / "ant", 60)
    after = read_folder(tmp_path)
    assert set(before.train.files) <= set(after.train.files)
    assert set(before.test.files) <= set(after.test.files)


def test_numbers_are_in_the_order_of_numbers(tmp_path: Path) -> None:
    """As weights without names of classes have them; among other names they are names."""
    for number in range(12):
        fill(tmp_path / str(number), 2)
    assert read_folder(tmp_path).class_names == tuple(map(str, range(12)))
    fill(tmp_path / "ant", 2)
    assert read_folder(tmp_path).class_names[:4] == ("0", "1", "10", "11")


@pytest.mark.parametrize(("suffix", "noticed"), [(".bmp", True), (".ppm", True), (".tif", True), (".png", False)])
def test_a_file_rewritten_in_its_size_is_another(suffix: str, noticed: bool, photos: Path) -> None:
    """Where every image of its width and height has that size; a compressed one is known by it."""
    path = photos / "train" / "ant" / f"more{suffix}"
    Image.new("RGB", (4, 4), (0, 0, 0)).save(path)
    before, size = read_folder(photos).fingerprint, path.stat().st_size
    if suffix == ".png":
        path.write_bytes(bytes(size))
    else:
        Image.new("RGB", (4, 4), (0, 9, 0)).save(path)
    assert path.stat().st_size == size
    assert (read_folder(photos).fingerprint != before) == noticed


def test_links_to_folders_are_followed_but_not_back(tmp_path: Path) -> None:
    """A loop gives no copies, so none can be trained on and held out; nor do two ways to one folder of a class."""
    fill(tmp_path / "photos" / "ant", 3)
    fill(tmp_path / "photos" / "bee" / "more", 2)
    for link, target in (("ant/loop", "."), ("bee/again", "more"), ("whole", ".")):
        (tmp_path / "photos" / link).symlink_to(target)
    dataset = read_folder(tmp_path / "photos")
    assert dataset.class_names == ("ant", "bee")
    assert np.bincount([*dataset.train.targets, *dataset.test.targets]).tolist() == [3, 2]
    fill(tmp_path / "elsewhere", 10)
    (tmp_path / "photos" / "ant" / "others").symlink_to(tmp_path / "elsewhere")
    dataset = read_folder(tmp_path / "photos")
    assert np.bincount([*dataset.train.targets, *dataset.test.targets]).tolist() == [13, 2]


def test_a_fingerprint_knows_the_files_and_not_the_place(photos: Path) -> None:
    """Moved it is the same; with a file more, or less in one, it is another."""
    before = read_folder(photos).fingerprint
    moved = photos.rename(photos.with_name("moved"))
    assert read_folder(moved).fingerprint == before
    (moved / "train" / "ant" / "0.png").write_bytes(b"shorter")
    changed = read_folder(moved).fingerprint
    fill(moved / "val" / "ant", 3)
    assert len({before, changed, read_folder(moved).fingerprint}) == 3


def test_what_is_wrong_is_told(photos: Path, tmp_path: Path) -> None:
    """A folder that is not there, one without classes, empty classes, a class only in val, an empty val."""
    with pytest.raises(UserError, match="there is no folder"):
        read_folder(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        UserError, match=r"empty has no folders of images, but at least two classes are needed; make a folder for each"
    ):
        read_folder(tmp_path / "empty")
    (photos / "train" / "cricket").mkdir()
    with pytest.raises(UserError, match="cricket has no images; fill it or remove it"):
        read_folder(photos)
    (photos / "train" / "cricket").rename(photos / "val" / "cricket")
    with pytest.raises(UserError, match=r"val/cricket is a class without training images"):
        read_folder(photos)
    (photos / "val" / "cricket").rmdir()
    for path in (photos / "val").rglob("*.png"):
        path.unlink()
    with pytest.raises(UserError, match="val has no images"):
        read_folder(photos)
    fill(tmp_path / "single" / "a", 1)
    fill(tmp_path / "single" / "b", 4)
    with pytest.raises(UserError, match="a has only one image, so none can be held out"):
        read_folder(tmp_path / "single")


def test_names_that_are_no_utf8_have_a_fingerprint(photos: Path) -> None:
    """Old archives leave such names; a file that is gone is named."""
    before = read_folder(photos).fingerprint
    path = photos / "train" / "ant" / os.fsdecode(b"caf\xe9.png")
    path.write_bytes(b"an image")
    dataset = read_folder(photos)
    assert read_folder(photos).fingerprint != before
    path.unlink()
    with pytest.raises(UserError, match=r"cannot be read: No such file or directory; replace it or remove it"):
        _ = dataset.fingerprint


def test_a_fingerprint_is_taken_once(photos: Path) -> None:
    """Of a million files that takes a while; the same files with other labels, or others tested on, are other data."""
    dataset = read_folder(photos)
    assert dataset.fingerprint is dataset.fingerprint
    relabelled = replace(dataset, train=replace(dataset.train, targets=1 - dataset.train.targets))
    turned = replace(dataset, train=dataset.test, test=dataset.train)
    assert len({dataset.fingerprint, relabelled.fingerprint, turned.fingerprint}) == 3


def test_an_image_is_decoded_with_its_channels_first(photos: Path) -> None:
    """By itself: photographs have no size in common. It is called by its path."""
    split = read_folder(photos).train
    assert torch.equal(split.read(3), torch.from_numpy(read_pixels(split.path(3))).permute(2, 0, 1))
    assert (split.read(3)[0, 0, 0], split.name(3)) == (3, "train/ant/3.png")
    assert split.block(slice(0)) is None


def test_images_are_told_apart_by_their_names_and_known_by_their_content(photos: Path) -> None:
    """A copy has another name and the same content."""
    dataset = read_folder(photos)
    assert dataset.train.identities().tolist() == list(dataset.train.files)
    train, test = dataset.train.digests(), dataset.test.digests()
    assert train is not None and test is not None
    assert train[:2].tolist() == test[:2].tolist() != train[2:4].tolist()


def test_what_was_trained_on_is_found_where_the_folder_is_as_it_was(tmp_path: Path) -> None:
    """Whatever is held out now; a folder with another image is another."""
    for name in "ab":
        fill(tmp_path / name, 20)
    then, now = read_folder(tmp_path, seed=3), read_folder(tmp_path, seed=4)
    before = DataSpec(name="photos", fingerprint=then.fingerprint, held_out_seed=3)
    found = now.find_trained(before)
    assert found is not None and found.files == then.train.files != now.train.files
    assert len(list(now.read_before(held_out_seed=3))) == 1
    fill(tmp_path / "a", 21)
    assert read_folder(tmp_path, seed=4).find_trained(before) is None


def test_a_trial_for_other_images_is_refused(photos: Path) -> None:
    """With what to do about it."""
    dataset = read_folder(photos)
    trial = make_photo_trial(dataset)
    dataset.refuse_trial(trial)
    augmentation = trial.recipe.augmentation
    for changes, sentence in (
        ({"crop": "padded"}, r"crop is padded, which is for images of one size; choose shorter-side or resized"),
        (
            {"cutout": 8},
            r"recipe\.augmentation\.cutout is 8, which is only for images of one size; leave out",
        ),
        ({"edges": "reflect"}, r"recipe\.augmentation\.edges is reflect, which is only for images of one size"),
    ):
        other = replace(trial.recipe, augmentation=replace(augmentation, **changes))
        with pytest.raises(UserError, match=sentence):
            dataset.refuse_trial(replace(trial, recipe=other))
    with pytest.raises(
        UserError,
        match=r"data\.split=tuning is only for named datasets; leave out data\.split: a folder of photographs",
    ):
        dataset.refuse_trial(replace(trial, data=replace(trial.data, split="tuning")))
    with pytest.raises(UserError, match=r"data\.split=tuning is only for named datasets; leave out data\.split"):
        dataset.divide("tuning")
    with pytest.raises(UserError, match=r"has test images but no training images; add them as train/<class>/"):
        replace(dataset, train=dataset.train.take(slice(0))).refuse_trial(trial)


def test_policies_are_torchvisions(photos: Path) -> None:
    """Batches are made by it where there is one."""
    dataset = read_folder(photos)
    plain, policy = (make_photo_trial(dataset, recipe__augmentation__policy=name) for name in ("none", "trivial"))
    assert set(dataset.list_packages(policy)) - set(dataset.list_packages(plain)) == {"torchvision"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("mode", [0, 0o444])
@pytest.mark.parametrize("closed", ["", "train/ant"])
def test_a_folder_without_permission_is_named(photos: Path, closed: str, mode: int) -> None:
    """With the remedy; a folder that can be listed and not entered is none that can be read."""
    (photos / closed).chmod(mode)
    try:
        with pytest.raises(UserError, match=rf"{photos / closed} cannot be read: Permission denied; check its perm"):
            read_folder(photos)
    finally:
        (photos / closed).chmod(0o755)


def test_content_counts_and_not_the_name(tmp_path: Path) -> None:
    """A copy under another name has the same digest; shards have their files'."""
    split = read_photos(make_photos(tmp_path / "photos")).train
    found = split.digests()
    assert found is not None
    assert len(np.unique(found)) == len(split)
    first = hashlib.sha256(Path(str(split.path(0))).read_bytes()).digest()
    assert found[0] == np.frombuffer(first[:8], np.int64)[0]
    write_shards(tmp_path / "photos", tmp_path / "shards", size=20_000)
    assert np.array_equal(read_photos(tmp_path / "shards").train.digests(), found)
    shutil.copy(str(split.path(0)), tmp_path / "photos" / "train" / "blues" / "zzz.jpg")
    assert len(np.unique(read_photos(tmp_path / "photos").train.digests())) == len(split)


def test_what_is_too_much_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As ImageNet is."""
    split = read_photos(make_photos(tmp_path / "photos")).train
    monkeypatch.setattr(folder, "CHEAP", sum(map(split.size, range(len(split)))) - 1)
    assert split.digests() is None
