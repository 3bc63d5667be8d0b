"""The committed records are whole, are what their names say, and read as README and docs tell."""

from __future__ import annotations

import functools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from results import collect, pages
from tests.runs_by_hand import SITTING, write_run

from reslab.cli import main
from reslab.errors import UserError
from reslab.paper.claims import CLAIMS
from reslab.report.records import RunRecord, read_records
from reslab.report.verdicts import judge
from reslab.runs.directory import RunDirectory, list_runs

RESULTS = Path(__file__).parent.parent / "results"
RUNS = list_runs(RESULTS)
LARGEST_RECORD = 500_000


@functools.cache
def read_all() -> dict[str, RunRecord]:
    records, damages = read_records(RESULTS)
    assert not damages
    return {record.id: record for record in records}


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.path.name)
def test_a_record_is_whole(run: RunDirectory) -> None:
    """Finished, named after its trial, with the commit and machine it came from; its error is the last one logged."""
    assert run.state == "finished"
    assert run.trial().id == run.path.name
    record = read_all()[run.path.name]
    for sitting in record.sittings:
        assert sitting.commit
        assert sitting.device
        assert sitting.command.startswith("reslab ")
    assert record.points[-1].step == run.trial().recipe.iterations
    result = run.result()
    confusion = np.array(result["confusion"])
    counted = 100 * (1 - np.trace(confusion) / confusion.sum())
    for name in ("error_percent", "test_error_percent"):
        assert result[name] == pytest.approx(counted) == record.points[-1].test_error_percent
    files = {path.relative_to(run.path).as_posix(): path for path in run.path.rglob("*") if path.is_file()}
    assert files.keys() <= set(collect.FILES)
    assert sum(path.stat().st_size for path in files.values()) < LARGEST_RECORD


def test_what_is_reproduced() -> None:
    """Degradation and its cure, in training and test error; all orders of Fig. 7; four rows of Table 6.

    ResNet-110's test error is none of it: docs/deviations.md has the two of its four seeds that start badly.
    """
    orders = [claim for table in ("fig-1", "fig-6", "fig-7") for claim in CLAIMS[table] if len(claim.settings) > 1]
    rows = [claim for claim in CLAIMS["table-6"] if claim.row in ("ResNet-20", "ResNet-32", "ResNet-44", "ResNet-56")]
    astray = [claim for claim in orders if "resnet-110" in claim.row and "test error" in claim.quantity]
    claims = [claim for claim in (*orders, *rows) if "resnet-1202" not in claim.row and claim not in astray]
    assert len(claims) == 12
    assert [verdict.word for verdict in judge(claims, RUNS)] == ["reproduced"] * 12


def test_the_pages_tell_the_records() -> None:
    """Word for word, as `make results` writes them."""
    for path, text in pages.render().items():
        assert path.read_text(encoding="utf-8") == text, "run `make results`"


def test_the_readmes_first_table_is_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """`reslab reproduce table-6 --from results` prints those cells, and its JSON names the runs behind each number."""
    readme = (RESULTS.parent / "README.md").read_text(encoding="utf-8")
    lines = [line for line in readme.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2 : 2 + len(CLAIMS["table-6"])]]
    main(["reproduce", "table-6", "--from", str(RESULTS)])
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    for row in rows:
        assert " ".join(row).split() in printed
    main(["reproduce", "table-6", "--from", str(RESULTS), "--json"])
    for judged, row in zip(json.loads(capsys.readouterr().out), rows, strict=True):
        for cell in judged["settings"]:
            for value, name in zip(cell["values"], cell["runs"], strict=True):
                (run,) = [run for run in RUNS if run.path.name == name]
                assert run.result()["error_percent"] == value
        assert row[4] == str(len(judged["runs"]) or "")


def test_records_are_brought_home(tmp_path: Path) -> None:
    """Without what is large; later tests are added, and other content under the name is refused."""
    run = write_run(tmp_path / "runs", seed=3)
    run.finish(run.result() | {"step": 64_000})
    run.checkpoints.mkdir()
    for path in (run.weights, run.checkpoints / "step-1.safetensors", run.path / "lock"):
        path.write_bytes(b"large")
    collect.collect(run, tmp_path / "home")
    assert collect.collect(run, tmp_path / "home") == "here already"
    for protocol in ("10-crop", "multi-scale"):
        run.write(f"analysis/{protocol}", {"error_percent": 8.0})
        assert collect.collect(run, tmp_path / "home") == "0.0 KiB"
    home = tmp_path / "home" / run.path.name
    copied = {path.relative_to(home).as_posix() for path in _files(home)}
    assert copied == {
        *("trial.json", "provenance.json", "metrics.jsonl", "timings.jsonl", "result.json"),
        *("analysis/responses.json", "analysis/10-crop.json", "analysis/multi-scale.json"),
    }
    run.finish(run.result() | {"error_percent": 1.0})
    with pytest.raises(UserError, match=r"is here already and its result\.json differs"):
        collect.collect(run, tmp_path / "home")
    assert collect.main([str(tmp_path / "runs"), "--into", str(tmp_path / "home")]) == 1


@pytest.mark.parametrize("word", ["--runs /tmp/runs", "--runs=/tmp/runs", "--runs ~/runs", "/scratch/trial.toml"])
def test_places_on_a_machine_stay_there(word: str, tmp_path: Path) -> None:
    """A record whose command names one is refused; a relative path is fine."""
    run = write_run(tmp_path / "runs")
    run.finish(run.result() | {"step": 64_000})
    run.write("provenance", {"sittings": [SITTING | {"command": f"reslab train network=resnet-20 {word}"}]})
    with pytest.raises(UserError, match="names a place on the machine it ran on"):
        collect.collect(run, tmp_path / "home")
    assert not (tmp_path / "home").exists()
    run.write("provenance", {"sittings": [SITTING | {"command": "reslab train recipe=a/b.toml --runs ../runs"}]})
    collect.collect(run, tmp_path / "home")


def test_only_whole_runs_come_home(tmp_path: Path) -> None:
    """Not one that is unfinished, nor one under another's name."""
    with pytest.raises(UserError, match="is interrupted and not at its end"):
        collect.collect(write_run(tmp_path, finished=False), tmp_path / "home")
    run = write_run(tmp_path, seed=1)
    run.finish(run.result() | {"step": 64_000})
    shutil.copytree(run.path, tmp_path / "copy")
    with pytest.raises(UserError, match="give it its name"):
        collect.collect(RunDirectory(tmp_path / "copy"), tmp_path / "home")


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
