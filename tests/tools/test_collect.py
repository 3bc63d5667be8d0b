"""Records of finished runs are brought home whole, and nothing else is."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runs_by_hand import SITTING, write_run
from tools.collect import collect, main

from reslab.errors import UserError
from reslab.runs.directory import RunDirectory
from reslab.spec.trial import trial_to_dict


def test_records_are_brought_home(tmp_path: Path) -> None:
    """Without what is large; later tests are added, and other content under the name is refused."""
    run = write_run(tmp_path / "runs", seed=3)
    run.checkpoints.mkdir()
    for path in (run.weights, run.checkpoints / "step-1.safetensors", run.path / "lock"):
        path.write_bytes(b"large")
    collect(run, tmp_path / "home")
    assert collect(run, tmp_path / "home") == "here already"
    for protocol in ("10-crop", "multi-scale"):
        run.write(f"analysis/{protocol}", {"error_percent": 8.0})
        assert collect(run, tmp_path / "home") == "0.0 KiB"
    home = tmp_path / "home" / run.path.name
    copied = {path.relative_to(home).as_posix() for path in _files(home)}
    assert copied == {
        *("trial.json", "provenance.json", "metrics.jsonl", "timings.jsonl", "result.json"),
        *("analysis/responses.json", "analysis/10-crop.json", "analysis/multi-scale.json"),
    }
    run.finish(run.result() | {"ece_percent": 1.0})
    with pytest.raises(UserError, match=r"is here already and its result\.json differs"):
        collect(run, tmp_path / "home")
    assert main([str(tmp_path / "runs"), "--into", str(tmp_path / "home")]) == 1


@pytest.mark.parametrize("word", ["--runs /tmp/runs", "--runs=/tmp/runs", "--runs ~/runs", "/scratch/trial.toml"])
def test_places_on_a_machine_stay_there(word: str, tmp_path: Path) -> None:
    """A record whose command names one is refused; a relative path is fine."""
    run = write_run(tmp_path / "runs")
    run.write("provenance", {"sittings": [SITTING | {"command": f"reslab train network=resnet-20 {word}"}]})
    with pytest.raises(UserError, match="names a place on the machine it ran on"):
        collect(run, tmp_path / "home")
    assert not (tmp_path / "home").exists()
    run.write("provenance", {"sittings": [SITTING | {"command": "reslab train recipe=a/b.toml --runs ../runs"}]})
    collect(run, tmp_path / "home")


def test_where_photographs_were_stays_there(tmp_path: Path) -> None:
    """All else of the provenance comes home as it was, and comes home once."""
    run = write_run(tmp_path / "runs")
    sitting = SITTING | {"data_images": [3, 2]}
    run.write("provenance", {"sittings": [sitting | {"data_at": "/scratch/photographs"}]})
    collect(run, tmp_path / "home")
    home = RunDirectory(tmp_path / "home" / run.path.name)
    assert home.read("provenance") == {"sittings": [sitting]}
    assert collect(run, tmp_path / "home") == "here already"


@pytest.mark.parametrize("error", [1.0, "six", None])
def test_what_contradicts_itself_stays_out(error: object, tmp_path: Path) -> None:
    """As it does of verdicts: the checks are those of report/agreement.py."""
    run = write_run(tmp_path / "runs")
    run.finish(run.result() | {"error_percent": error})
    with pytest.raises(UserError, match=f"result.json says error_percent is {error!r}, but test_error_percent is"):
        collect(run, tmp_path / "home")


def test_a_copy_with_another_seed_stays_out(tmp_path: Path) -> None:
    """Its log is at home already."""
    run = write_run(tmp_path / "runs", seed=1)
    collect(run, tmp_path / "home")
    trial = replace(run.trial(), seed=2)
    copy = RunDirectory(shutil.copytree(run.path, tmp_path / "runs" / trial.id))
    copy.write("trial", trial_to_dict(trial))
    with pytest.raises(UserError, match=f"its log is a copy of the log of {run.path.name}, but its seed is 2, not 1"):
        collect(copy, tmp_path / "home")


def test_only_whole_runs_come_home(tmp_path: Path) -> None:
    """Not one that is unfinished, nor one under another's name."""
    with pytest.raises(UserError, match="is interrupted and not at its end"):
        collect(write_run(tmp_path, finished=False), tmp_path / "home")
    run = write_run(tmp_path, seed=1)
    shutil.copytree(run.path, tmp_path / "copy")
    with pytest.raises(UserError, match="give it its name"):
        collect(RunDirectory(tmp_path / "copy"), tmp_path / "home")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda text: text[: len(text) // 2].rpartition("\n")[0] + "\n", "its log ends at"),
        (lambda text: "", r"its metrics\.jsonl is missing or empty"),
        (lambda text: text + "garbage\n", r"metrics\.jsonl is damaged"),
    ],
)
def test_damaged_records_stay_out(damage: Callable[[str], str], sentence: str, tmp_path: Path) -> None:
    """A log that was cut, lost or written over; nothing of such a run is copied."""
    run = write_run(tmp_path / "runs")
    log = run.path / "metrics.jsonl"
    log.write_text(damage(log.read_text()))
    with pytest.raises(UserError, match=sentence):
        collect(run, tmp_path / "home")
    assert not (tmp_path / "home").exists()


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
