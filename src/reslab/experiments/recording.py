"""What a training tells as it goes, written down: metrics, speed and memory, and both for TensorBoard and trackers."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reslab.errors import UserError
from reslab.experiments.trackers import Courier
from reslab.runs.directory import RunDirectory
from reslab.runs.log import StepLog, join_best
from reslab.runtime.memory import peak_memory


class Recorder:
    """The logs of a run in this sitting; its speed is that of training between evaluations, which do not count."""

    def __init__(self, run: RunDirectory, *, batch: int, device: str, trackers: Sequence[Courier] = ()) -> None:
        self.run, self.trackers = run, trackers
        self.metrics, self.timings = StepLog(run.path / "metrics.jsonl"), StepLog(run.path / "timings.jsonl")
        self.board = Board(run.path / "tensorboard")
        self.batch, self.device = batch, device
        self.began = time.perf_counter()

    def rewind(self, step: int, judged_at: int) -> None:
        """Go on from `step`, the last evaluation before it being at `judged_at`: what was logged later is dropped."""
        self.metrics.rewind(step, last=judged_at)
        self.board.begin(step)
        for tracker in self.trackers:
            tracker.begin()
        self._start(step)

    def pause(self, step: int) -> None:
        """Stop the clock: `step` is reached, and an evaluation follows."""
        self.images_per_second = (step - self.step) * self.batch / (time.perf_counter() - self.started)

    def record(self, metrics: dict[str, float]) -> None:
        """Write what an evaluation gave, and what led to it took; the clock goes on."""
        step = int(metrics["step"])
        self.metrics.append(metrics)
        timing = {
            "step": step,
            "seconds": time.perf_counter() - self.began,
            "images_per_second": self.images_per_second,
            "peak_memory_bytes": peak_memory(self.device),
        }
        self.timings.append({**timing, "sitting": len(self.run.read("provenance")["sittings"])})
        self._start(step)
        for hearer in (self.board, *self.trackers):
            hearer.add("metrics", metrics)
            hearer.add("timings", timing)

    def last(self) -> dict[str, float]:
        """Return the metrics of the last evaluation; where the best weights were kept, its scores are theirs."""
        return join_best(self.metrics.read())

    def finish(self, result: dict[str, Any]) -> None:
        """Write the result: from now on the run is finished."""
        self.run.finish(result)
        numbers = {name: value for name, value in result.items() if isinstance(value, (int, float))}
        for tracker in self.trackers:
            tracker.add("result", numbers)

    def _start(self, step: int) -> None:
        self.step, self.started = step, time.perf_counter()


class Board:
    """Event files in a folder, one a sitting; without TensorBoard's package, nothing.

    Each begins by telling readers to forget what came after the step it goes on from, so curves stay whole across
    resumes. It is no SummaryWriter, which names files by the clock, and whose thread would meet a full disk unheard.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.events = folder, None
        try:
            from tensorboard.compat.proto import event_pb2, summary_pb2
            from tensorboard.summary.writer.record_writer import RecordWriter
        except ImportError:
            return
        self.events, self.summaries, self.writer = event_pb2, summary_pb2, RecordWriter

    def begin(self, step: int) -> None:
        """Start this sitting's file, numbered so that readers take the sittings in order; it goes on after `step`."""
        self.path = self.folder / f"events.out.tfevents.{len(list(self.folder.glob('*'))):06d}"
        if self.events is not None:
            self._write(file_version="brain.Event:2")
            restart = self.events.SessionLog(status=self.events.SessionLog.START)
            self._write(step=step + 1, session_log=restart)

    def add(self, group: str, entry: Mapping[str, float]) -> None:
        """Write a log's entry: each value under its name, at the entry's step."""
        if self.events is not None:
            named = {f"{group}/{name}": value for name, value in entry.items() if name != "step"}
            values = [self.summaries.Summary.Value(tag=tag, simple_value=value) for tag, value in named.items()]
            self._write(step=int(entry["step"]), summary=self.summaries.Summary(value=values))

    def _write(self, **fields: Any) -> None:
        """Append one event; the file is open no longer than that."""
        assert self.events is not None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                self.writer(file).write(self.events.Event(wall_time=time.time(), **fields).SerializeToString())
        except OSError as error:
            raise UserError(f"cannot write {self.path}: {error.strerror}; free some space and run again") from error
