"""Runs are read as they are; a damaged one is named and costs nothing but itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.runs_by_hand import CLASSES, EVALUATIONS, SITTING, write_run, write_turning_run

from reslab.report.records import read_records
from reslab.runs.log import StepLog
from reslab.spec import codec
from reslab.spec.codec import convert


def test_a_finished_run_is_read_whole(tmp_path: Path) -> None:
    """Its result, costs, speed, device and responses."""
    written = write_run(tmp_path, "resnet-20")
    (record,), damages = read_records(tmp_path)
    assert not damages
    assert (record.id, record.state, record.device) == (written.path.name, "finished", "cpu")
    assert record.result is not None
    assert record.result.panel.classes == CLASSES
    assert record.test_score == written.result()["test_error_percent"]
    assert (record.result.params, record.timings.images_per_second) == (269_722, 900.0)
    assert len(record.findings["responses"].marks) == 19
    assert len(record.points) == EVALUATIONS


def test_how_many_trials_shared_the_device_is_read(tmp_path: Path) -> None:
    """The most of any sitting; unknown where it was not written down."""
    run = write_run(tmp_path)
    assert read_records(tmp_path)[0][0].together is None
    for together in (8, 3):
        run.begin(run.trial(), {**SITTING, "together": together})
    (record,), _ = read_records(tmp_path)
    assert [sitting.together for sitting in record.sittings] == [None, 8, 3]
    assert record.together == 8


def test_a_confusion_is_checked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not cell by cell: with a thousand classes there are a million."""
    run = write_run(tmp_path, classes=[f"class {number}" for number in range(100)])
    converted = []

    def count(hint: Any, value: Any, *, where: str) -> Any:
        converted.append(where)
        return convert(hint, value, where=where)

    monkeypatch.setattr(codec, "convert", count)
    (record,), damages = read_records(tmp_path)
    assert not damages
    assert record.result is not None
    assert [list(row) for row in record.result.panel.confusion] == run.result()["confusion"]
    assert any(where.startswith("class_names") for where in converted)
    assert not [where for where in converted if where.startswith("confusion.")]


def test_an_early_result_may_lack_costs_and_names(tmp_path: Path) -> None:
    """Classes then go by their numbers."""
    run = write_run(tmp_path)
    kept = {key: value for key, value in run.result().items() if key not in ("class_names", "multiply_adds")}
    run.write("result", kept)
    (record,), _ = read_records(tmp_path)
    assert record.result is not None
    assert record.result.multiply_adds is None
    assert record.result.panel.classes[:2] == ("0", "1")


def test_class_errors_are_found_once(tmp_path: Path) -> None:
    """A page asks for them twice in every row, and each time a million cells of a thousand classes would be summed."""
    write_run(tmp_path)
    (record,), _ = read_records(tmp_path)
    assert record.result is not None
    assert record.result.panel.class_errors is record.result.panel.class_errors


def test_five_guesses_are_shown_of_more_than_five_classes(tmp_path: Path) -> None:
    """Of two classes they are never wrong."""
    for classes in (2, 6):
        write_run(tmp_path / str(classes), classes=CLASSES[:classes])
        (record,), _ = read_records(tmp_path / str(classes))
        assert record.result is not None
        assert ("top5_error_percent" in record.result.values) is (classes == 6)


def test_an_interrupted_run_shows_what_it_logged(tmp_path: Path) -> None:
    """The last errors, the step it came to, and no result."""
    run = write_run(tmp_path, finished=False)
    (record,), _ = read_records(tmp_path)
    last = StepLog(run.path / "metrics.jsonl").read()[-1]
    assert (record.state, record.result) == ("interrupted", None)
    assert (record.step, record.test_score) == (last["step"], last["test_error_percent"])


def test_a_result_may_describe_its_scores(tmp_path: Path) -> None:
    """Its task's are then not asked for; what contradicts the log is told as ever."""
    run = write_turning_run(tmp_path, right=80.0)
    (record,), damages = read_records(tmp_path)
    assert not damages
    assert (record.headline.words, record.train_score, record.test_score) == ("rate", 85.0, 80.0)
    run.finish(run.result() | {"angle_degrees": 1.0})
    _, (damage,) = read_records(tmp_path)
    assert "result.json says angle_degrees is 1.0, but test_angle_degrees is 10.0" in damage.sentence


@pytest.mark.parametrize(
    ("described", "sentence"),
    [
        (None, "result.json is damaged"),
        ([], "result.json is damaged"),
        ([3], "result.json is damaged"),
        ([{"name": "right_percent"}], "Score lacks words"),
        ([{"name": "right_percent", "words": "rate", "better": "bigger"}], "better is 'bigger'; choose"),
        ([{"name": "right_percent", "words": "rate", "logged": ["validation"]}], "logged.0 is 'validation'; choose"),
    ],
)
def test_what_describes_no_score_is_refused(described: Any, sentence: str, tmp_path: Path) -> None:
    """What a later version says of one besides is left alone."""
    run = write_turning_run(tmp_path)
    run.finish(run.result() | {"scores": [one | {"colour": "red"} for one in run.result()["scores"]]})
    assert not read_records(tmp_path)[1]
    run.finish(run.result() | {"scores": described})
    _, (damage,) = read_records(tmp_path)
    assert sentence in damage.sentence


def test_a_run_being_trained_is_running(tmp_path: Path) -> None:
    """As long as its process holds it."""
    run = write_run(tmp_path, finished=False)
    (record,), _ = read_records(tmp_path)
    with run.working():
        assert record.state == "running"
    assert record.state == "interrupted"


def test_a_copy_in_another_folder_is_told_and_not_read(tmp_path: Path) -> None:
    """The first is, whole."""
    run = write_run(tmp_path / "a")
    write_run(tmp_path / "b")
    records, (damage,) = read_records(tmp_path)
    assert [record.directory.path.parent.name for record in records] == ["a"]
    assert (damage.id, damage.sentence) == (
        f"b/{run.path.name}",
        f"it is ignored, because a/{run.path.name} has the same name",
    )


def test_a_run_that_logged_nothing_is_still_there(tmp_path: Path) -> None:
    """Stopped before its first evaluation, or even before its provenance."""
    run = write_run(tmp_path, finished=False, responses=False)
    for name in ("metrics.jsonl", "timings.jsonl", "provenance.json"):
        (run.path / name).unlink()
    (record,), damages = read_records(tmp_path)
    assert not damages
    assert (record.step, record.test_score, record.timings.seconds, record.device) == (0, None, None, "")


@pytest.mark.parametrize(
    ("timings", "seconds"),
    [
        ([(1, 10.0), (2, 20.0), (3, 30.0)], 30.0),
        ([(1, 10.0), (2, 20.0), (3, 5.0), (4, 15.0)], 35.0),
        ([(1, 10.0), (2, 20.0), (2, 25.0)], 45.0),
        ([(1, 10.0), (2, 4.0), (3, 2.0)], 16.0),
    ],
    ids=["one sitting", "seconds fall", "a step comes again", "three sittings"],
)
def test_wall_clock_is_summed_over_sittings(timings: list[tuple[int, float]], seconds: float, tmp_path: Path) -> None:
    """Each sitting counts from its own beginning."""
    run = write_run(tmp_path)
    (run.path / "timings.jsonl").unlink()
    for step, at in timings:
        StepLog(run.path / "timings.jsonl").append(
            {"step": step, "seconds": at, "images_per_second": 100.0 * step, "peak_memory_bytes": 10 - step}
        )
    (record,), _ = read_records(tmp_path)
    assert record.timings.seconds == seconds
    assert record.timings.peak_memory_bytes == 9


def test_timings_that_are_not_numbers_do_not_count(tmp_path: Path) -> None:
    """The rest does: two sittings, the last entry of the first in other units, that of the second no number."""
    run = write_run(tmp_path)
    entry = '{"step": %d, "%s": %s, "images_per_second": 900.0, "peak_memory_bytes": 1}\n'
    sittings = [(1, "seconds", "10.0"), (2, "hours", "70.0"), (3, "seconds", "4.0"), (4, "seconds", "6.5")]
    lines = [entry % values for values in [*sittings, (5, "seconds", "NaN")]]
    (run.path / "timings.jsonl").write_text("".join(lines) + '{"step": 6, "sec')
    (record,), damages = read_records(tmp_path)
    assert not damages
    assert record.timings.seconds == 16.5


def test_what_is_not_finite_is_no_number(tmp_path: Path) -> None:
    """A loss that ran away leaves a gap."""
    run = write_run(tmp_path, finished=False)
    StepLog(run.path / "metrics.jsonl").append({"step": 20_000, "test_loss": float("nan"), "train_loss": 1.0})
    (record,), damages = read_records(tmp_path)
    assert not damages
    assert [record.points[-1].values[f"{part}_loss"] for part in ("test", "train")] == [None, 1.0]


def _without(key: str) -> Callable[[str], str]:
    return lambda text: json.dumps({name: value for name, value in json.loads(text).items() if name != key})


def _confused(change: Callable[[list[list[int]]], object]) -> Callable[[str], str]:
    return lambda text: json.dumps((data := json.loads(text)) | {"confusion": change(data["confusion"])})


def _with_cell(rows: list[list[int]], cell: Any) -> list[list[Any]]:
    return [[cell, *rows[0][1:]], *rows[1:]]


@pytest.mark.parametrize(
    ("file", "damage", "sentence"),
    [
        ("trial.json", lambda text: text[:-9], "trial.json cannot be read"),
        ("trial.json", _without("data"), "trial.json is damaged"),
        ("trial.json", lambda text: "[]", "trial.json is not a JSON object"),
        ("trial.json", lambda text: "[" * 9_999, "trial.json cannot be read"),
        ("result.json", lambda text: "{", "result.json cannot be read"),
        ("result.json", _without("test_error_percent"), "lacks test_error_percent"),
        ("result.json", lambda text: text.replace('"airplane",', ""), "names 9 classes, but counts 10"),
        ("result.json", _without("class_error_percent"), "different numbers of classes"),
        (
            "result.json",
            _confused(lambda rows: rows[:-1]),
            "result.json is damaged: its confusion matrix is not square",
        ),
        ("result.json", _confused(lambda rows: [*rows[:-1], rows[-1][1:]]), "its confusion matrix is not square"),
        ("result.json", _confused(lambda rows: [rows]), "its confusion matrix is not square"),
        ("result.json", _confused(lambda rows: None), "its confusion matrix is not square"),
        ("result.json", _confused(lambda rows: _with_cell(rows, -1)), "cells that are not counts"),
        ("result.json", _confused(lambda rows: _with_cell(rows, 0.5)), "cells that are not counts"),
        ("result.json", _confused(lambda rows: _with_cell(rows, float("nan"))), "cells that are not counts"),
        ("result.json", _confused(lambda rows: _with_cell(rows, None)), "cells that are not counts"),
        ("result.json", _confused(lambda rows: _with_cell(rows, "many")), "cells that are not counts"),
        ("result.json", _confused(lambda rows: _with_cell(rows, 10**30)), "cells that are not counts"),
        ("metrics.jsonl", lambda text: text.replace('"step"', "step", 1), "metrics.jsonl is damaged"),
        ("metrics.jsonl", lambda text: text.replace('"step"', '"stop"', 1), "metrics.jsonl is damaged"),
        ("metrics.jsonl", lambda text: re.sub(r'"step": \d+', '"step": Infinity', text), "metrics.jsonl is damaged"),
        (
            "metrics.jsonl",
            lambda text: re.sub(r'"step": \d+', '"step": 1' + "0" * 400, text),
            "metrics.jsonl is damaged",
        ),
        ("provenance.json", lambda text: '{"sittings": [3]}', "provenance.json is damaged"),
    ],
)
def test_one_bad_run_does_not_cost_the_others(
    file: str, damage: Callable[[str], str], sentence: str, tmp_path: Path
) -> None:
    """It is named with one sentence; the good one is read."""
    good, bad = write_run(tmp_path, seed=1), write_run(tmp_path, seed=2)
    text = (bad.path / file).read_text()
    (bad.path / file).write_text(damage(text))
    assert (bad.path / file).read_text() != text
    records, (told,) = read_records(tmp_path)
    assert [record.id for record in records] == [good.path.name]
    assert told.id == bad.path.name
    assert sentence in told.sentence
    assert "\n" not in told.sentence


def test_bad_responses_cost_only_themselves(tmp_path: Path) -> None:
    """The run is shown without them, and that is said."""
    run = write_run(tmp_path)
    (run.path / "analysis" / "responses.json").write_text('{"layers": [{"name": "conv1"}]}')
    (record,), (damage,) = read_records(tmp_path)
    assert not record.findings
    assert "analysis/responses.json is damaged" in damage.sentence
    assert "without its layer responses" in damage.sentence


def test_a_folder_that_lost_its_trial_is_told(tmp_path: Path) -> None:
    """Other folders, such as the report, are none of ours."""
    (write_run(tmp_path).path / "trial.json").unlink()
    (tmp_path / "report").mkdir()
    records, (damage,) = read_records(tmp_path)
    assert not records
    assert "no trial.json" in damage.sentence
