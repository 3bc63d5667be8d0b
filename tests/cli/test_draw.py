"""`reslab draw`."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path


def test_pictures_are_written_where_asked(reslab, tmp_path: Path) -> None:
    """One picture of the networks side by side, one of each one's blocks."""
    outcome = reslab("draw", "vgg-19", "plain-34", "resnet-34", "--out", str(tmp_path / "new"))
    assert outcome.code == 0
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == ["plain-34-blocks.svg", "resnet-34-blocks.svg", "vgg-19-plain-34-resnet-34.svg"]
    for path in (tmp_path / "new").iterdir():
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
        assert path.name in outcome.out.replace("\n", "")


def test_fields_show_in_the_picture(reslab, tmp_path: Path) -> None:
    """What the shortcut does is written in it."""
    reslab("draw", "resnet-18", "shortcut=B", "--out", str(tmp_path))
    assert "projection" in (tmp_path / "resnet-18-shortcut-b.svg").read_text()


def test_a_subject_is_needed(reslab) -> None:
    """No name, no picture."""
    outcome = reslab("draw")
    assert outcome.code == 2
    assert "needs a network's name" in outcome.err
