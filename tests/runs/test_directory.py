"""Run directories read their state off their files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.runs_by_hand import write_run

from reslab.errors import UserError
from reslab.runs.directory import ReadOnce, RunDirectory, find_run, list_runs, match_runs, only_run, split_step
from reslab.runs.log import StepLog
from reslab.spec import find
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial

TRIAL = Trial(data=DataSpec(name="digits", fingerprint="x"), network=find("resnet-20"), recipe=find_recipe("digits"))


def test_the_state_follows_the_files(tmp_path: Path) -> None:
    """New, interrupted, finished; every sitting is remembered."""
    run = RunDirectory.of(TRIAL, tmp_path)
    assert run.state == "new"
    run.begin(TRIAL, {"device": "cpu"})
    run.begin(TRIAL, {"device": "cuda"})
    assert run.state == "interrupted"
    assert [sitting["device"] for sitting in run.read("provenance")["sittings"]] == ["cpu", "cuda"]
    run.finish({"error_percent": 1.0})
    assert run.state == "finished"
    assert run.trial() == TRIAL
    assert [found.path for found in list_runs(tmp_path)] == [run.path]


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    """An unfinished run has no result; a broken file is named."""
    run = RunDirectory.of(TRIAL, tmp_path)
    with pytest.raises(UserError, match=r"has no result\.json"):
        run.result()
    run.write("result", {})
    (run.path / "result.json").write_text("{")
    with pytest.raises(UserError, match=r"result\.json cannot be read"):
        run.result()


def test_runs_are_found_by_a_beginning_or_a_path(tmp_path: Path) -> None:
    """One match is found; none and several are told."""
    runs = []
    for seed in (1, 2):
        runs.append(RunDirectory.of(replace(TRIAL, seed=seed), tmp_path))
        runs[-1].begin(replace(TRIAL, seed=seed), {})
    for run in runs:
        assert find_run(run.path.name[:-4], tmp_path) == run
        assert find_run(str(run.path), tmp_path / "elsewhere") == run
    with pytest.raises(UserError, match="matches 2 runs;"):
        find_run("resnet-20", tmp_path)
    with pytest.raises(UserError, match="there is no run 'resnet-21'"):
        find_run("resnet-21", tmp_path)
    with pytest.raises(UserError, match="there is no run"):
        find_run("x" * 5000, tmp_path)
    assert match_runs("resnet-20", tmp_path) == list_runs(tmp_path)
    assert match_runs("resnet-21", tmp_path) == []


def test_a_kept_analysis_is_read_or_is_none(tmp_path: Path) -> None:
    """One that was not made is as one that cannot be read: it can be made again."""
    run = RunDirectory.of(TRIAL, tmp_path)
    assert run.kept("responses") == {}
    run.keep("responses", {"images": 3})
    assert run.kept("responses") == run.read("analysis/responses") == {"images": 3}
    (run.path / "analysis" / "responses.json").write_text("{")
    assert run.kept("responses") == {}


def test_findings_are_those_of_the_instrument(tmp_path: Path) -> None:
    """By all settings and at all steps, and their arrays; not those of others, nor parts of what is under way."""
    run = RunDirectory.of(TRIAL, tmp_path)
    assert run.list_findings("paths") == []
    for name in ("paths", "paths-1f0e", "paths-1f0e@200", "paths@200", "pathsofothers", "10-crop"):
        run.keep(name, {})
    (run.path / "analysis" / "paths-1f0e.npz").touch()
    (run.path / "analysis" / "paths.parts").mkdir()
    names = [path.name for path in run.list_findings("paths")]
    assert names == ["paths-1f0e.json", "paths-1f0e.npz", "paths-1f0e@200.json", "paths.json", "paths@200.json"]


def test_snapshots_are_known_by_their_steps(tmp_path: Path) -> None:
    """In order; a word may name one, unless it is the path of a run."""
    run = RunDirectory.of(TRIAL, tmp_path)
    assert run.snapshots == {}
    for step in (100_000_000, 20, 5):
        run.snapshot(step).parent.mkdir(parents=True, exist_ok=True)
        run.snapshot(step).touch()
    (run.path / "snapshots" / "notes.txt").touch()
    assert run.snapshots == {step: run.snapshot(step) for step in (5, 20, 100_000_000)}
    assert split_step("runs/resnet-20@64000") == ("runs/resnet-20", 64000)
    for word in ("resnet-20", "me@home", "@5", "resnet-20@"):
        assert split_step(word) == (word, None)
    named = RunDirectory(tmp_path / "run@5")
    named.begin(TRIAL, {})
    assert split_step(str(named.path)) == (str(named.path), None)


def test_runs_are_found_in_folders_of_runs(tmp_path: Path) -> None:
    """One level down, beside those that lie there themselves."""
    for folder, seed in ((tmp_path / "cifar10", 1), (tmp_path, 2)):
        RunDirectory.of(replace(TRIAL, seed=seed), folder).begin(replace(TRIAL, seed=seed), {})
    assert {run.trial().seed for run in list_runs(tmp_path)} == {1, 2}
    assert find_run(replace(TRIAL, seed=1).id, tmp_path).path.parent.name == "cifar10"


def test_a_held_run_is_running(tmp_path: Path) -> None:
    """Until it is finished, or its holder is gone."""
    run = RunDirectory.of(TRIAL, tmp_path)
    with run.working():
        assert run.state == "new"
        run.begin(TRIAL, {})
        assert run.state == "running"
    assert run.state == "interrupted"
    run.finish({})
    with run.working():
        assert run.state == "finished"


def test_a_run_that_was_never_begun_leaves_no_folder(tmp_path: Path) -> None:
    """Whatever stopped it; one that was begun stays."""
    run = RunDirectory.of(TRIAL, tmp_path)
    with pytest.raises(UserError, match="refused"), run.working():
        assert run.is_bare
        raise UserError("refused")
    assert not run.path.exists()
    with pytest.raises(UserError, match="stopped"), run.working():
        run.begin(TRIAL, {"device": "cpu"})
        raise UserError("stopped")
    assert run.state == "interrupted"


def test_of_several_runs_all_are_named(tmp_path: Path) -> None:
    """With seed and state, as far as eight; where weights are needed, those that are finished alone count."""
    trials = [replace(TRIAL, seed=seed) for seed in range(10)]
    runs = [RunDirectory.of(trial, tmp_path) for trial in trials]
    for run, trial in zip(runs[:3], trials[:3], strict=True):
        run.begin(trial, {"device": "cpu"})
    (runs[2].path / "trial.json").write_text("{")
    with pytest.raises(UserError, match="matches 3 runs;") as told:
        find_run("resnet-20", tmp_path)
    assert f"{runs[0].path.name} (seed 0, interrupted)" in str(told.value)
    assert f"{runs[2].path.name} (damaged)" in str(told.value)
    with pytest.raises(UserError, match="matches 3 runs;"):
        only_run("resnet-20", runs[:3], finished=True)
    runs[1].finish({})
    assert only_run("resnet-20", runs[:3], finished=True) == runs[1]
    runs[0].finish({})
    with pytest.raises(UserError, match=r"matches 2 finished runs; give more of the id: .*\(seed 0, finished\), "):
        only_run("resnet-20", runs[:3], finished=True)
    for run, trial in zip(runs, trials, strict=True):
        run.begin(trial, {"device": "cpu"})
    with pytest.raises(UserError, match=r"matches 10 runs;.*\) and 2 more$") as told:
        find_run("resnet-20", tmp_path)
    assert str(told.value).count("(seed ") == 8


def test_what_was_read_is_remembered(tmp_path: Path) -> None:
    """The same, and as it was; a run that is read anew has what came since."""
    written = write_run(tmp_path)
    run = ReadOnce(written.path)
    assert run.trial() == written.trial()
    result, log = run.result(), run.log(strict=True)
    assert (result, log) == (written.result(), written.log())
    written.write("result", {"step": 1})
    StepLog(run.path / "metrics.jsonl").append({"step": 99_999_999})
    assert run.result() is result
    assert run.log() is log
    assert ReadOnce(run.path).result() == {"step": 1}
    assert len(ReadOnce(run.path).log()) == len(log) + 1


def test_what_cannot_be_read_is_told_each_time(tmp_path: Path) -> None:
    """A log with a bad line is read, but never passes as strictly read; a file that is mended is read."""
    run = ReadOnce(write_run(tmp_path).path)
    text = (run.path / "metrics.jsonl").read_text()
    (run.path / "metrics.jsonl").write_text(f"nonsense\n{text}")
    (run.path / "result.json").write_text("{")
    for _ in range(2):
        assert len(run.log()) == len(text.splitlines())
        with pytest.raises(UserError, match="a line that cannot be read"):
            run.log(strict=True)
        with pytest.raises(UserError, match=r"result\.json cannot be read"):
            run.result()
    (run.path / "result.json").write_text("{}")
    assert run.result() == {}
