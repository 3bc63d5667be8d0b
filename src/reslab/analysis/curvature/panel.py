"""What pages show of curvature: the largest eigenvalues, the condition of each block, and the density; no torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from reslab.analysis.catalogue import InstrumentPanel, Mark, View
from reslab.analysis.curvature.density import smear
from reslab.errors import UserError
from reslab.numbers import count
from reslab.tasks.display import Cell, Plot, Section


@dataclass(frozen=True)
class Estimate:
    """A value and its bounds, where these are known: one probe alone has none, a mean near zero leaves one open."""

    value: float
    low: float | None
    high: float | None

    def mark(self, name: str) -> Mark:
        """Return it as it is drawn."""
        low, high = (self.value if bound is None else bound for bound in (self.low, self.high))
        return Mark(name, self.value, low, high)


@dataclass(frozen=True)
class Condition:
    """The condition of one matrix: its largest eigenvalue over the mean of all. The rank is the effective one."""

    largest: Estimate
    mean: Estimate
    condition: Estimate
    effective_rank: float


@dataclass(frozen=True)
class BlockCondition:
    """The condition of a block's Gauss-Newton matrix as the network is, and without the block's shortcut."""

    name: str
    parameters: int
    as_is: Condition
    without: Condition | None


@dataclass(frozen=True)
class Density:
    """The density of one eigenvalue at points, by Gaussians of a width in place of eigenvalues."""

    at: tuple[float, ...]
    density: tuple[float, ...]
    width: float


@dataclass(frozen=True, kw_only=True)
class CurvaturePanel(InstrumentPanel):
    """The curvature of one network's loss."""

    title = "Curvature"
    question = "What is the curvature of the loss?"
    note = (
        "The largest eigenvalues of the Hessian of the mean loss. For each block the condition of its Gauss-Newton "
        "matrix, the largest eigenvalue over the mean one, as the network is and with the block’s shortcut removed. "
        "Bands around the eigenvalues of one network are their residuals. Plain networks are dashed."
    )
    quantity = "Largest eigenvalues and conditions of blocks"
    words = "Eigenvalues of the loss, and conditions of blocks"
    axis = "eigenvalue"
    printed_axis = "eigenvalue"
    views = (
        View(key="largest", title="Largest eigenvalues", axis="rank", printed_axis="rank", log=True),
        View(
            key="as_is",
            title="Condition of blocks",
            axis="blocks",
            printed_axis="block index",
            quantity="largest / mean eigenvalue",
            log=True,
        ),
        View(
            key="without",
            title="Without the block's shortcut",
            axis="blocks",
            printed_axis="block index",
            quantity="largest / mean eigenvalue",
            log=True,
        ),
    )

    largest: tuple[Estimate, ...]
    blocks: tuple[BlockCondition, ...]
    parameters: int
    trace: Estimate
    smallest: Estimate
    density: Density
    matrix: str = "hessian"
    step: int | None = None

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Self:
        """Read it off what is stored, of whose trace more is known."""
        return super().read({**found, "trace": {name: found["trace"][name] for name in ("value", "low", "high")}})

    @property
    def marks(self) -> list[Mark]:
        """The largest eigenvalues, falling."""
        return [one.mark(str(rank)) for rank, one in enumerate(self.largest, start=1)]

    def marks_in(self, view: View) -> list[Mark]:
        """Return what a view shows: eigenvalues, or the conditions of blocks."""
        if view.key == "largest":
            return self.marks
        conditions = [(block.name, getattr(block, view.key)) for block in self.blocks]
        return [found.condition.mark(name) for name, found in conditions if found]

    def sections(self, arrays: Mapping[str, NDArray[Any]], *, key: str) -> Sequence[Section]:
        """Return one section: the density, with the probes' spread where their nodes are stored, beside a table.

        The axis is logarithmic: below a tenth of what one eigenvalue gives, nothing is drawn.
        """
        density = np.array(self.density.density)
        least = float(density.max()) / (10 * self.parameters)
        content: dict[str, Any] = {
            "x": [float(f"{at:.5g}") for at in self.density.at],
            "y": _above(density, least),
            "words": "density",
            "axes": ["eigenvalue"],
            "mode": "lines",
            "log": True,
        }
        probes = self._smear_probes(arrays)
        if len(probes) > 1:
            # An area has no gaps: where no probe sees anything it lies on the least that is drawn.
            low, high = (np.maximum(of(probes, axis=0), least).tolist() for of in (np.min, np.max))
            content["band"] = {"low": [float(f"{v:.4g}") for v in low], "high": [float(f"{v:.4g}") for v in high]}
        where = "" if self.step is None else f" at step {count(self.step)}"
        spread = f"; the band is from the least to the most of {len(probes)} probes" if len(probes) > 1 else ""
        name = "Hessian" if self.matrix == "hessian" else "Gauss-Newton matrix"
        plot = Plot(f"{key}-density", "profile", "Density of eigenvalues", content, words="Density of the eigenvalues")
        rows = [("trace", self.trace), ("smallest", self.smallest), ("largest", self.largest[0])]
        return [
            Section(
                title=f"Spectrum of the {name}{where}",
                note=(
                    f"How many of the {count(self.parameters)} eigenvalues lie where, by stochastic Lanczos; the "
                    f"integral is 1, and Gaussians of width {self.density.width:.3g} stand for eigenvalues{spread}. "
                    f"{count(self.images)} images of {self.data}."
                ),
                table_title="Trace and ends of the spectrum",
                words="Trace, smallest and largest eigenvalue with their bounds",
                headings=(("", ""), ("value", ""), ("from", ""), ("to", "")),
                rows=tuple((name, tuple(map(_cell, (one.value, one.low, one.high)))) for name, one in rows),
                plots=(plot,),
            )
        ]

    def _smear_probes(self, arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Return the density as each probe alone has it; nothing where their nodes are not stored."""
        if not {"nodes", "weights"} <= arrays.keys():
            return np.zeros((0, len(self.density.at)))
        nodes, weights = arrays["nodes"], arrays["weights"]
        if nodes.ndim != 2 or nodes.shape != weights.shape:
            raise UserError("its arrays are of different sizes")
        points = np.array(self.density.at)
        kept = [np.isfinite(row) for row in nodes]  # a probe that ended early has fewer
        return np.array(
            [
                smear(points, row[there], weight[there], width=self.density.width)
                for row, weight, there in zip(nodes, weights, kept, strict=True)
            ]
        )


def _above(values: NDArray[np.float64], least: float) -> list[float | None]:
    return [float(f"{value:.4g}") if value > least else None for value in values.tolist()]


def _cell(value: float | None) -> Cell:
    return Cell(value, "" if value is None else f"{value:.4g}")


PANEL = CurvaturePanel
