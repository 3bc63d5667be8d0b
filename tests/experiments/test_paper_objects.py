"""What the detection tables are about is told by its numbers; another folder is itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.objects import CLASSES, make_scenes, write_voc
from tests.photographs import make_photos

from reslab.errors import UserError
from reslab.experiments import paper_objects
from reslab.experiments.paper_objects import list_asked, open_objects
from reslab.experiments.reproduce import on_these
from reslab.paper.claims import CLAIMS
from reslab.paper.detection import VOC_07_12


def test_a_table_may_be_about_several() -> None:
    """Table 7 about both years of VOC, Table 6 about none."""
    asked = [[known.data.name for known in list_asked(CLAIMS[f"table-{number}"])] for number in (7, 9, 12, 6)]
    assert asked == [["voc-2007", "voc-2012"], ["coco-2014"], ["imagenet-det"], []]


def test_data_with_the_papers_numbers_are_taken_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For tables about them; where no folder is given, they are looked for among the data."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path))
    claims = CLAIMS["table-7"]
    assert open_objects(None, claims) is None
    place = write_voc(tmp_path / "voc-2007", train=make_scenes("a", 4), val=make_scenes("b", 3))
    small = replace(VOC_07_12, classes=len(CLASSES), images=(4, 3))
    monkeypatch.setattr(paper_objects, "SETS", (small,))
    found = open_objects(None, claims)
    assert found is not None and (found.name, found.root) == ("voc-2007", place)
    assert on_these(claims, found) == claims
    other = open_objects(place.rename(tmp_path / "toys"), CLAIMS["table-8"])
    assert other is not None and other.name == "toys"
    assert {setting.data.name for claim in on_these(CLAIMS["table-8"], other) for setting in claim.settings} == {"toys"}


def test_photographs_without_objects_are_refused(tmp_path: Path) -> None:
    """With what they would have to be."""
    with pytest.raises(UserError, match="has no annotated objects; give a folder as Pascal VOC"):
        open_objects(make_photos(tmp_path / "photos", train=1, val=1), CLAIMS["table-7"])
