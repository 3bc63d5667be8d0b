"""What is damaged is so for every command that shows runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.runs_by_hand import write_run

DAMAGES = [
    ("provenance.json", '{"sittings": [{"a": 1}]}', "provenance.json is damaged: a sitting says nothing of where it"),
    ("provenance.json", '{"sittings": 3}', "provenance.json is damaged"),
    ("result.json", '{"error_percent": "x"}', "result.json is damaged"),
    ("result.json", '{"train_error_percent": 1.0, "test_error_percent": "x"}', "result.json is damaged"),
    ("metrics.jsonl", "garbage\n", "metrics.jsonl is damaged"),
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


def test_damaged_responses_cost_only_themselves(reslab, tmp_path: Path) -> None:
    """The run is shown without them, and that is said."""
    run = write_run(tmp_path)
    (run.path / "analysis").mkdir(exist_ok=True)
    (run.path / "analysis" / "responses.json").write_text('{"layers": 3}')
    outcome = reslab("runs", "show", run.path.name, "--runs", str(tmp_path))
    assert outcome.code == 0
    assert f"warning: {run.path.name}: analysis/responses.json is damaged" in outcome.err
