"""Any weight file is recognized, read and fitted; what would run code is not."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
import torch
import torchvision
from safetensors.torch import save_file

from reslab.errors import UserError
from reslab.networks import create_model, foreign_state_dict, load_model, read_weights
from reslab.networks.weights.reading import load_tensors, read_tensors


def test_a_mismatch_lists_missing_unexpected_and_misshapen() -> None:
    """All three kinds in one sentence, the long lists cut."""
    network = create_model("cifar-resnet-8")
    tensors = dict(network.state_dict())
    del tensors["classifier.bias"]
    tensors["extra"] = torch.zeros(1)
    tensors["stem.conv.weight"] = torch.zeros(16, 1, 3, 3)
    with pytest.raises(UserError) as caught:
        load_tensors(network, tensors, origin="x.pth")
    sentence = str(caught.value)
    assert sentence.startswith("x.pth does not fit the network")
    assert "missing: classifier.bias" in sentence
    assert "unexpected: extra" in sentence
    assert "of the wrong shape: stem.conv.weight (16, 1, 3, 3) instead of (16, 3, 3, 3)" in sentence
    with pytest.raises(UserError, match="more"):
        load_tensors(network, {}, origin="x.pth")


def test_nothing_is_loaded_from_a_misfit() -> None:
    """A refused file leaves the network as it was."""
    network = create_model("cifar-resnet-8")
    before = network.get_parameter("stem.conv.weight").clone()
    with pytest.raises(UserError):
        load_tensors(network, {"stem.conv.weight": torch.zeros_like(before)}, origin="x.pth")
    assert torch.equal(network.get_parameter("stem.conv.weight"), before)


def test_unknown_names_are_shown(tmp_path: Path) -> None:
    """A state dict of nobody we know shows its first names."""
    torch.save({"encoder.weight": torch.zeros(1)}, tmp_path / "x.pth")
    with pytest.raises(UserError, match=r"unknown tensor names \(encoder.weight"):
        read_weights(tmp_path / "x.pth")


def test_a_foreign_file_with_a_stray_tensor_is_refused(tmp_path: Path) -> None:
    """Adapters are strict: one more tensor is one too many, one less too few."""
    state = foreign_state_dict(create_model("resnet-20", zero_padding="both"), "akamaster")
    torch.save(state | {"layer1.0.extra.weight": torch.zeros(1)}, tmp_path / "x.th")
    with pytest.raises(UserError, match=r"unexpected: layer1\.0\.extra\.weight"):
        load_model(tmp_path / "x.th")
    del state["bn1.weight"]
    torch.save(state, tmp_path / "x.th")
    with pytest.raises(UserError, match=r"missing: stem\.norm\.weight"):
        load_model(tmp_path / "x.th")


@pytest.mark.parametrize("word", ["cifar", "CIFAR10", ""])
def test_weights_of_another_name_are_told_the_names(word: str) -> None:
    """What is no path is looked for among those that come along."""
    with pytest.raises(
        UserError, match=f"there are no weights '{word}'; give the path of a file, or cifar10, imagenet or t"
    ):
        read_weights(word)


class Hostile:
    """Runs a command when unpickled."""

    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self):
        return os.system, (f"touch {self.witness}",)


@pytest.mark.parametrize("form", ["nested", "bare", "legacy", "pickle"])
def test_a_file_that_runs_code_is_refused(form: str, tmp_path: Path) -> None:
    """The witness file is never made, and the sentence names what was asked for."""
    witness, path = tmp_path / "witness", tmp_path / "hostile.pth"
    if form == "pickle":
        path.write_bytes(pickle.dumps(Hostile(witness)))
    else:
        data = {"state_dict": Hostile(witness)} if form == "nested" else Hostile(witness)
        torch.save(data, path, _use_new_zipfile_serialization=form != "legacy")
    with pytest.raises(UserError, match=r"hostile\.pth (is refused|is damaged or not a weight file)"):
        read_tensors(path)
    assert not witness.exists()


def test_a_whole_module_is_refused(tmp_path: Path) -> None:
    """A pickled model needs its classes: that is code."""
    torch.save(torchvision.models.resnet18(), tmp_path / "module.pth")
    with pytest.raises(UserError, match=r"would run code \(torchvision"):
        read_tensors(tmp_path / "module.pth")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"hello, world, this is no weight file", "not a weight file"),
        (b"PK\x03\x04" + b"\0" * 100, "not a weight file"),
        (b"\xff" * 8 + b"{" + b"x" * 50, "damaged or truncated"),
    ],
)
def test_other_files_are_told(content: bytes, sentence: str, tmp_path: Path) -> None:
    """Empty, text, broken zip, absurd header."""
    (tmp_path / "x.pth").write_bytes(content)
    with pytest.raises(UserError, match=sentence):
        read_tensors(tmp_path / "x.pth")


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_pickle_of_something_else_is_told(protocol: int, tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """Without torch's warning about its protocol; one that would run code is refused as that."""
    path = tmp_path / "x.pth"
    path.write_bytes(pickle.dumps({"a": [1, 2.5]}, protocol=protocol))
    with pytest.raises(UserError, match=r"x\.pth is a pickle that holds no tensors; save .* with torch\.save"):
        read_tensors(path)
    path.write_bytes(pickle.dumps(Hostile(tmp_path / "witness"), protocol=protocol))
    with pytest.raises(UserError, match=r"x\.pth is refused: loading it would run code"):
        read_tensors(path)
    path.write_bytes(pickle.dumps({"a": [1, 2.5]}, protocol=protocol)[:-3])
    with pytest.raises(UserError, match=r"x\.pth is damaged or not a weight file"):
        read_tensors(path)
    assert not (tmp_path / "witness").exists()
    assert not recwarn.list


def test_missing_files_and_folders_are_told(tmp_path: Path) -> None:
    """Neither gives a traceback."""
    with pytest.raises(UserError, match="there is no weight file"):
        read_tensors(tmp_path / "nothing.pth")
    with pytest.raises(UserError, match="cannot read"):
        read_tensors(tmp_path)


def test_truncated_torch_files_are_told(tmp_path: Path) -> None:
    """Cut anywhere, a torch.save file is refused."""
    path = tmp_path / "x.pth"
    torch.save({"a": torch.randn(100, 100)}, path)
    content = path.read_bytes()
    for part in range(1, 10):
        path.write_bytes(content[: len(content) * part // 10])
        with pytest.raises(UserError):
            read_tensors(path)


@pytest.mark.parametrize("legacy", [False, True])
def test_content_decides_and_not_the_ending(legacy: bool, tmp_path: Path) -> None:
    """A torch.save file that is named .safetensors is read as what it is, and never runs code; so is the reverse."""
    tensors, path = {"stem.conv.weight": torch.randn(2, 3)}, tmp_path / "x.safetensors"
    torch.save(tensors, path, _use_new_zipfile_serialization=not legacy)
    assert torch.equal(read_tensors(path)[0]["stem.conv.weight"], tensors["stem.conv.weight"])
    torch.save({"stem.conv.weight": Path}, path, _use_new_zipfile_serialization=not legacy)
    with pytest.raises(UserError, match="is refused: loading it would run code"):
        read_tensors(path)
    save_file(tensors, path.with_suffix(".pth"))
    assert torch.equal(read_tensors(path.with_suffix(".pth"))[0]["stem.conv.weight"], tensors["stem.conv.weight"])


def test_state_dicts_are_found(tmp_path: Path) -> None:
    """Under its usual names, behind wrappers' prefixes; a list of tensors is none."""
    tensor = torch.ones(2)
    for data in (
        {"a": tensor},
        {"state_dict": {"module.a": tensor}},
        {"model": {"_orig_mod.module.a": tensor}, "epoch": 3},
        {"model": {"state_dict": {"a": tensor}}},
        {"state_dict_ema": {"model.a": tensor}},
        {"module.a": tensor, "n_averaged": torch.tensor(3)},
    ):
        torch.save(data, tmp_path / "x.pth")
        assert list(read_tensors(tmp_path / "x.pth")[0]) == ["a"]
    for data in ([tensor], {"epoch": 3}, {}):
        torch.save(data, tmp_path / "x.pth")
        with pytest.raises(UserError, match="has no state dict"):
            read_tensors(tmp_path / "x.pth")
