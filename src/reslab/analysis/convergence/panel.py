"""What a run's page shows of convergence: the laws over the training curve that they were fitted to; no torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from reslab.analysis.catalogue import InstrumentPanel
from reslab.analysis.convergence.laws import LawName
from reslab.numbers import count
from reslab.tasks.display import Cell, Plot, Section

POINTS = 60  # of a law in a phase
SHADES: dict[LawName, int] = {"exponential": 1, "power": 2}


@dataclass(frozen=True, kw_only=True)
class ConvergencePanel(InstrumentPanel):
    """The laws fitted to one training: what is told of each curve, phase by phase."""

    title = "Convergence"
    question = "How fast does the training error fall, and would a plain network get there with more iterations?"
    note = (
        "The training curve, and two laws fitted to each phase of one learning rate: a floor to which the curve falls "
        "exponentially, or by a power of the iterations. A dashed law fits worse than the other one."
    )

    settings: Mapping[str, Any]
    curves: Sequence[Mapping[str, Any]]

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Self:
        """Read it off what is stored."""
        return cls(data=str(found["data"]), images=0, settings=found["settings"], curves=found["curves"])

    def sections(self, arrays: Mapping[str, NDArray[Any]], *, key: str) -> Sequence[Section]:
        """Return a section for each curve: the laws over it, beside a table of their floors and rates.

        Early versions stored no points: their laws are drawn alone.
        """
        return [self._show(curve, arrays, f"{key}-{number}") for number, curve in enumerate(self.curves)]

    def _show(self, curve: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], key: str) -> Section:
        words = f"{curve['words']}, {curve['unit']}" if curve["unit"] else str(curve["words"])
        at, values = (arrays.get(name, np.zeros(0)).tolist() for name in ("at", curve["log"]))
        content = {
            "x": at,
            "y": [None if value != value else float(f"{value:.5g}") for value in values],
            "mode": "markers",
            "name": "training",
            "words": words,
            "axes": ["iterations"],
            "lines": _draw_laws(curve["phases"], at, skip=self.settings["skip"]),
        }
        plot = Plot(key, "profile", f"Training {curve['words']}", content, words=f"Laws over the training {words}")
        skip = f"{100 * self.settings['skip']:g} %"
        percent = f"{100 * self.settings['confidence']:g} %"
        return Section(
            title=f"Convergence of the training {curve['words']}",
            note=(
                f"Floor + a·exp(−rate·t), with t in 1,000 iterations, and floor + a·t^(−rate), fitted to each phase "
                f"of one learning rate without its first {skip}. Intervals, in brackets, are those of {percent}; "
                "they hold if the law does. The law that fits worse is dashed."
            ),
            table_title="Floors and rates",
            words=f"Laws fitted to the training {curve['words']}, phase by phase",
            headings=(("phase", ""), ("floor", str(curve["unit"])), ("rate", ""), ("last", str(curve["unit"]))),
            rows=tuple(_tabulate(curve)),
            plots=(plot,),
        )


def _draw_laws(phases: Sequence[Mapping[str, Any]], at: Sequence[float], *, skip: float) -> list[dict[str, Any]]:
    """Return each law in each phase, but for what it was not fitted to, as a line; names come once."""
    lines: list[dict[str, Any]] = []
    for phase in phases:
        inside = [time for time in at if phase["from_step"] < time <= phase["to_step"]]
        began, ended = float(phase["from_step"]), max(inside, default=float(phase["to_step"]))
        for name, law in phase["laws"].items():
            times = np.linspace(max(skip, 1 / POINTS), 1, POINTS) * (ended - began)
            lines.append(
                {
                    "name": name,
                    "x": [round(began + time, 1) for time in times.tolist()],
                    "y": [float(f"{value:.5g}") for value in _follow(name, law, times).tolist()],
                    "shade": SHADES[name],
                    "dashed": phase["better"] != name,
                    "again": any(line["name"] == name for line in lines),
                }
            )
    return lines


def _follow(name: LawName, law: Mapping[str, Any], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a law's values by what is stored of it: its floor, its rate, and what is left above that at the end."""
    end = times[-1]
    left = np.exp(law["rate"] * (end - times) / 1000) if name == "exponential" else (end / times) ** law["rate"]
    return law["floor"] + law["left_at_end"] * left


def _tabulate(curve: Mapping[str, Any]) -> list[tuple[str, tuple[Cell, ...]]]:
    rows: list[tuple[str, tuple[Cell, ...]]] = []
    for phase in curve["phases"]:
        for name, law in phase["laws"].items():
            after = f"rate {phase['learning_rate']:g} from {count(phase['from_step'])}, {name}"
            rate = _bounded(law, "rate", ".3f") if law["determined"] else Cell(None, "")
            last = Cell(phase["last"], f"{phase['last']:.{curve['decimals']}f}")
            rows.append((after, (_bounded(law, "floor", f".{curve['decimals']}f"), rate, last)))
    return rows


def _bounded(law: Mapping[str, Any], name: str, form: str) -> Cell:
    low, high = (f"{law[f'{name}_{end}']:{form}}" for end in ("low", "high"))
    return Cell(law[name], f"{law[name]:{form}} [{low}, {high}]")


PANEL = ConvergencePanel
