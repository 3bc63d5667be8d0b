"""Foreign files are data, never programs."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
import torch
import torchvision

from reslab.errors import UserError
from reslab.networks.weights.container import read_tensors


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
    with pytest.raises(UserError, match=r"hostile\.pth (is refused|is not a weight file)"):
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
    with pytest.raises(UserError, match=r"x\.pth is not a weight file, or a damaged one"):
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
        with pytest.raises(UserError, match="holds no state dict"):
            read_tensors(tmp_path / "x.pth")
