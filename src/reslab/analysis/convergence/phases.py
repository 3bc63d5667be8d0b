"""The phases of a training in which the learning rate is constant, read off a run's log; no torch."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reslab.analysis.convergence.laws import Floats


@dataclass(frozen=True)
class Phase:
    """One learning rate, from the iteration it begins at to that of its last test; `entries` are the log's."""

    learning_rate: float
    start: int
    stop: int
    entries: tuple[Mapping[str, float], ...]

    @property
    def iterations(self) -> int:
        """How long it is."""
        return self.stop - self.start

    def curve(self, name: str, *, skip: float) -> tuple[Floats, Floats]:
        """Return iterations since its beginning and what the log has by `name`, without the first part of it.

        What is logged of training is a mean over the iterations since the last test: its time is their middle.
        """
        steps = np.array([self.start, *[entry["step"] for entry in self.entries]], np.float64)
        times = (steps[:-1] + steps[1:]) / 2 - self.start
        values = np.array([entry.get(name, math.nan) for entry in self.entries], np.float64)
        kept = (times > skip * self.iterations) & np.isfinite(values)
        return times[kept], values[kept]


def find_phases(log: Sequence[Mapping[str, float]], *, least: int) -> list[Phase]:
    """Return the phases with at least so many tests, in their order."""
    phases: list[Phase] = []
    start, members = 0, []
    for index, entry in enumerate(log):
        members.append(entry)
        following = log[index + 1]["learning_rate"] if index + 1 < len(log) else None
        if following is None or not math.isclose(following, entry["learning_rate"], rel_tol=1e-6):
            phases.append(Phase(entry["learning_rate"], start, int(entry["step"]), tuple(members)))
            start, members = int(entry["step"]), []
    return [phase for phase in phases if len(phase.entries) >= least]
