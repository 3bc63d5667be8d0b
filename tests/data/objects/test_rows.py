"""Objects become rows of numbers; every wrong box is told with its place, its object and its numbers."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from reslab.data.objects.annotations import Annotated, Annotations, Teller, Thing
from reslab.data.objects.rows import name_classes, write_rows
from reslab.data.objects.xml_files import write_pixels
from reslab.data.photos.findings import Finding, refuse
from reslab.errors import UserError
from reslab.spec.boxes import CROWD, DIFFICULT, FRAME, PLAIN

SIZE = (60, 40)
NUMBERS = {"hen": 0, "ox": 1}
Heard = list[tuple[str, str, str]]


def write(
    *things: Thing,
    heard: Heard,
    size: tuple[int, int] = SIZE,
    annotated: tuple[int, int] | None = SIZE,
    has_fractions: bool = False,
) -> np.ndarray | None:
    """Return the rows of an image with these objects."""

    def tell(finding: Finding | None, refusal: str | None) -> None:
        assert finding is not None
        assert (refusal is not None) == (finding.severity == "error")
        heard.append((finding.kind, finding.path, finding.detail))

    image = Annotated("a.jpg", "a.xml", things, annotated, has_fractions)
    annotations = Annotations({"": [image]}, write_pixels)
    return write_rows(image, size, classes=NUMBERS, annotations=annotations, teller=Teller(Path("root"), tell))


def test_frames_come_first_and_marks_and_areas_last() -> None:
    """An area that is not given is that of the box as it is cut off."""
    heard: Heard = []
    things = (
        Thing("ox", 1, 2, 11, 22, 1, DIFFICULT),
        Thing("hen", -0.5, 0, 10, 40.5, 2, CROWD, 7.5),
        Thing("hen", -1, 0, 10, 10, 3),
    )
    rows = write(*things, heard=heard)
    assert rows is not None and rows.dtype == np.float32
    assert rows.tolist() == [
        [0, 0, 60, 40, FRAME, 60, 40],
        [1, 2, 11, 22, 1, DIFFICULT, 200],
        [0, 0, 10, 40, 0, CROWD, 7.5],
        [0, 0, 10, 10, 0, PLAIN, 100],
    ]
    assert heard == []


def test_fractions_are_of_the_image() -> None:
    """Which has the size that is read; where none is known, it cannot be used."""
    heard: Heard = []
    rows = write(Thing("ox", 0.1, 0.25, 0.5, 0.75, 1), heard=heard, annotated=None, has_fractions=True)
    assert rows is not None and rows[1].tolist() == [6, 10, 30, 30, 1, PLAIN, 480]
    assert write(heard=heard, annotated=None, size=(0, 0)) is None
    assert [kind for kind, *_ in heard] == ["unreadable"]


@pytest.mark.parametrize(
    ("box", "told"),
    [
        ((math.nan, 0, 5, 5), "object 4 (ox): xmin nan, ymin 1, xmax 5, ymax 5 is not all numbers; correct it"),
        ((0, 0, math.inf, 5), "object 4 (ox): xmin 1, ymin 1, xmax inf, ymax 5 is not all numbers; correct it"),
        ((9, 0, 5, 5), "object 4 (ox): xmin 10, ymin 1, xmax 5, ymax 5 ends before it begins; correct it"),
        ((0, 9, 5, 5), "object 4 (ox): xmin 1, ymin 10, xmax 5, ymax 5 ends before it begins; correct it"),
        (
            (60, 0, 65, 5),
            "object 4 (ox): xmin 61, ymin 1, xmax 65, ymax 5 is outside of the image of 60x40; correct it",
        ),
        (
            (0, -9, 5, 0),
            "object 4 (ox): xmin 1, ymin -8, xmax 5, ymax 0 is outside of the image of 60x40; correct it",
        ),
    ],
)
def test_wrong_boxes_stop_a_training(box: tuple[float, float, float, float], told: str) -> None:
    """Each is told with its object and its numbers, as the file has them."""
    heard: Heard = []
    rows = write(Thing("ox", *box, 4), Thing("hen", 0, 0, 5, 5, 5), heard=heard)
    assert heard == [("wrong box", "a.xml", told)]
    assert rows is not None and len(rows) == 2


def test_odd_boxes_are_noted() -> None:
    """Without area: left out. Over the edge: cut off. Twice: used twice. None: background."""
    heard: Heard = []
    rows = write(Thing("ox", 5, 5, 5, 9, 1), heard=heard)
    assert rows is not None and len(rows) == 1
    assert [kind for kind, *_ in heard] == ["no area", "no objects"]
    heard.clear()
    rows = write(Thing("ox", -2, 0, 5, 45, 1), Thing("hen", 1, 1, 5, 5, 2), Thing("hen", 1, 1, 5, 5, 3), heard=heard)
    assert rows is not None
    assert rows[1:, :5].tolist() == [[0, 0, 5, 40, 1], [1, 1, 5, 5, 0], [1, 1, 5, 5, 0]]
    assert heard == [
        ("outside", "a.xml", "object 1 (ox): xmin -1, ymin 1, xmax 5, ymax 45; the image is 60x40"),
        ("object twice", "a.xml", "object 3 (hen): xmin 2, ymin 2, xmax 5, ymax 5"),
    ]


def test_sizes_must_agree_where_both_are_known() -> None:
    """An image that cannot be read has the size that is annotated, if that is; reading it tells."""
    heard: Heard = []
    assert write(heard=heard, size=(40, 60)) is None
    assert heard == [("other size", "a.xml", "its image is 60x40 there, but a.jpg is 40x60 as it is shown")]
    heard.clear()
    rows = write(heard=heard, size=(0, 0))
    assert rows is not None and rows.tolist() == [[0, 0, 60, 40, FRAME, 60, 40]]


def test_classes_are_those_of_training_objects(tmp_path: Path) -> None:
    """Others, of test images alone, stop it; so does an image without any."""

    def name(*splits: tuple[str, ...]) -> tuple[str, ...]:
        images = [
            [Annotated(f"{n}.jpg", f"{n}.xml", tuple(Thing(one, 0, 0, 1, 1, 1) for one in names))]
            for n, names in enumerate(splits)
        ]
        annotations = Annotations(dict(zip(("train", "val"), images, strict=False)), write_pixels)
        return name_classes(annotations, teller=Teller(tmp_path, refuse))

    assert name(("ox", "hen", "ox"), ("hen",)) == ("hen", "ox")
    with pytest.raises(UserError, match=r"1\.xml: 'cat' is a class without training objects"):
        name(("ox",), ("cat",))
    with pytest.raises(UserError, match="has an object; annotate some"):
        name((), ())
