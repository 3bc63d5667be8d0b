"""What a sitting writes down; event files are read back by TensorBoard's own reader."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tests.experiments.faults import make_trial
from tests.trials import DIGITS

from reslab.experiments import recording
from reslab.experiments.recording import Board, Recorder
from reslab.experiments.run import run_trial
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener
from reslab.training.loop import Stopped


def test_speed_is_that_of_training_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluations take time of the sitting, and none of the speed; a sitting that goes on counts from its step."""
    now = 100.0
    monkeypatch.setattr(recording.time, "perf_counter", lambda: now)
    run = RunDirectory(tmp_path)
    run.write("provenance", {"sittings": [{}, {}]})
    recorder = Recorder(run, batch=8, device="cpu")
    recorder.rewind(10, 0)
    now = 102.0
    recorder.pause(20)
    now = 107.0
    recorder.record({"step": 20, "test_error_percent": 3.0})
    now = 108.0
    recorder.pause(25)
    recorder.record({"step": 25, "test_error_percent": 2.0})
    timings = recorder.timings.read()
    assert [(entry["step"], entry["seconds"], entry["images_per_second"]) for entry in timings] == [
        (20, 7, 40),
        (25, 8, 40),
    ]
    assert [entry["sitting"] for entry in timings] == [2, 2]
    assert recorder.last() == {"step": 25, "test_error_percent": 2.0}


def read(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Every curve, as (step, value)."""
    reader = EventAccumulator(str(folder)).Reload()
    return {tag: [(event.step, event.value) for event in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}


def read_log(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_curves_are_the_logs(tmp_path: Path) -> None:
    """Metrics and timings of a run, at every evaluation; each sitting has a file of its own there."""
    run = run_trial(make_trial(), DIGITS, tmp_path)
    curves = read(run.path / "tensorboard")
    for group in ("metrics", "timings"):
        entries = read_log(run.path / f"{group}.jsonl")
        assert [entry["step"] for entry in entries] == list(range(4, 41, 4))
        for name in set().union(*entries) - {"step", "sitting"}:
            logged = [(entry["step"], entry[name]) for entry in entries if name in entry]
            steps, values = zip(*curves.pop(f"{group}/{name}"), strict=True)
            assert steps == tuple(step for step, _ in logged)
            assert values == pytest.approx([value for _, value in logged], rel=1e-6)
    assert not curves


def test_curves_go_on_after_a_cut(tmp_path: Path) -> None:
    """What a lost sitting wrote after the checkpoint is forgotten; every step is there once."""
    board = Board(tmp_path)
    board.begin(0)
    for step in (8, 16, 24):
        board.add("metrics", {"step": step, "loss": 1.0})
    board = Board(tmp_path)
    board.begin(8)
    for step in (16, 24, 32):
        board.add("metrics", {"step": step, "loss": 2.0})
    assert read(tmp_path) == {"metrics/loss": [(8, 1.0), (16, 2.0), (24, 2.0), (32, 2.0)]}


def test_a_record_cut_short_by_a_crash_harms_no_other(tmp_path: Path) -> None:
    """The next sitting has a file of its own."""
    board = Board(tmp_path)
    board.begin(0)
    board.add("metrics", {"step": 8, "loss": 1.0})
    board.add("metrics", {"step": 16, "loss": 1.0})
    board.path.write_bytes(board.path.read_bytes()[:-5])
    board = Board(tmp_path)
    board.begin(8)
    board.add("metrics", {"step": 16, "loss": 2.0})
    assert read(tmp_path) == {"metrics/loss": [(8, 1.0), (16, 2.0)]}


def test_a_stopped_run_has_every_evaluation_once(tmp_path: Path) -> None:
    """Stopped and resumed, the curve is the metric log's."""
    steps = [0]
    with pytest.raises(Stopped):
        run_trial(
            make_trial(),
            DIGITS,
            tmp_path,
            listener=Listener(progress=lambda step, _: steps.append(step), should_stop=lambda: steps[-1] >= 10),
        )
    run = run_trial(make_trial(), DIGITS, tmp_path)
    assert run == RunDirectory.of(make_trial(), tmp_path)
    steps = [step for step, _ in read(run.path / "tensorboard")["metrics/test_loss"]]
    assert steps == [entry["step"] for entry in read_log(run.path / "metrics.jsonl")]


def test_without_the_package_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing said."""
    monkeypatch.setitem(sys.modules, "tensorboard.summary.writer.record_writer", None)
    board = Board(tmp_path / "board")
    board.begin(0)
    board.add("metrics", {"step": 1, "loss": 1.0})
    assert not (tmp_path / "board").exists()
