"""What is damaged is so for every command that shows runs."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runs_by_hand import write_run

from reslab.runs.directory import RunDirectory
from reslab.spec.trial import trial_to_dict

DAMAGES = [
    (
        "provenance.json",
        '{"sittings": [{"a": 1}]}',
        "provenance.json is damaged: an entry does not say where the run was",
    ),
    ("provenance.json", '{"sittings": 3}', "provenance.json is damaged"),
    ("result.json", '{"error_percent": "x"}', "result.json is damaged"),
    ("result.json", '{"train_error_percent": 1.0, "test_error_percent": "x"}', "result.json is damaged"),
    ("metrics.jsonl", "garbage\n", "metrics.jsonl is damaged"),
    ("metrics.jsonl", "", "it is finished, but its metrics.jsonl is missing or empty"),
]


@pytest.mark.parametrize(("file", "content", "sentence"), DAMAGES)
def test_what_is_damaged_is_so_for_every_command(
    file: str, content: str, sentence: str, reslab, tmp_path: Path
) -> None:
    """The list, the run alone, a comparison and the report say the same sentence."""
    damaged, other = (write_run(tmp_path, seed=seed) for seed in (1, 2))
    (damaged.path / file).write_text(content)
    told = f"{damaged.path.name}: {sentence}"
    listed = reslab("runs", "--runs", str(tmp_path), "--json")
    states = {row["id"]: row["state"] for row in json.loads(listed.out)}
    assert states == {damaged.path.name: "damaged", other.path.name: "finished"}
    assert f"warning: {told}" in listed.err
    show = ["runs", "show", damaged.path.name]
    for words in (show, [*show, "--json"], ["compare", damaged.path.name, other.path.name]):
        outcome = reslab(*words, "--runs", str(tmp_path))
        assert (outcome.code, outcome.out) == (2, "")
        assert told in outcome.err
    assert f"warning: {told}" in reslab("report", "--runs", str(tmp_path)).err


def test_a_copy_is_one_for_every_command(reslab, tmp_path: Path) -> None:
    """The list, a comparison, verdicts and the report leave it out, and say of which run it is one."""
    run, other = write_run(tmp_path, seed=1), write_run(tmp_path, "plain-20", seed=1)
    copy = RunDirectory(shutil.copytree(run.path, tmp_path / "another"))
    copy.write("trial", trial_to_dict(replace(run.trial(), seed=2)))
    told = f"another: its log is a copy of the log of {run.path.name}, but its seed is 2, not 1; remove the copy"
    listed = reslab("runs", "--runs", str(tmp_path), "--json")
    states = {row["id"]: row["state"] for row in json.loads(listed.out)}
    assert states == {"another": "copy", run.path.name: "finished", other.path.name: "finished"}
    assert f"warning: {told}" in listed.err
    assert "mean ± std" not in reslab("runs", "--runs", str(tmp_path)).out
    compared = json.loads(reslab("compare", run.path.name, other.path.name, "--runs", str(tmp_path), "--json").out)
    assert compared["seeds"] == [[1], [1]]
    assert told in reslab("compare", "another", other.path.name, "--runs", str(tmp_path)).err
    judged = reslab("reproduce", "table-6", "--only", "resnet-20", "--from", str(tmp_path), "--json")
    assert [row["runs"] for row in json.loads(judged.out) if row["n"]] == [[run.path.name]]
    assert f"warning: {told}" in judged.err
    assert f"warning: {told}" in reslab("report", "--runs", str(tmp_path)).err


def test_damaged_responses_cost_only_themselves(reslab, tmp_path: Path) -> None:
    """The run is shown without them, and that is said."""
    run = write_run(tmp_path)
    (run.path / "analysis").mkdir(exist_ok=True)
    (run.path / "analysis" / "responses.json").write_text('{"layers": 3}')
    outcome = reslab("runs", "show", run.path.name, "--runs", str(tmp_path))
    assert outcome.code == 0
    assert f"warning: {run.path.name}: analysis/responses.json is damaged" in outcome.err
