"""MLflow and Weights & Biases, which receive what a run logs if `RESLAB_TRACK` is `mlflow`, `wandb`, or both.

Where they are and who one is, each reads from its own variables (`MLFLOW_TRACKING_URI`, `WANDB_MODE=offline`). They are
spoken to by a thread of their own: a server that is slow or gone neither slows nor ends a training, and is told of
once. Under which name they know a run is kept in its folder, so a run that goes on is the same run there.
"""

import contextlib
import importlib.util
import os
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, Protocol

from reslab.errors import UserError
from reslab.json_text import to_json
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener
from reslab.runtime.processes import Processes
from reslab.spec.codec import flatten
from reslab.spec.trial import Trial, trial_to_dict
from reslab.training.loop import Stopped

Ending = Literal["finished", "stopped", "failed"]
PROJECT = "reslab"  # unless its variable names another
SECONDS_TO_END = 10.0  # for what was not sent yet, when a run ends
MOST_PARAMS = 100  # that MLflow takes at a time


class Tracker(Protocol):
    """A service that receives a run's logs; after any exception it receives no more in this sitting."""

    def begin(self) -> None: ...

    def add(self, step: int, values: Mapping[str, float]) -> None: ...

    def end(self, ending: Ending) -> None: ...


class MLflow:
    """A run of the experiment that MLFLOW_EXPERIMENT_NAME names; what an earlier sitting logged is not logged again."""

    def __init__(self, run: RunDirectory, trial: Trial) -> None:
        self.run, self.trial = run, trial

    def begin(self) -> None:
        from mlflow import MlflowClient, get_tracking_uri  # pyright: ignore[reportMissingImports]

        self.client, place, self.reached = MlflowClient(), get_tracking_uri(), 0
        known = _recall(self.run, "mlflow")
        if known.get("tracking_uri") == place:
            self.id = known["run_id"]
            self.client.update_run(self.id, status="RUNNING")
            logged = self.client.get_metric_history(self.id, "metrics/images")
            self.reached = max((metric.step for metric in logged), default=0)
            return
        self.id = self.client.create_run(self._find_experiment(), run_name=self.trial.id).info.run_id
        self.run.write("mlflow", {"run_id": self.id, "tracking_uri": place})
        self._describe()

    def _find_experiment(self) -> str:
        """Return the experiment's id; of trials that begin together one creates it."""
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or PROJECT
        if (experiment := self.client.get_experiment_by_name(name)) is None:
            try:
                return self.client.create_experiment(name)
            except Exception:  # another has just done so; else the next line says what is wrong
                if (experiment := self.client.get_experiment_by_name(name)) is None:
                    raise
        return experiment.experiment_id

    def _describe(self) -> None:
        from mlflow.entities import Param  # pyright: ignore[reportMissingImports]

        fields = flatten(trial_to_dict(self.trial)).items()
        params = [Param(name, value if isinstance(value, str) else to_json(value)) for name, value in fields]
        for first in range(0, len(params), MOST_PARAMS):
            self.client.log_batch(self.id, params=params[first : first + MOST_PARAMS])

    def add(self, step: int, values: Mapping[str, float]) -> None:
        from mlflow.entities import Metric  # pyright: ignore[reportMissingImports]

        if step > self.reached or any(name.startswith("result/") for name in values):
            now = int(time.time() * 1000)
            self.client.log_batch(self.id, metrics=[Metric(name, value, now, step) for name, value in values.items()])

    def end(self, ending: Ending) -> None:
        status = {"finished": "FINISHED", "stopped": "KILLED", "failed": "FAILED"}[ending]
        self.client.set_terminated(self.id, status=status)


class WeightsAndBiases:
    """A run of the project that WANDB_PROJECT names; it ignores steps that it has received before."""

    def __init__(self, run: RunDirectory, trial: Trial) -> None:
        self.run, self.trial = run, trial

    def begin(self) -> None:
        import wandb  # pyright: ignore[reportMissingImports]

        known = _recall(self.run, "wandb")
        if not known:
            known = {"id": uuid.uuid4().hex[:12]}
            self.run.write("wandb", known)
        self.tracked = wandb.init(
            id=known["id"],
            resume="allow",
            reinit="create_new",  # trials run side by side
            name=self.trial.id,
            project=os.environ.get("WANDB_PROJECT") or PROJECT,
            dir=os.environ.get("WANDB_DIR") or str(self.run.path),
            config=trial_to_dict(self.trial),
            settings=wandb.Settings(silent=True, console="off"),
        )

    def add(self, step: int, values: Mapping[str, float]) -> None:
        self.tracked.log(dict(values), step=step)

    def end(self, ending: Ending) -> None:
        self.tracked.finish(exit_code=0 if ending == "finished" else 1)


TRACKERS: dict[str, tuple[str, type[MLflow] | type[WeightsAndBiases]]] = {
    "mlflow": ("MLflow", MLflow),
    "wandb": ("Weights & Biases", WeightsAndBiases),
}


class Courier:
    """Sends everything to one tracker, from a thread of its own; stops at the first failure."""

    def __init__(self, title: str, tracker: Tracker, listener: Listener) -> None:
        self.title, self.tracker, self.listener = title, tracker, listener
        self.errands: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None
        self.failure: Exception | None = None
        self.silent = False

    def begin(self) -> None:
        """Let the tracker know that the run is under way."""
        self.errands.put(self.tracker.begin)
        self.thread = threading.Thread(target=self._deliver, daemon=True)
        self.thread.start()

    def add(self, group: str, entry: Mapping[str, float]) -> None:
        """Hand over a log's entry: each number under its name, at the entry's step."""
        step = int(entry["step"])
        numbers = {f"{group}/{name}": float(value) for name, value in entry.items() if name != "step"}
        self.errands.put(lambda: self.tracker.add(step, numbers))
        self._tell()

    def end(self, ending: Ending) -> None:
        """Say how the run ended, and wait a little for all that was handed over."""
        if self.thread is None:
            return
        self.errands.put(lambda: self.tracker.end(ending))
        self.errands.put(None)
        self.thread.join(SECONDS_TO_END)
        if self.thread.is_alive():
            self.failure = self.failure or TimeoutError(f"no answer for {SECONDS_TO_END:g} seconds")
        self._tell()

    def _deliver(self) -> None:
        while (errand := self.errands.get()) is not None:
            try:
                errand()
            except Exception as error:  # whatever a service raises is not the run's
                self.failure = error
                return

    def _tell(self) -> None:
        if self.failure is not None and not self.silent:
            self.silent = True
            said = " ".join(str(self.failure).split()) or type(self.failure).__name__
            self.listener.warn(
                f"logging to {self.title} has stopped: {said[:200]}; the run continues, and its own logs are complete"
            )


@contextlib.contextmanager
def tracked(run: RunDirectory, trial: Trial, *, processes: Processes, listener: Listener) -> Iterator[list[Courier]]:
    """Yield the trackers of a run, in the first of its processes; at the end they receive how the run ended."""
    names = _read_names() if processes.first else []
    couriers = [Courier(title, kind(run, trial), listener) for title, kind in (TRACKERS[name] for name in names)]
    ending: Ending = "failed"
    try:
        yield couriers
        ending = "finished"
    except Stopped:
        ending = "stopped"
        raise
    finally:
        for courier in couriers:
            courier.end(ending)


def _read_names() -> list[str]:
    """Return the wanted trackers; refuse an unknown one, or one that is not installed."""
    names = [name for name in os.environ.get("RESLAB_TRACK", "").replace(" ", "").split(",") if name]
    for name in names:
        if name not in TRACKERS:
            raise UserError(f"RESLAB_TRACK is '{name}'; give mlflow, wandb, or both: mlflow,wandb")
        if importlib.util.find_spec(name) is None:
            raise UserError(f"RESLAB_TRACK={name} needs the package {name}; install it with `pip install {name}`")
    return list(dict.fromkeys(names))


def _recall(run: RunDirectory, name: str) -> dict[str, Any]:
    """Return under which name a tracker knows a run; nothing where it does not, or that cannot be read."""
    try:
        return run.read(name)
    except UserError:
        return {}
