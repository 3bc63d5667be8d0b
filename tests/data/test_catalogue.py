"""Datasets by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from PIL import Image
from tests.data.arrays import cs231n

from reslab.data.arrays.fetch import fetch
from reslab.data.arrays.sources import PUBLISHED, Published
from reslab.data.arrays.tiny_imagenet import load_tiny_imagenet, prepare_tiny_imagenet
from reslab.data.catalogue import KNOWN, LOADERS, load_dataset, open_data
from reslab.data.photos.folder import PhotoDataset
from reslab.errors import UserError
from reslab.runtime.listener import Listener
from reslab.spec.recipe import RECIPES


def test_unknown_datasets_are_told() -> None:
    """With the nearest name."""
    with pytest.raises(UserError, match="did you mean 'cifar10'"):
        load_dataset("cifar1")


def test_every_dataset_has_a_recipe(publish: Callable[[str], Published], tmp_path: Path, monkeypatch) -> None:
    """One that exists; house numbers are not flipped."""
    for name in PUBLISHED:
        fetch(publish(name))
    known, _ = cs231n.publish(tmp_path)
    prepare_tiny_imagenet(tmp_path, known)
    monkeypatch.setitem(LOADERS, known.name, partial(load_tiny_imagenet, known))
    usual = {name: load_dataset(name).usual_recipe for name in LOADERS}
    assert usual == {
        "digits": "digits",
        "cifar10": "cifar-paper",
        "cifar100": "cifar-paper",
        "svhn": "svhn",
        "fashion-mnist": "cifar-paper",
        "tiny-imagenet": "cifar-paper",
    }
    assert {name: usual[name] for name in KNOWN} == {name: known.recipe for name, known in KNOWN.items()}
    assert set(usual.values()) <= RECIPES.keys()
    assert RECIPES[usual["svhn"]].augmentation.flip is False


def test_names_come_before_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A known name is that dataset; `./digits` is a folder; anything else is told, with what is near."""
    monkeypatch.chdir(tmp_path)
    for number in range(4):
        folder = tmp_path / "digits" / f"class{number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4)).save(folder / f"{number}.png")
    told: list[str] = []
    assert not isinstance(open_data("digits", listener=Listener(warn=told.append)), PhotoDataset)
    assert told == ["'digits' means the dataset, not the folder digits here; write ./digits to use the folder"]
    folder = open_data("./digits")
    assert isinstance(folder, PhotoDataset)
    assert folder.class_names == ("class0", "class1")
    with pytest.raises(
        UserError, match=r"'digit' is neither a dataset nor a folder of photographs; did you mean 'digits'\?"
    ):
        open_data("digit")
    (tmp_path / "photos").mkdir()
    with pytest.raises(UserError, match=r"did you mean 'photos'\?"):
        open_data("phots")
    with pytest.raises(UserError, match=r"choose digits, .*, or give a folder of photographs"):
        open_data("photographs/of/mine")
    with pytest.raises(UserError, match=r"but a network; write network=resnet-18"):
        open_data("resnet-18")
    with pytest.raises(UserError, match=r"but a file; give the folder that contains it"):
        open_data("digits/class0/0.png")


def test_fetched_data_is_no_folder_beside_it(publish: Callable[[str], Published], monkeypatch) -> None:
    """Where the data root is the working directory, nothing is hidden by the name."""
    told: list[str] = []
    monkeypatch.chdir(fetch(publish("cifar10")).parent)
    open_data("cifar10", listener=Listener(warn=told.append))
    assert not told
