"""An annotation in XML, as Pascal VOC and ImageNet's detection have it: one file an image.

The files come from anywhere, so they are read strictly: no document type, hence no entities, and a megabyte at most.
VOC counts pixels from 1 and means the last one too, so a box from 1 to 1 reaches from edge 0 to edge 1.
"""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from reslab.data.objects.annotations import Thing, Trouble, refuse_large
from reslab.spec.boxes import DIFFICULT, PLAIN

MOST_BYTES = 2**20
SIDES = ("xmin", "ymin", "xmax", "ymax")


def read_xml(path: Path) -> tuple[tuple[Thing, ...], tuple[int, int] | None]:
    """Return the objects of an annotation, and the size of its image; what cannot be read is a `Trouble`."""
    tree = _parse(path)
    things = tuple(_read_thing(each, number) for number, each in enumerate(tree.findall("object"), start=1))
    return things, _read_size(tree)


def write_pixels(thing: Thing, size: tuple[int, int]) -> str:
    """Say of an object what its annotation says."""
    values = (thing.left + 1, thing.top + 1, thing.right, thing.bottom)
    box = ", ".join(f"{name} {value:g}" for name, value in zip(SIDES, values, strict=True))
    return f"object {thing.number} ({thing.name}): {box}"


def _parse(path: Path) -> ElementTree.Element:
    refuse_large(path, MOST_BYTES)
    parser, builder = expat.ParserCreate(), ElementTree.TreeBuilder()
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = _refuse_document_type
    try:
        parser.Parse(path.read_bytes(), True)
        tree = builder.close()
    except (expat.ExpatError, LookupError, ValueError, AssertionError) as error:
        raise Trouble(f"is not XML that can be read ({error}); correct it") from error
    if tree.tag != "annotation":
        raise Trouble(f"begins with <{tree.tag}>, not with <annotation>; write it as Pascal VOC does")
    return tree


def _refuse_document_type(name: str, *_: object) -> None:
    raise Trouble("declares a document type, in which entities can hide any amount of text; remove <!DOCTYPE ...>")


def _read_thing(element: ElementTree.Element, number: int) -> Thing:
    name, box = (element.findtext("name") or "").strip(), element.find("bndbox")
    if not name:
        raise Trouble(f"object {number} has no <name>; add its class")
    where = f"object {number} ({name})"
    if box is None:
        raise Trouble(f"{where} has no <bndbox>; add it, or remove the object")
    left, top, right, bottom = (_read_number(box, side, where) for side in SIDES)
    difficult = (element.findtext("difficult") or "0").strip() not in ("", "0")
    return Thing(name, left - 1, top - 1, right, bottom, number, DIFFICULT if difficult else PLAIN)


def _read_size(tree: ElementTree.Element) -> tuple[int, int] | None:
    """Return width and height; some tools write 0 where they do not know them."""
    size = tree.find("size")
    if size is None:
        return None
    width, height = (_read_number(size, name, "size") for name in ("width", "height"))
    if not (math.isfinite(width) and math.isfinite(height)):
        raise Trouble(f"size is {width:g} x {height:g}; write how many pixels the image has")
    return (int(width), int(height)) if width and height else None


def _read_number(element: ElementTree.Element, name: str, where: str) -> float:
    text = element.findtext(name)
    if text is None:
        raise Trouble(f"{where} has no <{name}>; add it")
    try:
        return float(text)
    except ValueError:
        raise Trouble(f"{where}: {name} is '{text.strip()[:40]}'; write a number") from None
