"""MLflow and Weights & Biases hear what a run logs; by stand-ins, and by the packages themselves where they are."""

from __future__ import annotations

import importlib.util
import sys
import threading
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.trials import DIGITS, make_digits_trial

from reslab.errors import UserError
from reslab.experiments import trackers
from reslab.experiments.run import run_trial
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener
from reslab.runtime.processes import Processes
from reslab.training.loop import Stopped

TRIAL = make_digits_trial("cifar-plain-8", iterations=4, batch=16, evaluate_every=1)


def run_in_two_sittings(root: Path, told: list[str]) -> RunDirectory:
    """Train, stop after the second iteration, and train on."""
    steps: list[int] = []
    listener = Listener(
        progress=lambda step, _: steps.append(step), should_stop=lambda: len(steps) == 1, warn=told.append
    )
    with pytest.raises(Stopped):
        run_trial(TRIAL, DIGITS, root, listener=listener)
    return run_trial(TRIAL, DIGITS, root, listener=Listener(warn=told.append))


def stand_in(patch: pytest.MonkeyPatch, name: str, **contents: Any) -> None:
    """Put a module in the place of a package."""
    module = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None)
    vars(module).update(contents)
    patch.setitem(sys.modules, name, module)


class Store:
    """What stands in for MLflow's server: runs with their parameters, metrics and states."""

    def __init__(self) -> None:
        self.experiments: dict[str, str] = {}
        self.runs: dict[str, SimpleNamespace] = {}

    def get_experiment_by_name(self, name: str) -> SimpleNamespace | None:
        return SimpleNamespace(experiment_id=self.experiments[name]) if name in self.experiments else None

    def create_experiment(self, name: str) -> str:
        return self.experiments.setdefault(name, str(len(self.experiments)))

    def create_run(self, experiment_id: str, run_name: str) -> SimpleNamespace:
        name = f"run {len(self.runs)}"
        self.runs[name] = SimpleNamespace(name=run_name, params={}, metrics=[], states=["RUNNING"])
        return SimpleNamespace(info=SimpleNamespace(run_id=name))

    def update_run(self, run_id: str, status: str) -> None:
        self.runs[run_id].states.append(status)

    set_terminated = update_run

    def get_metric_history(self, run_id: str, key: str) -> list[Any]:
        return [metric for metric in self.runs[run_id].metrics if metric.key == key]

    def log_batch(self, run_id: str, metrics: Any = (), params: Any = ()) -> None:
        self.runs[run_id].metrics.extend(metrics)
        self.runs[run_id].params.update(params)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    """MLflow, stood in for."""
    store = Store()
    stand_in(monkeypatch, "mlflow", MlflowClient=lambda: store, get_tracking_uri=lambda: "http://server")
    stand_in(
        monkeypatch,
        "mlflow.entities",
        Param=lambda name, text: (name, text),
        Metric=lambda key, value, time, step: SimpleNamespace(key=key, value=value, step=step),
    )
    monkeypatch.setenv("RESLAB_TRACK", "mlflow")
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    return store


def test_mlflow_hears_of_a_run_once(store: Store, tmp_path: Path) -> None:
    """A run that was stopped goes on as the same run; its metrics are those of the log, each once."""
    told: list[str] = []
    run = run_in_two_sittings(tmp_path, told)
    assert not told
    assert list(store.experiments) == ["reslab"]
    (known,) = store.runs.values()
    assert known.name == TRIAL.id
    assert known.states == ["RUNNING", "KILLED", "RUNNING", "FINISHED"]
    assert (known.params["recipe.batch"], known.params["data.name"]) == ("16", "digits")
    for name in ("train_loss", "test_error_percent"):
        logged = [(metric.step, metric.value) for metric in known.metrics if metric.key == f"metrics/{name}"]
        assert logged == [(entry["step"], entry[name]) for entry in run.log()]
    assert {metric.step for metric in known.metrics if metric.key == "timings/images_per_second"} == {1, 2, 3, 4}
    (ended,) = [metric.value for metric in known.metrics if metric.key == "result/error_percent"]
    assert ended == run.result()["error_percent"]


def test_what_came_after_the_checkpoint_is_not_logged_twice(store: Store, tmp_path: Path) -> None:
    """A killed sitting may have logged more than was saved."""
    tracker = trackers.MLflow(RunDirectory(tmp_path), TRIAL)
    tracker.begin()
    for step in (4, 8):
        tracker.add(step, {"metrics/images": 1.0})
    tracker = trackers.MLflow(RunDirectory(tmp_path), TRIAL)
    tracker.begin()
    for step in (8, 12):
        tracker.add(step, {"metrics/images": 2.0})
    (known,) = store.runs.values()
    assert [(metric.step, metric.value) for metric in known.metrics] == [(4, 1.0), (8, 1.0), (12, 2.0)]


def test_on_another_server_it_is_another_run(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody there knows the first."""
    trackers.MLflow(RunDirectory(tmp_path), TRIAL).begin()
    monkeypatch.setattr(sys.modules["mlflow"], "get_tracking_uri", lambda: "http://other")
    trackers.MLflow(RunDirectory(tmp_path), TRIAL).begin()
    assert len(store.runs) == 2


def test_weights_and_biases_hears_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under one id in both sittings, with the whole trial as its configuration."""
    inits: list[dict[str, Any]] = []
    logged: list[tuple[int, dict[str, float]]] = []
    codes: list[int] = []
    tracked = SimpleNamespace(
        log=lambda values, step: logged.append((step, values)), finish=lambda exit_code: codes.append(exit_code)
    )
    stand_in(monkeypatch, "wandb", init=lambda **given: inits.append(given) or tracked, Settings=SimpleNamespace)
    monkeypatch.setenv("RESLAB_TRACK", "wandb")
    monkeypatch.setenv("WANDB_PROJECT", "mine")
    monkeypatch.delenv("WANDB_DIR", raising=False)
    told: list[str] = []
    run = run_in_two_sittings(tmp_path, told)
    assert not told
    first, second = inits
    assert first["id"] == second["id"] and first["resume"] == "allow"
    assert (first["project"], first["name"], first["dir"]) == ("mine", TRIAL.id, str(run.path))
    assert first["config"]["recipe"]["batch"] == 16
    assert [(step, values["metrics/train_loss"]) for step, values in logged if "metrics/train_loss" in values] == [
        (entry["step"], entry["train_loss"]) for entry in run.log()
    ]
    assert codes == [1, 0]


def test_a_server_that_fails_is_told_of_once(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends as it would have."""
    monkeypatch.setattr(store, "log_batch", lambda *_, **__: (_ for _ in ()).throw(OSError("connection\nrefused")))
    told: list[str] = []
    run = run_trial(TRIAL, DIGITS, tmp_path, listener=Listener(warn=told.append))
    assert run.state == "finished"
    assert told == [
        "logging to MLflow has stopped: connection refused; the run continues, and its own logs are complete"
    ]


def test_a_server_that_hangs_holds_nobody_up(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All evaluations are made while it does not answer; at the end it is given a while, and then told of."""
    answers = threading.Event()
    monkeypatch.setattr(trackers, "SECONDS_TO_END", 0.05)
    monkeypatch.setattr(store, "create_experiment", lambda name: answers.wait())
    told: list[str] = []
    try:
        run = run_trial(TRIAL, DIGITS, tmp_path, listener=Listener(warn=told.append))
    finally:
        answers.set()
    assert run.state == "finished"
    assert [sentence.partition(";")[0] for sentence in told] == [
        "logging to MLflow has stopped: no answer for 0.05 seconds"
    ]


def test_a_run_that_fails_is_failed_there_too(store: Store, tmp_path: Path) -> None:
    """And one that was finished before is not heard of."""

    def fail(step: int, metrics: object) -> None:
        raise UserError("no")

    with pytest.raises(UserError):
        run_trial(TRIAL, DIGITS, tmp_path, listener=Listener(progress=fail))
    (known,) = store.runs.values()
    assert known.states == ["RUNNING", "FAILED"]
    run_trial(TRIAL, DIGITS, tmp_path)
    run_trial(TRIAL, DIGITS, tmp_path)
    assert known.states == ["RUNNING", "FAILED", "RUNNING", "FINISHED"]


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ("mlflo", r"RESLAB_TRACK is 'mlflo'; give mlflow, wandb, or both: mlflow,wandb"),
        ("wandb", r"RESLAB_TRACK=wandb needs the package wandb; install it with `pip install wandb`"),
    ],
)
def test_what_cannot_hear_is_refused(
    wanted: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is written."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("RESLAB_TRACK", wanted)
    with pytest.raises(UserError, match=sentence):
        run_trial(TRIAL, DIGITS, tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_first_process_alone_speaks(store: Store, tmp_path: Path) -> None:
    """Others have nobody to tell."""
    second = Processes(rank=1, count=2)
    with trackers.tracked(RunDirectory(tmp_path), TRIAL, processes=second, listener=Listener()) as couriers:
        assert couriers == []


@pytest.mark.skipif(importlib.util.find_spec("mlflow") is None, reason="MLflow is not installed")
@pytest.mark.filterwarnings("default")
def test_the_real_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder serves as its store."""
    monkeypatch.setenv("RESLAB_TRACK", "mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", str(tmp_path / "mlruns"))
    monkeypatch.setattr(trackers, "SECONDS_TO_END", 60.0)
    told: list[str] = []
    run = run_in_two_sittings(tmp_path / "runs", told)
    assert not told
    from mlflow import MlflowClient

    client = MlflowClient()
    known = run.read("mlflow")["run_id"]
    history = client.get_metric_history(known, "metrics/test_error_percent")
    assert [(point.step, point.value) for point in history] == [
        (entry["step"], entry["test_error_percent"]) for entry in run.log()
    ]
    found = client.get_run(known)
    assert (found.info.status, found.data.params["recipe.batch"]) == ("FINISHED", "16")
    assert found.data.metrics["result/error_percent"] == run.result()["error_percent"]


@pytest.mark.skipif(importlib.util.find_spec("wandb") is None, reason="Weights & Biases is not installed")
@pytest.mark.filterwarnings("default")
def test_the_real_weights_and_biases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Offline, in the run's folder: a record for each sitting, under one id."""
    monkeypatch.setenv("RESLAB_TRACK", "wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setattr(trackers, "SECONDS_TO_END", 60.0)
    told: list[str] = []
    run = run_in_two_sittings(tmp_path, told)
    assert not told
    sittings = list((run.path / "wandb").glob(f"offline-run-*-{run.read('wandb')['id']}"))
    assert sittings and all(list(sitting.glob("*.wandb")) for sitting in sittings)


def test_of_trials_that_begin_together_one_creates_the_experiment(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others find it there."""

    def create_late(name: str) -> str:
        store.experiments[name] = "0"  # another trial's, since it was looked for
        raise OSError(f"experiment {name} already exists")

    monkeypatch.setattr(store, "create_experiment", create_late)
    trackers.MLflow(RunDirectory(tmp_path), TRIAL).begin()
    assert len(store.runs) == 1
    monkeypatch.setattr(store, "get_experiment_by_name", lambda name: None)
    with pytest.raises(OSError, match="already exists"):
        trackers.MLflow(RunDirectory(tmp_path / "other"), TRIAL).begin()
