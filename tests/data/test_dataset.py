"""Every kind of data keeps the contracts of `Dataset` and `Split`, so that nobody need ask which kind it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from tests.multilabel import make_labelled
from tests.objects import make_scenes, write_coco
from tests.photographs import make_photos
from tests.trials import DIGITS, make_digits_trial, make_photo_trial

from reslab.data.dataset import Dataset, Split, count_held_back
from reslab.data.objects.dataset import read_objects
from reslab.data.photos.reader import read_photos
from reslab.data.photos.shard_writer import write_shards
from reslab.experiments.trials import read_trial
from reslab.runs.provenance import PACKAGES
from reslab.spec.boxes import ABSENT, CLASS, FRAME
from reslab.spec.recipe import RECIPES
from reslab.spec.task_spec import Target
from reslab.spec.trial import DataSpec, Trial

KINDS = ("arrays", "folder", "shards", "list", "objects")


@pytest.fixture(params=KINDS)
def dataset(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """One of each kind there is."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "root"))
    if request.param == "arrays":
        return replace(DIGITS, train=DIGITS.train.take(slice(20)), test=DIGITS.test.take(slice(6)))
    if request.param == "list":
        return read_photos(make_labelled(tmp_path / "list", count=20))
    if request.param == "objects":
        return read_objects(write_coco(tmp_path / "objects", train=make_scenes("a", 20), val=make_scenes("b", 4)))
    folder = make_photos(tmp_path / "photos")
    if request.param == "shards":
        write_shards(folder, tmp_path / "shards", size=10_000)
        folder = tmp_path / "shards"
    return read_photos(folder)


def make_trial(dataset: Dataset) -> Trial:
    if dataset.target == "boxes":
        return read_trial({"network": "resnet-18"}, dataset)
    return make_photo_trial(dataset) if dataset.has_files else make_digits_trial()


def members(contract: type) -> set[str]:
    """Return what a contract names, and Python does not."""
    names = {*vars(contract), *contract.__annotations__}
    return {name for name in names if not name.startswith("_")} | ({"__len__"} & names)


def test_all_that_is_named_is_there(dataset: Dataset) -> None:
    """Of a dataset and of its splits, with values of the contract's kinds."""
    assert all(hasattr(dataset, name) for name in members(Dataset))
    assert all(hasattr(split, name) for split in (dataset.train, dataset.test) for name in members(Split))
    assert dataset.target in get_args(Target)
    assert dataset.usual_recipe in RECIPES
    assert (dataset.root is not None) == dataset.has_files == (dataset.side is None)
    assert isinstance(dataset.read_words(), Mapping)
    assert len(dataset.fingerprint) == 64


def test_a_split_gives_its_images_one_by_one_and_in_parts(dataset: Dataset) -> None:
    """Bytes, channels first, of their own size where they share none; parts have the same images and targets."""
    split = dataset.train
    assert len(split) == len(split.targets) == len(split.identities())
    assert len({split.name(index) for index in range(len(split))}) == len(split)
    image, block = split.read(3), split.block(slice(2, 5))
    assert (image.dtype, len(image), image.dim()) == (torch.uint8, dataset.channels, 3)
    assert (block is None) == (dataset.side is None)
    if block is not None:
        assert torch.equal(block, torch.stack([split.read(index) for index in range(2, 5)]))
    chosen = np.array([7, 3, 0])
    for part, indices in ((split.take(chosen), chosen), (split.take(slice(2, 9, 3)), np.array([2, 5, 8]))):
        assert np.array_equal(part.targets, split.targets[indices])
        assert np.array_equal(part.identities(), split.identities()[indices])
        assert all(torch.equal(part.read(n), split.read(index)) for n, index in enumerate(indices.tolist()))
    digests = split.digests()
    assert digests is None or len(digests) == len(split)


def test_targets_are_what_the_dataset_says_they_are(dataset: Dataset) -> None:
    """A class's number, a row with a label for every class, or a frame and then as many objects as there are."""
    for split in dataset.divide("full"):
        if dataset.target == "boxes":
            classes = np.asarray(split.targets)[..., CLASS]
            assert (classes[:, 0] == FRAME).all()
            assert {*np.unique(classes[:, 1:])} <= {ABSENT, *range(len(dataset.class_names))}
            continue
        shape = (len(split), len(dataset.class_names))
        assert split.targets.shape == (shape[:1] if dataset.target == "class" else shape)
        assert 0 <= split.targets.min() <= split.targets.max() < len(dataset.class_names)


def test_what_was_trained_on_is_found_again(dataset: Dataset) -> None:
    """By the fingerprint of then; of other data nothing is."""
    before = DataSpec(name=dataset.name, fingerprint=dataset.fingerprint)
    found = dataset.find_trained(before)
    assert found is not None and np.array_equal(found.identities(), dataset.train.identities())
    assert dataset.find_trained(replace(before, fingerprint="other")) is None


def test_what_earlier_versions_made_of_it_is_the_same_or_told(dataset: Dataset) -> None:
    """A list whose images were held out by another rule is; where nothing could differ there is nothing."""
    assert bool(list(dataset.read_before(held_out_seed=0))) == dataset.held_out


def test_a_trial_on_it_is_one_it_takes(dataset: Dataset) -> None:
    """Its packages are among those that runs record; only what is resident takes memory."""
    trial = make_trial(dataset)
    dataset.refuse_trial(trial)
    assert set(dataset.list_packages(trial)) <= set(PACKAGES)
    assert dataset.count_bytes(trial, device="cpu") == 0


def test_a_tenth_is_held_back_for_tuning() -> None:
    """Rounded down; of a full split nothing."""
    sized: Any = range(25)
    assert (count_held_back(sized, "tuning"), count_held_back(sized, "full")) == (2, 0)
