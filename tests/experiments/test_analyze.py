"""Instruments on runs: measured once, kept, and read again."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.trials import DIGITS, make_digits_trial

from reslab.analysis.catalogue import Instrument
from reslab.analysis.convergence.settings import Convergence
from reslab.analysis.responses import measure as measuring
from reslab.analysis.responses.settings import Responses
from reslab.analysis.settings import Settings
from reslab.analysis.workbench import Workbench
from reslab.errors import UserError
from reslab.experiments.analyze import analyze, analyze_log, analyze_run
from reslab.experiments.run import run_trial
from reslab.experiments.trained import choose_inputs, load_run
from reslab.networks import load_model
from reslab.runs.directory import RunDirectory
from reslab.tasks.subject import Subject


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A short run."""
    return run_trial(make_digits_trial("cifar-plain-8", iterations=4, batch=16), DIGITS, tmp_path)


def test_responses_are_kept_in_the_run(run: RunDirectory) -> None:
    """In the agreed form, over the whole test set, equal to torch's own over it."""
    found = analyze_run(run, DIGITS, "responses")
    assert run.read("analysis/responses") == found
    told = {key: found[key] for key in ("subject", "step", "data", "images", "skipped_images", "counted")}
    assert told == {
        "subject": run.path.name,
        "step": None,
        "data": "digits",
        "images": 355,
        "skipped_images": 0,
        "counted": "3x3",
    }
    assert found["settings"] == {"images": 0, "on": "test", "seed": 0, "confidence": 0.95, "resamples": 1000}
    assert found["versions"]["torch"] == version("torch")
    network = load_model(run.weights).eval()
    assert network.mean_image is not None
    with torch.no_grad():
        seen = network.activations(torch.from_numpy(DIGITS.test.images) / 16 - network.mean_image)
    expected = [float(value.double().std(correction=0)) for name, value in seen.items() if "response" in name]
    assert [layer["std"] for layer in found["layers"]] == pytest.approx(expected, rel=1e-5)
    assert [layer["name"] for layer in found["layers"]][:3] == ["conv1", "conv2_1.1", "conv2_1.2"]


def test_a_setting_that_came_later_leaves_what_was_found_before(run: RunDirectory, calls: list[int]) -> None:
    """As by default it is what was measured, else it is not."""
    kept = analyze_run(run, DIGITS, "responses")
    settings = {name: value for name, value in kept["settings"].items() if name != "resamples"}
    run.keep("responses", {**kept, "settings": settings})
    assert analyze_run(run, DIGITS, "responses") == kept and len(calls) == 1
    run.keep("responses", {**kept, "settings": settings | {"confidence": 0.5}})
    assert analyze_run(run, DIGITS, "responses") == kept and len(calls) == 2


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One more for each time that responses are measured."""
    calls, measure = [], measuring.measure_responses
    monkeypatch.setattr(measuring, "measure_responses", lambda *a, **k: calls.append(1) or measure(*a, **k))
    return calls


def test_what_is_kept_is_not_measured_again(run: RunDirectory, calls: list[int]) -> None:
    """Unless it cannot be read, or is of other weights; other settings are kept beside it."""
    first = analyze_run(run, DIGITS, "responses")
    assert analyze_run(run, DIGITS, "responses") == first
    assert len(calls) == 1
    few = analyze_run(run, DIGITS, "responses", Responses(images=20))
    assert (few["images"], few["settings"]["images"], len(calls)) == (20, 20, 2)
    assert analyze_run(run, DIGITS, "responses", Responses(images=20)) == few
    assert analyze_run(run, DIGITS, "responses") == first
    assert len(calls) == 2
    named = f"responses-{Responses(images=20).digest}.json"
    assert [path.name for path in run.list_findings("responses")] == [named, "responses.json"]
    (run.path / "analysis" / "responses.json").write_text("{")
    assert analyze_run(run, DIGITS, "responses") == first
    run.keep("responses", first | {"weights": "others"})
    assert analyze_run(run, DIGITS, "responses") == first
    assert len(calls) == 4


def test_what_was_kept_before_there_were_settings_stands(run: RunDirectory, calls: list[int]) -> None:
    """As a version before wrote it, of all images and with today's defaults; else it is measured again."""
    found = analyze_run(run, DIGITS, "responses")
    names = ("data", "images", "skipped_images", "counted", "layers")
    before = {name: found[name] for name in names} | {"confidence": 0.95, "resamples": 1000}
    run.keep("responses", before)
    assert analyze_run(run, DIGITS, "responses") == before | {"settings": found["settings"]}
    assert len(calls) == 1
    for other in ({"resamples": 10}, {"images": 20}, {"data": "cifar10"}):
        run.keep("responses", before | other)
        assert analyze_run(run, DIGITS, "responses") == found
    assert len(calls) == 4


def test_training_images_are_measured_too(run: RunDirectory) -> None:
    """By the same code."""
    found = analyze_run(run, DIGITS, "responses", Responses(on="train", images=50))
    subject = choose_inputs(load_run(run), DIGITS)
    ((images, _),) = subject.batches(50, on="train", images=50)
    layers = measuring.measure_responses(subject.network, [images], confidence=0.95, resamples=1000)
    assert [layer["std"] for layer in found["layers"]] == pytest.approx([layer.std for layer in layers], rel=1e-6)


def test_other_images_leave_the_run_alone(run: RunDirectory, tmp_path: Path) -> None:
    """What is not the run's own test, as it was, is returned, and kept where that is asked for."""
    subject = choose_inputs(load_run(run), DIGITS, preprocess={"std": "[2]"})
    found = analyze(subject, "responses", run=run)
    assert found["images"] == 355
    assert not (run.path / "analysis").exists()
    out = tmp_path / "out"
    kept = analyze(subject, "responses", run=run, out=out)
    assert kept == found | {"weights": kept["weights"]}
    assert RunDirectory(out / run.path.name).kept("responses") == kept
    assert not (run.path / "analysis").exists()


def test_a_step_has_findings_of_its_own(tmp_path: Path) -> None:
    """Beside those of the whole run, which they are never taken for."""
    run = run_trial(make_digits_trial(iterations=4, batch=16), DIGITS, tmp_path, snapshots=frozenset({1}))
    early = analyze(choose_inputs(load_run(run, step=1), DIGITS), "responses", run=run)
    late = analyze_run(run, DIGITS, "responses")
    assert (early["step"], late["step"]) == (1, None)
    assert early["layers"] != late["layers"]
    assert [path.name for path in run.list_findings("responses")] == ["responses.json", "responses@1.json"]


def test_parts_are_gone_when_the_whole_is_there(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """An instrument that was stopped goes on from what it kept; nothing of that is left at the end."""
    asked: list[Any] = []

    def count(subject: Subject, settings: Settings, workbench: Workbench) -> dict[str, Any]:
        asked.append(workbench.resume("count"))
        workbench.keep("count", {"done": np.array(len(asked))})
        workbench.store({"counted": np.arange(len(asked))})
        if len(asked) == 1:
            raise KeyboardInterrupt
        return {"images": subject.count(settings.on), "skipped_images": 0, "calls": len(asked)}

    monkeypatch.setattr(measuring, "INSTRUMENT", Instrument(settings=Responses, measure=count))
    with pytest.raises(KeyboardInterrupt):
        analyze_run(run, DIGITS, "responses")
    assert run.kept("responses") == {}
    assert analyze_run(run, DIGITS, "responses")["calls"] == 2
    assert asked[0] is None
    assert int(asked[1]["done"]) == 1
    names = sorted(path.name for path in (run.path / "analysis").iterdir())
    assert names == ["responses.json", "responses.npz"]


def test_more_images_than_there_are_are_refused(run: RunDirectory) -> None:
    """Before anything is measured."""
    with pytest.raises(UserError, match="images is 400, but digits has 355 test images"):
        analyze_run(run, DIGITS, "responses", Responses(images=400))


def test_logs_are_read_without_weights(tmp_path: Path) -> None:
    """A record is enough; what was found is kept in it, or where the user says, and other instruments refuse logs."""
    trial = make_digits_trial("cifar-plain-8", iterations=40, evaluate_every=2, batch=8)
    run = run_trial(trial, DIGITS, tmp_path)
    run.weights.unlink()
    found = analyze_log(run, "convergence", Convergence(least=5, resamples=5))
    assert run.read(f"analysis/convergence-{Convergence(least=5, resamples=5).digest}") == found
    assert (found["subject"], found["data"], found["settings"]["least"]) == (run.path.name, "digits", 5)
    assert analyze_log(run, "convergence", Convergence(least=5, resamples=5), out=tmp_path / "out") == found
    assert (tmp_path / "out" / run.path.name / "analysis").is_dir()


def test_a_subject_has_no_log(run: RunDirectory) -> None:
    """Whoever gives one where a run is wanted is told so."""
    with pytest.raises(UserError, match="convergence reads the log of a run; give analyze_log a run"):
        analyze_run(run, DIGITS, "convergence")
