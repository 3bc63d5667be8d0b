"""What classes are called in words, in a file beside the images."""

from __future__ import annotations

from pathlib import Path

import pytest

from reslab.data.words import read_words, write_words
from reslab.errors import UserError


def test_words_come_back(tmp_path: Path) -> None:
    """Two classes may share them; a dataset may have none."""
    assert read_words(tmp_path) == {}
    words = {"n03126707": "crane", "n02012849": "crane", "n07930864": "crème"}
    write_words(tmp_path, words)
    assert read_words(tmp_path) == words


@pytest.mark.parametrize("text", ["", "[1]", '{"a": 1}', "{"])
def test_another_file_is_named(text: str, tmp_path: Path) -> None:
    """With the remedy."""
    (tmp_path / "classes.json").write_text(text)
    with pytest.raises(UserError, match=r"classes\.json .*; correct it or remove it"):
        read_words(tmp_path)
