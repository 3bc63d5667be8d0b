"""Our own files: everything inside, and damage never accepted."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from reslab.errors import UserError
from reslab.networks import create_model, load_model, read_weights, save_model
from reslab.networks.weights.file import MEAN_IMAGE, Weights, write_weights
from reslab.networks.weights.reading import read_tensors
from reslab.runtime.sealed import unseal, write_sealed
from reslab.spec import Preprocess, find
from reslab.spec.codec import encode
from reslab.spec.preprocess import PER_PIXEL_MEAN
from reslab.spec.task import CLASSIFICATION, MultiLabel


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small network with everything a file can carry."""
    network = create_model("cifar-resnet-8", shortcut="B", num_classes=3)
    network.preprocess = Preprocess(mean=(0.1, 0.2, 0.3), std=(1.0, 1.0, 2.0))
    network.class_names = ("ant", "bee", "Käfer")
    folder = tmp_path_factory.mktemp("weights")
    return save_model(network, folder, metrics={"error_percent": 8.75}, provenance={"seed": 1, "commit": "abc"})


def test_loading_rebuilds_from_the_file_alone(saved: Path) -> None:
    """Spec, classes, preprocessing, metrics and provenance come back."""
    weights = read_weights(saved)
    assert weights.metrics == {"error_percent": 8.75}
    assert weights.provenance == {"seed": 1, "commit": "abc"}
    network = load_model(saved)
    assert network.spec == find("cifar-resnet-8", {"shortcut": "B", "classes": 3})
    assert network.class_names == ("ant", "bee", "Käfer")
    assert network.preprocess == Preprocess(mean=(0.1, 0.2, 0.3), std=(1.0, 1.0, 2.0))
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, weights.tensors[name])


def test_what_the_logits_mean_travels_along(saved: Path, tmp_path: Path) -> None:
    """One class, as files always said by saying nothing, or several labels; a fresh classifier means the usual."""
    network = load_model(saved)
    assert network.task == CLASSIFICATION
    network.task = MultiLabel()
    path = save_model(network, tmp_path / "several.safetensors")
    assert load_model(path).task == MultiLabel()
    assert create_model("cifar-resnet-8", path, num_classes=5, shortcut="B").task == CLASSIFICATION


def test_the_words_of_classes_travel_along(saved: Path, tmp_path: Path) -> None:
    """A file without says nothing of them; another classifier has other classes."""
    network = load_model(saved)
    assert (network.class_words, "class_words" in unseal(saved, *read_tensors(saved))) == ({}, False)
    network.class_words = {"ant": "six legs, no wings"}
    path = save_model(network, tmp_path / "told.safetensors")
    assert load_model(path).class_words == {"ant": "six legs, no wings"}
    assert create_model("cifar-resnet-8", path, num_classes=5, shortcut="B").class_words == {}


def test_the_name_carries_the_digest(saved: Path, tmp_path: Path) -> None:
    """A file saved into a folder ends in eight digits; a file renamed to other digits is refused."""
    assert re.fullmatch(r"cifar-resnet-8-shortcut-b-classes-3-[0-9a-f]{8}\.safetensors", saved.name)
    other = tmp_path / f"{saved.stem[:-8]}00000000.safetensors"
    other.write_bytes(saved.read_bytes())
    with pytest.raises(UserError, match="does not match its name"):
        load_model(other)
    dated = tmp_path / "mine-20261115.safetensors"
    dated.write_bytes(saved.read_bytes())
    assert load_model(dated).spec.classes == 3


def test_an_explicit_name_is_kept(saved: Path, tmp_path: Path) -> None:
    """A path that ends in .safetensors is written as it is."""
    path = save_model(load_model(saved), tmp_path / "mine.safetensors")
    assert path == tmp_path / "mine.safetensors"
    assert load_model(path).class_names == ("ant", "bee", "Käfer")


def test_saving_is_reproducible(saved: Path, tmp_path: Path) -> None:
    """The same weights have the same name and bytes."""
    weights = read_weights(saved)
    again = write_weights(weights, tmp_path)
    assert again.name == saved.name
    assert again.read_bytes() == saved.read_bytes()


def test_no_flipped_bit_is_accepted(saved: Path, tmp_path: Path) -> None:
    """Two hundred single-bit flips, in header and tensors: each is refused with the file's name."""
    content = saved.read_bytes()
    header = int.from_bytes(content[:8], "little") + 8
    chance = random.Random(1)
    places = [chance.randrange(header * 8) for _ in range(100)]
    places += [chance.randrange(header * 8, len(content) * 8) for _ in range(100)]
    damaged = tmp_path / "damaged.safetensors"
    for place in places:
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        damaged.write_bytes(flipped)
        with pytest.raises(UserError, match=r"damaged\.safetensors"):
            load_model(damaged)


def test_no_truncation_is_accepted(saved: Path, tmp_path: Path) -> None:
    """Twenty truncations, the empty file included, and one with more behind it."""
    content = saved.read_bytes()
    damaged = tmp_path / "damaged.safetensors"
    for part in range(20):
        damaged.write_bytes(content[: len(content) * part // 20])
        with pytest.raises(UserError, match=r"damaged\.safetensors"):
            load_model(damaged)
    damaged.write_bytes(content + b"more")
    with pytest.raises(UserError, match=r"damaged\.safetensors"):
        load_model(damaged)


def test_a_newer_format_says_so(saved: Path, tmp_path: Path) -> None:
    """A file of a later version asks for an update."""
    write_sealed(tmp_path / "newer.safetensors", read_weights(saved).tensors, {"format": 9})
    with pytest.raises(UserError, match="update reslab"):
        load_model(tmp_path / "newer.safetensors")


def test_layout_and_precision_survive(tmp_path: Path) -> None:
    """Channels-last and bfloat16 weights are written as the same numbers."""
    network = create_model("cifar-resnet-8").to(dtype=torch.bfloat16, memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
    weights = Weights(spec=network.spec, tensors=network.state_dict())
    back = read_weights(write_weights(weights, tmp_path)).tensors
    for name, tensor in network.state_dict().items():
        assert back[name].dtype == tensor.dtype
        assert torch.equal(back[name], tensor)


def test_what_goes_along_may_be_anything_plain(tmp_path: Path) -> None:
    """Numbers of numpy and torch, paths and whole-number keys come back as JSON has them."""
    network = create_model("cifar-resnet-8")
    metrics = {"error": np.float32(0.5), "loss": torch.tensor(2.0)}
    provenance = {"rates": {9000: 0.1, 32000: 0.01}, "path": tmp_path}
    weights = read_weights(save_model(network, tmp_path, metrics=metrics, provenance=provenance))  # pyright: ignore[reportArgumentType]
    assert weights.metrics == {"error": 0.5, "loss": 2.0}
    assert weights.provenance == {"rates": {"9000": 0.1, "32000": 0.01}, "path": str(tmp_path)}


@pytest.mark.parametrize(
    "change",
    [
        {"spec": None},
        {"spec": "resnet-20"},
        {"spec": {"kind": []}},
        {"spec": {"kind": "residual", "classes": 10**30}},
        {"preprocess": [1]},
        {"class_names": 5},
        {"class_names": ["one"]},
        {"class_words": ["six legs"]},
        {"class_words": {"ant": 6}},
        {"metrics": 3},
    ],
    ids=str,
)
def test_sealed_nonsense_is_refused(change: dict[str, object], saved: Path, tmp_path: Path) -> None:
    """A file whose digest is right and whose content is not says so, with its name."""
    tensors, metadata = read_tensors(saved)
    about = unseal(saved, tensors, metadata)
    del about["digest"]
    write_sealed(tmp_path / "odd.safetensors", tensors, about | change)
    with pytest.raises(UserError, match=r"odd\.safetensors"):
        load_model(tmp_path / "odd.safetensors")


def test_a_foreign_ending_is_refused(saved: Path, tmp_path: Path) -> None:
    """Nobody gets a folder called model.pt."""
    with pytest.raises(UserError, match=r"name it model\.safetensors"):
        save_model(load_model(saved), tmp_path / "model.pt")
    assert not list(tmp_path.iterdir())


def test_a_mean_image_travels_beside_the_weights(tmp_path: Path) -> None:
    """Not in the state dict, but in the file, through every way of loading; another classifier keeps it."""
    network = create_model("cifar-resnet-8", num_classes=3)
    network.preprocess, network.mean_image = PER_PIXEL_MEAN, torch.rand(3, 32, 32)
    path = save_model(network, tmp_path)
    assert MEAN_IMAGE not in read_weights(path).tensors
    for back in (
        load_model(path),
        create_model("cifar-resnet-8", weights=path),
        create_model("cifar-resnet-8", weights=path, num_classes=5),
    ):
        assert back.preprocess == PER_PIXEL_MEAN
        assert back.mean_image is not None
        assert torch.equal(back.mean_image, network.mean_image)
        assert back.state_dict().keys() == network.state_dict().keys()
    assert write_weights(read_weights(path), tmp_path / "again").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("preprocess", "image", "sentence"),
    [
        (PER_PIXEL_MEAN, None, "there is no mean image"),
        (None, torch.zeros(3, 32, 32), "does not subtract it"),
        (Preprocess(), torch.zeros(3, 32, 32), "does not subtract it"),
        (PER_PIXEL_MEAN, torch.zeros(1, 32, 32), r"the mean image has shape \(1, 32, 32\)"),
        (PER_PIXEL_MEAN, torch.zeros(3), r"the mean image has shape \(3,\)"),
        (PER_PIXEL_MEAN, torch.zeros(3, 0, 32), "the mean image has shape"),
        (PER_PIXEL_MEAN, torch.full((3, 32, 32), torch.nan), "not finite numbers"),
        (PER_PIXEL_MEAN, torch.zeros(3, 32, 32, dtype=torch.long), "not finite numbers"),
    ],
)
def test_preprocessing_and_mean_image_agree(
    preprocess: Preprocess | None, image: torch.Tensor | None, sentence: str, tmp_path: Path
) -> None:
    """What does not is neither written nor, once in a file, read."""
    network = create_model("cifar-resnet-8")
    network.preprocess, network.mean_image = preprocess, image
    with pytest.raises(UserError, match=sentence):
        save_model(network, tmp_path)
    assert not list(tmp_path.iterdir())
    network.preprocess = network.mean_image = None
    good = save_model(network, tmp_path)
    tensors, metadata = read_tensors(good)
    about = unseal(good, tensors, metadata) | {"preprocess": encode(preprocess)}
    del about["digest"]
    write_sealed(tmp_path / "odd.safetensors", tensors | ({} if image is None else {MEAN_IMAGE: image}), about)
    with pytest.raises(UserError, match=rf"odd\.safetensors.*{sentence}"):
        load_model(tmp_path / "odd.safetensors")


def test_older_files_know_of_no_mean_image(saved: Path, tmp_path: Path) -> None:
    """They load, and subtract the channel means they name."""
    tensors, metadata = read_tensors(saved)
    about = unseal(saved, tensors, metadata)
    del about["digest"], about["preprocess"]["per_pixel_mean"]
    write_sealed(tmp_path / "old.safetensors", tensors, about)
    network = load_model(tmp_path / "old.safetensors")
    assert network.preprocess == Preprocess(mean=(0.1, 0.2, 0.3), std=(1.0, 1.0, 2.0))
    assert network.mean_image is None


@pytest.mark.parametrize("fields", [{"shortcut": "C"}, {"dropout": 0.3}], ids=str)
def test_older_files_mean_the_first_preactivation(fields: dict[str, object], tmp_path: Path) -> None:
    """They say nothing of revisions, and compute what they did, however they are asked for."""
    network = create_model("cifar-resnet-14", order="pre", pre_revision=1, **fields)
    path = save_model(network, tmp_path / "new.safetensors")
    tensors, metadata = read_tensors(path)
    about = unseal(path, tensors, metadata)
    assert about["spec"].pop("pre_revision") == 1
    del about["digest"]
    write_sealed(tmp_path / "old.safetensors", tensors, about)
    images = torch.randn(4, 3, 32, 32)
    torch.manual_seed(1)
    expected = network(images)
    for again in (
        load_model(tmp_path / "old.safetensors"),
        create_model("cifar-resnet-14", tmp_path / "old.safetensors", order="pre", **fields),
    ):
        assert again.spec == network.spec
        torch.manual_seed(1)
        assert torch.equal(again(images), expected)
