"""Annotations in XML: pixels become edges, and nothing in a file can do harm."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.objects import Scene, write_xml

from reslab.data.objects import xml_files
from reslab.data.objects.annotations import Thing, Trouble
from reslab.data.objects.xml_files import read_xml, write_pixels
from reslab.spec.boxes import DIFFICULT

BOX = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4.5</ymax></bndbox>"
BOMB = """<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>
<annotation><object><name>&b;</name></object></annotation>"""


def write(path: Path, inside: str) -> Path:
    path.write_text(f"<annotation>{inside}</annotation>")
    return path


def test_pixels_become_edges(tmp_path: Path) -> None:
    """The first of an image, counted as 1, reaches from 0 to 1; what the file says is said again."""
    write_xml(tmp_path / "a.xml", Scene("a", (60, 45), (("bar", 0, 3, 1, 45),)))
    (thing,), size = read_xml(tmp_path / "a.xml")
    assert (thing, size) == (Thing("bar", 0, 3, 1, 45, 1), (60, 45))
    assert write_pixels(thing, (60, 45)) == "object 1 (bar): xmin 1, ymin 4, xmax 1, ymax 45"


def test_marks_parts_and_sizes(tmp_path: Path) -> None:
    """Difficult objects are marked, truncated ones ordinary; parts are no objects; a size of 0 is none."""
    part = f"<part><name>head</name>{BOX}</part>"
    objects = f"<object><name> hen </name><difficult>1</difficult>{part}{BOX}</object>"
    objects += f"<object><name>ox</name><truncated>1</truncated>{BOX}</object>"
    empty = "<size><width>0</width><height>0</height></size>"
    things, size = read_xml(write(tmp_path / "a.xml", empty + objects))
    assert things == (Thing("hen", 0, 1, 3, 4.5, 1, DIFFICULT), Thing("ox", 0, 1, 3, 4.5, 2))
    assert size is None
    assert read_xml(write(tmp_path / "b.xml", "")) == ((), None)


@pytest.mark.parametrize(
    ("inside", "told"),
    [
        (f"<object>{BOX}</object>", "object 1 has no <name>"),
        ("<object><name>ox</name></object>", r"object 1 \(ox\) has no <bndbox>"),
        (f"<object><name>ox</name>{BOX.replace('xmax', 'x')}</object>", "has no <xmax>"),
        (f"<object><name>ox</name>{BOX.replace('4.5', 'four')}</object>", "ymax is 'four'; write a number"),
        ("<size><width>60</width></size>", "size has no <height>"),
        ("<size><width>nan</width><height>3</height></size>", "size is nan x 3"),
        ("<object>", "is not XML that can be read"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, inside: str, told: str) -> None:
    """With the object and the tag."""
    with pytest.raises(Trouble, match=told):
        read_xml(write(tmp_path / "a.xml", inside))


def test_files_that_could_do_harm_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entities that grow, those of other files, and more than a megabyte; what is no annotation, or nothing at all."""
    for content, told in (
        (BOMB, "declares a document type"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><annotation/>', "declares a document type"),
        ("<html/>", "begins with <html>"),
        ("", "is not XML"),
    ):
        (tmp_path / "a.xml").write_text(content)
        with pytest.raises(Trouble, match=told):
            read_xml(tmp_path / "a.xml")
    monkeypatch.setattr(xml_files, "MOST_BYTES", 20)
    with pytest.raises(Trouble, match="are more than"):
        read_xml(write(tmp_path / "a.xml", BOX))
