"""Tiny-ImageNet from its publisher's files, as arrays that are mapped."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.data.arrays import cs231n

from reslab.data.arrays import store
from reslab.data.arrays.split import Bytes
from reslab.data.arrays.tiny_imagenet import (
    FOLDER,
    TINY_IMAGENET,
    Prepared,
    TinyImageNet,
    load_tiny_imagenet,
    plan_tiny_imagenet,
    prepare_tiny_imagenet,
)
from reslab.data.catalogue import load_dataset
from reslab.errors import UserError
from reslab.files import data_root

Change = Callable[[Path], object]
FIRST = "train/n02012849/images/n02012849_0.JPEG"
BOXES = "train/n02012849/n02012849_boxes.txt"
TRUTH = "val/val_annotations.txt"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the publisher's folder; the data root is another."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    return tmp_path / "published"


@pytest.fixture
def published(source: Path) -> tuple[TinyImageNet, dict[str, Bytes]]:
    """What is known of the publisher's folder, and the arrays it holds."""
    return cs231n.publish(source)


@pytest.fixture
def known(published: tuple[TinyImageNet, dict[str, Bytes]]) -> TinyImageNet:
    """What is known of the publisher's folder."""
    return published[0]


def unwatched(what: str, done: int, total: int | None) -> None:
    pytest.fail("it decoded")


@pytest.mark.parametrize("form", ["folder", "folder above", "zip"])
def test_images_labels_boxes_and_words_are_kept(form: str, published, source: Path) -> None:
    """Classes by their ids, the images of a class by their number; grey is repeated; images and labels are mapped."""
    known, arrays = published
    heard: list[tuple[str, int, int | None]] = []
    given = {"folder": source / FOLDER, "folder above": source}.get(form) or cs231n.pack(source)
    prepared = prepare_tiny_imagenet(given, known, watch=lambda *news: heard.append(news))
    assert prepared == Prepared(data_root() / known.name)
    for name, array in arrays.items():
        stored = np.load(prepared.folder / f"{name}.npy")
        assert stored.dtype == np.uint8 and np.array_equal(stored, array)
    assert {what: (done, total) for what, done, total in heard} == {
        "training images": (arrays["train_images"].nbytes,) * 2,
        "test images": (arrays["test_images"].nbytes,) * 2,
    }
    dataset = load_tiny_imagenet(known)
    assert (dataset.class_names, dataset.words, dataset.fingerprint) == (
        cs231n.CLASSES,
        cs231n.WORDS,
        known.fingerprint,
    )
    assert np.array_equal(dataset.train.images, arrays["train_images"])
    assert np.array_equal(dataset.test.targets, arrays["test_labels"])
    assert isinstance(dataset.train.images.base, np.memmap)
    grey, coloured = dataset.train.images[6], dataset.train.images[7]
    assert (grey[0] == grey[1]).all() and (grey[0] == grey[2]).all() and (coloured[0] != coloured[1]).any()


def test_what_is_here_is_not_decoded_again(known: TinyImageNet, source: Path) -> None:
    """Unless it is damaged, or without the words of its classes."""
    assert plan_tiny_imagenet(source, known) == 17 * 3 * cs231n.SIDE**2
    folder = prepare_tiny_imagenet(source, known).folder
    assert plan_tiny_imagenet(source, known) == 0
    assert prepare_tiny_imagenet(source, known, watch=unwatched) == Prepared(folder, as_found=True)
    for name in ("test_boxes.npy", "train_images.npy", "classes.json", "digests.json"):
        whole = (folder / name).read_bytes()
        for content in (None, whole[:-4] + b"rot" + whole[-1:]):
            (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
            assert not prepare_tiny_imagenet(source, known).as_found
            assert (folder / name).read_bytes() == whole


def test_another_decoder_is_told(known: TinyImageNet, source: Path) -> None:
    """Its images are good to train on, by a fingerprint of their own; each time they are tried anew."""
    other = replace(known, fingerprint="0" * 64)
    for _ in range(2):
        prepared = prepare_tiny_imagenet(source, other)
        assert (prepared.as_known, prepared.as_found) == (False, False)
    assert load_tiny_imagenet(other).fingerprint == known.fingerprint


def rewrite(name: str, old: str, new: str) -> Change:
    """Replace a part of a text."""

    def change(root: Path) -> None:
        text = (root / name).read_text()
        assert old in text
        (root / name).write_text(text.replace(old, new, 1))

    return change


def swap(root: Path) -> None:
    """Exchange the classes of two test images."""
    text = (root / TRUTH).read_text()
    text = re.sub(r"val_0\.JPEG\tn\d+", "val_0.JPEG\tn01440764", text)
    (root / TRUTH).write_text(re.sub(r"val_1\.JPEG\tn\d+", "val_1.JPEG\tn03126707", text))


def cover(root: Path) -> None:
    """Give an image another box."""
    (root / BOXES).write_text(re.sub(r"_3\.JPEG.*", "_3.JPEG\t0\t0\t1\t0", (root / BOXES).read_text()))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda root: (root / "words.txt").unlink(), "/words.txt does not exist; download tiny-imagenet-200.zip from"),
        (lambda root: (root / FIRST).unlink(), f"/{FIRST} does not exist; download"),
        (lambda root: (root / "wnids.txt").unlink(), "/published has no wnids.txt; give tiny-imagenet-200.zip from"),
        (lambda root: (root / "wnids.txt").write_bytes(b"\xff"), "/wnids.txt is not text; download"),
        (rewrite("wnids.txt", "n03126707", "n03126708"), "lists 'n03126708', which is not a class of Tiny-ImageNet"),
        (rewrite("wnids.txt", "n03126707\n", ""), "/wnids.txt lists 2 classes, but Tiny-ImageNet has 3; download"),
        (rewrite("words.txt", "n02012849\tcrane\n", ""), "/words.txt has no words for n02012849; download"),
        (rewrite("words.txt", "n02012849\t", "n02012849 "), "/words.txt has no words for n02012849; download"),
        (rewrite(BOXES, "_3.JPEG\t", "_3.JPEG "), f"line 1 of ROOT/{BOXES} does not fit: 'n02012849_3.JPEG "),
        (rewrite(BOXES, "_3.JPEG\t", "_3.JPEG\t-"), f"line 1 of ROOT/{BOXES} does not fit: 'n02012849_3.JPEG"),
        (rewrite(BOXES, "_2.JPEG", "_4.JPEG"), f"line 2 of ROOT/{BOXES} names no image that should be here, or one a"),
        (rewrite(BOXES, "_2.JPEG", "_3.JPEG"), f"line 2 of ROOT/{BOXES} names no image that should be here, or one a"),
        (rewrite(BOXES, "_2.JPEG\t", "_2.JPEG\tn02012849\t"), f"line 2 of ROOT/{BOXES} gives no class that belongs he"),
        (rewrite(TRUTH, "n01440764", "n01440765"), f"line 1 of ROOT/{TRUTH} gives no class that belongs here: 'val_4."),
        (rewrite(TRUTH, "n01440764\t", ""), f"line 1 of ROOT/{TRUTH} gives no class that belongs here: 'val_4."),
        (
            lambda root: (root / BOXES).write_text(f"n02012849_0.JPEG\t0\t0\t{cs231n.SIDE}\t1\n"),
            f"line 1 of ROOT/{BOXES} has a box that is not in the image: 'n02012849_0.JPEG",
        ),
        (
            lambda root: (root / BOXES).write_text("n02012849_0.JPEG\t0\t5\t1\t4\n"),
            f"line 1 of ROOT/{BOXES} has a box that is not in the image: 'n02012849_0.JPEG",
        ),
        (
            lambda root: (root / BOXES).write_text("n02012849_0.JPEG\t0\t0\t1\t1\n"),
            f"/{BOXES} has 1 images, but Tiny-ImageNet has 4 there; download",
        ),
        (swap, "the test labels in SOURCE are not those of Tiny-ImageNet; download"),
        (cover, "the train boxes in SOURCE are not those of Tiny-ImageNet; download"),
        (
            lambda root: (root / FIRST).write_bytes(cs231n.jpeg(np.random.default_rng(0), width=15)),
            f"/{FIRST} is 15x16, but should be 16x16; download",
        ),
        (lambda root: (root / FIRST).write_bytes(b"hello"), f"/{FIRST} cannot be decoded (cannot identify image"),
        (
            lambda root: (root / FIRST).write_bytes((root / FIRST).read_bytes()[:-20]),
            f"/{FIRST} cannot be decoded (image file is truncated",
        ),
    ],
)
@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
def test_wrong_files_are_one_sentence(
    change: Change, sentence: str, packed: bool, known: TinyImageNet, source: Path
) -> None:
    """Which names the file and the line; nothing is stored, and what was stored stays."""
    prepare_tiny_imagenet(source, known)
    (data_root() / known.name / "classes.json").unlink()
    change(source / FOLDER)
    given = cs231n.pack(source) if packed else source
    root = given / FOLDER
    if packed and "has no wnids.txt" in sentence:
        sentence = "/wnids.txt does not exist; download"
    with pytest.raises(UserError) as caught:
        prepare_tiny_imagenet(given, known)
    assert sentence.replace("ROOT", str(root)).replace("SOURCE", str(given)) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert [path.name for path in data_root().iterdir()] == [known.name]
    assert load_tiny_imagenet(known).fingerprint == known.fingerprint


def test_damaged_archives_are_told(known: TinyImageNet, source: Path) -> None:
    """Cut, changed within, of another kind, or not there."""
    archive = cs231n.pack(source)
    whole = archive.read_bytes()
    archive.write_bytes(whole[:-200])
    with pytest.raises(UserError, match=r"-200\.zip is not a zip archive, or damaged \(.*; download .* again"):
        prepare_tiny_imagenet(archive, known)
    place = whole.index(FIRST.encode()) + 400
    archive.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    with pytest.raises(UserError, match=rf"/{FIRST} cannot be read \(.*; download .* again"):
        prepare_tiny_imagenet(archive, known)
    archive.write_text("<html>")
    with pytest.raises(UserError, match="is not a zip archive"):
        prepare_tiny_imagenet(archive, known)
    with pytest.raises(UserError, match=r"/none does not exist; give tiny-imagenet-200\.zip from http"):
        prepare_tiny_imagenet(source / "none", known)


def test_an_interrupt_leaves_nothing(known: TinyImageNet, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither while images are decoded, nor while arrays are written; what was there before stays."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare_tiny_imagenet(source, known, watch=interrupt)
    assert not data_root().exists()
    folder = prepare_tiny_imagenet(source, known).folder
    (folder / "train_boxes.npy").unlink()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr(store, "write_words", interrupt)
    with pytest.raises(KeyboardInterrupt):
        prepare_tiny_imagenet(source, known)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert list(data_root().iterdir()) == [folder]


def test_a_place_that_cannot_be_written_is_told_first(
    known: TinyImageNet, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is decoded; so is a full disk."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "file" / "data"))
    with pytest.raises(UserError, match=r"cannot write .*/file/data: Not a directory"):
        prepare_tiny_imagenet(source, known, watch=unwatched)
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    with pytest.raises(UserError, match=r"of disk space, but .* set RESLAB_DATA to another place"):
        plan_tiny_imagenet(source, replace(known, num_test=10**15))


@pytest.mark.parametrize("name", ["train_images", "train_labels", "test_boxes"])
def test_damage_on_disk_is_found(name: str, known: TinyImageNet, source: Path) -> None:
    """Absent, changed or cut arrays are named, with the command that mends them."""
    with pytest.raises(UserError, match=r"prepare it with `reslab data prepare tiny-imagenet SOURCE`"):
        load_tiny_imagenet(known)
    path = prepare_tiny_imagenet(source, known).folder / f"{name}.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(UserError, match=rf"{name}\.npy is not tiny-imagenet: .* prepare it again with"):
        load_tiny_imagenet(known)
    path.write_bytes(whole[:-1])
    with pytest.raises(UserError, match=rf"{name}\.npy is damaged; prepare it again with"):
        load_tiny_imagenet(known)


def test_a_fingerprint_of_its_own_is_needed(known: TinyImageNet, source: Path) -> None:
    """Where the stored one is gone, what it vouches for is not trusted."""
    path = prepare_tiny_imagenet(source, known).folder / "digests.json"
    digests = json.loads(path.read_text())
    del digests["fingerprint"]
    path.write_text(json.dumps(digests))
    with pytest.raises(UserError, match=r"digests\.json is damaged"):
        load_tiny_imagenet(known)


def test_it_is_two_hundred_classes() -> None:
    """In the order of their ids, which labels follow."""
    assert len(set(TINY_IMAGENET.class_names)) == 200
    assert list(TINY_IMAGENET.class_names) == sorted(TINY_IMAGENET.class_names)


@pytest.mark.data
@pytest.mark.skipif(not (data_root() / TINY_IMAGENET.name).is_dir(), reason="Tiny-ImageNet is not here")
def test_the_real_one_is_as_libjpeg_turbo_decodes_it() -> None:
    """500 training and 50 test images a class, each with a box."""
    dataset = load_dataset("tiny-imagenet")
    assert dataset.fingerprint == TINY_IMAGENET.fingerprint
    assert set(np.bincount(dataset.train.targets)) == {500}
    assert set(np.bincount(dataset.test.targets)) == {50}
    boxes = np.load(data_root() / "tiny-imagenet" / "train_boxes.npy")
    assert boxes.shape == (100_000, 4) and boxes[0].tolist() == [0, 10, 63, 58]
    assert dataset.words["n01443537"].startswith("goldfish")
