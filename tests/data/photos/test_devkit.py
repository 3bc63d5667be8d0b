"""The development kit is read packed and unpacked, and its leaves are the classes."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from tests.data.photos.ilsvrc import TRUTH, WORDS, publish, unpack

from reslab.data.photos.devkit import read_devkit
from reslab.errors import UserError


def test_words_and_truth(tmp_path: Path) -> None:
    """Synsets with children are none of the classes; numbers of the truth begin with 1."""
    kit = read_devkit(publish(tmp_path))
    assert kit is not None
    assert kit.words == WORDS
    assert kit.truth == tuple(list(WORDS)[number - 1] for number in TRUTH)
    unpack(tmp_path / "ILSVRC2012_devkit_t12.tar.gz", tmp_path / "elsewhere")
    assert read_devkit(tmp_path / "elsewhere") == kit
    assert read_devkit(tmp_path / "nowhere") is None


@pytest.mark.parametrize("content", [b"", b"nonsense" * 100])
def test_a_damaged_kit_is_named(content: bytes, tmp_path: Path) -> None:
    """Cut short, or something else."""
    (tmp_path / "ILSVRC2012_devkit_t12.tar.gz").write_bytes(content)
    with pytest.raises(
        UserError, match=r"devkit_t12\.tar\.gz is not a development kit that can be read .*fetch it again"
    ):
        read_devkit(tmp_path)


def test_a_kit_cut_short_or_without_its_files_is_named(tmp_path: Path) -> None:
    """Whatever is missing of it."""
    path = publish(tmp_path) / "ILSVRC2012_devkit_t12.tar.gz"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(UserError, match="fetch it again"):
        read_devkit(tmp_path)
    with tarfile.open(path, "w:gz"):
        pass
    with pytest.raises(UserError, match=r"meta\.mat.*fetch it again"):
        read_devkit(tmp_path)
