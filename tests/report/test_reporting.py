"""What is damaged costs the verdicts no more than the warning says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.runs_by_hand import write_run

from reslab.paper.claim import IMAGENET, TINY_IMAGENET
from reslab.paper.claims import CLAIMS
from reslab.report.records import read_records
from reslab.report.reporting import judge_runs, report_runs, tables_about


@pytest.mark.parametrize("damage", ["{", "[]", '{"layers": [{"name": "conv1"}]}'])
def test_bad_responses_cost_only_the_claims_about_them(damage: str, tmp_path: Path) -> None:
    """The run is shown without them, and its errors are judged as before."""
    run = write_run(tmp_path)
    before = judge_runs(CLAIMS["table-6"], tmp_path)
    (run.path / "analysis" / "responses.json").write_text(damage)
    after = judge_runs(CLAIMS["table-6"], tmp_path)
    assert [damage.id for damage in after.damages] == [run.path.name]
    assert after.verdicts == before.verdicts
    assert any(verdict.runs == (run.path.name,) for verdict in after.verdicts)
    remarks = " ".join(verdict.remarks for verdict in judge_runs(CLAIMS["fig-7"], tmp_path).verdicts)
    assert "a run of resnet-20 is left out: its responses cannot be read" in remarks


def test_a_bad_test_by_another_protocol_costs_no_report(tmp_path: Path) -> None:
    """Nothing but the claims about that protocol asks for it."""
    run = write_run(tmp_path / "runs")
    (run.path / "analysis" / "10-crop.json").write_text("{")
    assert report_runs(tmp_path / "runs", out=tmp_path / "site").num_runs == 1


def test_each_file_of_a_run_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what is shown and what is judged together: the result of a thousand classes is megabytes of JSON."""
    run = write_run(tmp_path / "runs")
    read, read_text = [], Path.read_text

    def count(path: Path, *args: Any, **more: Any) -> str:
        read.append(path)
        return read_text(path, *args, **more)

    monkeypatch.setattr(Path, "read_text", count)
    report_runs(tmp_path / "runs", out=tmp_path / "site")
    files = [path for path in read if path.is_relative_to(run.path)]
    assert sorted(files) == sorted(path for path in run.path.rglob("*.json*"))
    read.clear()
    judge_runs([claim for claims in CLAIMS.values() for claim in claims], tmp_path / "runs")
    assert sorted(path for path in read if path.is_relative_to(run.path)) == sorted(files)


@pytest.mark.parametrize(("data", "about"), [("cifar10", True), ("photos", False)])
def test_the_paper_is_judged_where_runs_are_about_its_data(tmp_path: Path, data: str, about: bool) -> None:
    """Photographs of one's own say nothing about its tables, not even that these were not run."""
    write_run(tmp_path / "runs", data=data)
    page = report_runs(tmp_path / "runs", out=tmp_path / "site").index.read_text()
    assert ("Compared with the paper" in page, "not run" in page, "Fig. 6:" in page) == (about, about, about)


def test_tiny_imagenet_stands_for_imagenet_where_nothing_was_trained_on_that(tmp_path: Path) -> None:
    """Its runs are a reduced setting, and an order says which of its steps hold."""
    data, classes = TINY_IMAGENET.data, [str(number) for number in range(TINY_IMAGENET.classes)]
    whole = {"recipe_name": "imagenet-paper", "classes": classes, "responses": False}
    tiny = {"data": data.name, "fingerprint": data.fingerprint, "network_fields": {"input_size": "64"}, **whole}
    for network, error_percent in (("plain-18", 30.0), ("plain-34", 40.0)):
        run = write_run(tmp_path, network, iterations=12_000, **tiny)
        run.write("analysis/10-crop", {"error_percent": error_percent, "data": data.name, "images": 20_000})
    claims = tables_about(read_records(tmp_path)[0])
    assert claims.keys() == {f"table-{number}" for number in range(2, 6)} | {"fig-4"}
    order = claims["table-2"][0]
    (verdict,) = judge_runs([order], tmp_path).verdicts
    assert verdict.word == "reduced setting"
    assert verdict.remarks.startswith("plain-18 30.00 < plain-34 40.00 holds; without ImageNet: 100,000 and 10,000")
    write_run(tmp_path, "resnet-18", data=IMAGENET.name, **whole)
    assert tables_about(read_records(tmp_path)[0])["fig-4"] == CLAIMS["fig-4"]
