"""What a sitting writes down."""

from __future__ import annotations

from pathlib import Path

import pytest

from reslab.experiments import recording
from reslab.experiments.recording import Recorder
from reslab.runs.directory import RunDirectory


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
