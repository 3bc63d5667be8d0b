"""COCO's files of results: what is written is read back, and whatever is wrong is told with its entry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.detections import make_tested

from reslab.errors import UserError
from reslab.tasks.detection import results_file
from reslab.tasks.detection.results_file import read_results, write_results

IMAGES = [f"{number:06}" for number in range(12)]
CATEGORIES = [7, 1, 90]
GOOD = {"image_id": "000003", "category_id": 90, "bbox": [1, 2.5, 3, 4], "score": 0.5}


def read(path: Path, content: Any) -> Any:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_results(path, image_ids=IMAGES, category_ids=CATEGORIES)


@pytest.mark.parametrize("entries_at_once", [7, 10_000])
def test_what_is_written_is_read_back(entries_at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the bit, however much is read and written at once."""
    monkeypatch.setattr(results_file, "ENTRIES_AT_ONCE", entries_at_once)
    monkeypatch.setattr(results_file, "LONGEST_ENTRY", 300)
    monkeypatch.setattr(results_file, "AT_ONCE", 301)
    detections = make_tested(0).detections
    write_results(tmp_path / "results.json", detections, image_ids=IMAGES, category_ids=CATEGORIES)
    again = read_results(tmp_path / "results.json", image_ids=IMAGES, category_ids=CATEGORIES)
    for name, values in vars(detections).items():
        assert np.array_equal(getattr(again, name), values), name
    entries = json.loads((tmp_path / "results.json").read_text())
    assert len(entries) == 150
    assert set(entries[0]) == set(GOOD)


def test_an_entry_is_a_row(tmp_path: Path) -> None:
    """Its box becomes edges; more fields may be there, and a list may be empty."""
    row = read(tmp_path / "one.json", [GOOD | {"segmentation": []}])
    assert (row.image.tolist(), row.label.tolist(), row.score.tolist()) == ([3], [2], [0.5])
    assert row.box.tolist() == [[1, 2.5, 4, 6.5]]
    for nothing in ("[]", " [ ] \n"):
        assert read(tmp_path / "none.json", nothing).box.shape == (0, 4)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"annotations": []}, "is not a list of detections; write"),
        ("", "is not a list of detections"),
        ([1], r"entry 1 of .* does not have image_id, category_id, bbox, score"),
        ([GOOD, {"image_id": "000003"}], "entry 2 of .* does not have"),
        ([GOOD | {"image_id": 3}], "image_id in entry 1 of .* is 3, which the data do not have"),
        ([GOOD | {"image_id": ["000003"]}], "image_id in entry 1"),
        ([GOOD | {"category_id": True}], "category_id in entry 1 of .* is True, which"),
        ([GOOD | {"category_id": 1.0}], "category_id in entry 1"),
        ([GOOD | {"category_id": "x" * 500}], "x…, which"),
        ([GOOD | {"bbox": [1, 2, 3]}], "bbox in entry 1 of .*; give four numbers"),
        ([GOOD | {"bbox": "1234"}], "give four numbers"),
        ([GOOD | {"bbox": [1, 2, -3, 4]}], "of negative size"),
        ([GOOD | {"bbox": [1, 2, 3, None]}], "bbox in entry 1 of .* has None; give finite numbers"),
        ([GOOD | {"bbox": [1, 2, 3, 10**400]}], "give finite numbers"),
        ([GOOD | {"score": float("nan")}], "score in entry 1 of .* has nan"),
        ([GOOD | {"score": float("inf")}], "has inf"),
        ([GOOD | {"score": "0.5"}], "has '0.5'"),
        (json.dumps([GOOD])[:-1], "is damaged after entry 1, or cut off"),
        (json.dumps([GOOD, GOOD])[:-9], "entry 2 of .* is no JSON"),
        (json.dumps([GOOD]) + "]", "goes on after its list"),
        ("[" + json.dumps(GOOD) + ",]", "entry 2 of .* is no JSON"),
        ("[" * 100_000, "entry 1 of .* is no JSON"),
        ('[{"score": ' + "9" * 5000 + "}]", "entry 1 of .* is no JSON"),
        ([GOOD | {"segmentation": "x" * 2**17}], "entry 1 of .* very long"),
    ],
)
def test_what_is_wrong_is_told(content: Any, sentence: str, tmp_path: Path) -> None:
    """In one sentence, with the entry and the remedy."""
    with pytest.raises(UserError, match=sentence) as told:
        read(tmp_path / "results.json", content)
    assert len(str(told.value)) < 500


def test_files_that_are_none_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not there, no text, or larger than any test needs."""
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read_results(tmp_path / "none.json", image_ids=IMAGES, category_ids=CATEGORIES)
    (tmp_path / "bytes.json").write_bytes(b"[\xff\xfe")
    with pytest.raises(UserError, match="another kind of file"):
        read_results(tmp_path / "bytes.json", image_ids=IMAGES, category_ids=CATEGORIES)
    monkeypatch.setattr(results_file, "MOST_BYTES", 10)
    with pytest.raises(UserError, match="more than 10 B; keep fewer"):
        read(tmp_path / "large.json", [GOOD])


@given(st.text(max_size=30) | st.lists(st.dictionaries(st.sampled_from([*GOOD]), st.none() | st.floats())).map(str))
def test_nothing_else_ever_happens(tmp_path_factory: pytest.TempPathFactory, content: str) -> None:
    """Whatever a file has, it is read or refused."""
    path = tmp_path_factory.getbasetemp() / "anything.json"
    try:
        read(path, content)
    except UserError:
        return
    assert json.loads(content) == []
