"""What a training tells as it goes, written down: metrics, speed and memory, and both for TensorBoard."""

from __future__ import annotations

import time

from reslab.experiments.tensorboard import Board
from reslab.runs.directory import RunDirectory
from reslab.runs.log import StepLog
from reslab.runtime.memory import peak_memory


class Recorder:
    """The logs of a run in this sitting; its speed is that of training between evaluations, which do not count."""

    def __init__(self, run: RunDirectory, *, batch: int, device: str) -> None:
        self.run = run
        self.metrics, self.timings = StepLog(run.path / "metrics.jsonl"), StepLog(run.path / "timings.jsonl")
        self.board = Board(run.path / "tensorboard")
        self.batch, self.device = batch, device
        self.began = time.perf_counter()

    def rewind(self, step: int, judged_at: int) -> None:
        """Go on from `step`, the last evaluation before it being at `judged_at`: what was logged later is dropped."""
        self.metrics.rewind(step, last=judged_at)
        self.board.begin(step)
        self._start(step)

    def pause(self, step: int) -> None:
        """Stop the clock: `step` is reached, and an evaluation follows."""
        self.images_per_second = (step - self.step) * self.batch / (time.perf_counter() - self.started)

    def record(self, metrics: dict[str, float]) -> None:
        """Write what an evaluation gave, and what led to it took; the clock goes on."""
        step = int(metrics["step"])
        self.metrics.append(metrics)
        self.board.add("metrics", metrics)
        timing = {
            "step": step,
            "seconds": time.perf_counter() - self.began,
            "images_per_second": self.images_per_second,
            "peak_memory_bytes": peak_memory(self.device),
        }
        self.timings.append({**timing, "sitting": len(self.run.read("provenance")["sittings"])})
        self._start(step)
        self.board.add("timings", timing)

    def last(self) -> dict[str, float]:
        """Return the metrics of the last evaluation."""
        return self.metrics.read()[-1]

    def _start(self, step: int) -> None:
        self.step, self.started = step, time.perf_counter()
