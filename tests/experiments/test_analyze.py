"""Instruments on runs: measured once, kept, and read again."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.trials import DIGITS, make_digits_trial

from reslab.analysis.responses import measure as measuring
from reslab.experiments.analyze import analyze, analyze_run
from reslab.experiments.run import run_trial
from reslab.experiments.trained import choose_inputs, load_run
from reslab.networks import load_model
from reslab.runs.directory import RunDirectory


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A short run."""
    return run_trial(make_digits_trial("cifar-plain-8", iterations=4, batch=16), DIGITS, tmp_path)


def test_responses_are_kept_in_the_run(run: RunDirectory) -> None:
    """In the agreed form, over the whole test set, equal to torch's own over it."""
    found = analyze_run(run, DIGITS, "responses")
    assert run.read("analysis/responses") == found
    assert {key: found[key] for key in ("data", "images", "confidence", "resamples", "counted")} == {
        "data": "digits",
        "images": 355,
        "confidence": 0.95,
        "resamples": 1000,
        "counted": "3x3",
    }
    network = load_model(run.weights).eval()
    assert network.mean_image is not None
    with torch.no_grad():
        seen = network.activations(torch.from_numpy(DIGITS.test.images) / 16 - network.mean_image)
    expected = [float(value.double().std(correction=0)) for name, value in seen.items() if "response" in name]
    assert [layer["std"] for layer in found["layers"]] == pytest.approx(expected, rel=1e-5)
    assert [layer["name"] for layer in found["layers"]][:3] == ["conv1", "conv2_1.1", "conv2_1.2"]


def test_what_is_kept_is_not_measured_again(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it was of fewer images, had other settings, or cannot be read."""
    calls = []
    measure = measuring.measure_responses
    monkeypatch.setattr(measuring, "measure_responses", lambda *a, **k: calls.append(1) or measure(*a, **k))
    analyze(choose_inputs(load_run(run), DIGITS, images=20), "responses", run=run)
    assert not (run.path / "analysis").exists()
    assert analyze_run(run, DIGITS, "responses") == analyze_run(run, DIGITS, "responses")
    assert len(calls) == 2
    run.write("analysis/responses", run.read("analysis/responses") | {"resamples": 10})
    analyze_run(run, DIGITS, "responses")
    assert len(calls) == 3
    (run.path / "analysis" / "responses.json").write_text("{")
    assert analyze_run(run, DIGITS, "responses")["images"] == 355
    assert len(calls) == 4


def test_other_images_leave_the_run_alone(run: RunDirectory) -> None:
    """What is not the run's own test, as it was, is returned and not kept."""
    subject = choose_inputs(load_run(run), DIGITS, preprocess={"std": "[2]"})
    assert analyze(subject, "responses", run=run)["images"] == 355
    assert not (run.path / "analysis").exists()
