"""What a run's page shows of a landscape: contours, the surface in three dimensions, the run's path on it; no torch."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from reslab.analysis.catalogue import InstrumentPanel
from reslab.analysis.landscape.printed import say_how
from reslab.errors import UserError
from reslab.numbers import count, percent
from reslab.tasks.display import Cell, Plot, Section

DIGITS = 4  # of heights, which are many
MANY_TIMES = 20  # as large as the smallest is the largest value where heights are logarithms


@dataclass(frozen=True, kw_only=True)
class LandscapePanel(InstrumentPanel):
    """One landscape of a run: what is told of it, and its settings."""

    title = "Landscape"
    question = "What does the loss landscape look like?"
    note = (
        "Loss around the trained weights, in directions whose filters are as long as the network’s own (Li et al., "
        "2018), or along the training. Each run’s page has the surface and the error as well."
    )

    settings: Mapping[str, Any]
    found: Mapping[str, Any]

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Self:
        """Read it off what is stored."""
        return cls(data=str(found["data"]), images=int(found["images"]), settings=found["settings"], found=found)

    @property
    def along(self) -> bool:
        """Whether it is one of the run's path."""
        return self.settings["directions"] == "pca"

    def sections(self, arrays: Mapping[str, NDArray[Any]], *, key: str) -> Sequence[Section]:
        """Return one section: charts of loss and error beside a table of what they come to."""
        names = ("loss", "wrong", *[f"axis_{n + 1}" for n in range(self.settings["dimensions"])])
        if missing := [name for name in names if name not in arrays]:
            raise UserError(f"its arrays lack {', '.join(missing)}")
        axes = [arrays[name].tolist() for name in names[2:]]
        loss, wrong = arrays["loss"], 100 * arrays["wrong"]
        if loss.shape != wrong.shape or loss.shape != tuple(len(axis) for axis in axes):
            raise UserError("its arrays are of different sizes")
        plots = self._draw_line(axes, loss, wrong, key) if len(axes) == 1 else self._draw_plane(axes, loss, wrong, key)
        kind = "test" if self.settings["on"] == "test" else "training"
        step = self.found.get("step")
        around = "Loss around the weights" + ("" if step is None else f" of step {count(step)}")
        how = say_how(self.settings).replace("'", "’")
        section = Section(
            title="Loss along the training" if self.along else around,
            note=f"{how}; {count(self.images)} {kind} images of {self.data}. " + self._explain(),
            table_title="The path" if self.along else "Loss and error",
            words="Losses along the path" if self.along else "Smallest and largest loss and error",
            **(self._tabulate_path() if self.along else self._tabulate_extremes()),
            plots=tuple(plots),
        )
        return (section,)

    def _explain(self) -> str:
        """Say what the axes are, and what can be read off."""
        if self.along:
            shares = " and ".join(f"{100 * share:.1f} %" for share in self.found["directions"]["explained"])
            return (
                f"Axes are principal components of the snapshots, in distances between weights; they explain {shares} "
                "of the variance. The line is the path as the plane has it; dots are losses at the weights themselves."
            )
        radii = [radius for radius in self.found["sharpness"].values() if radius is not None]
        said = "A direction’s filters are as long as the network’s own (Li et al., 2018). "
        if radii:
            return said + f"The loss doubles within a radius of {min(radii):.3f} to {max(radii):.3f} along the axes."
        return said + "The loss nowhere doubles along the axes."

    def _draw_line(self, axes: Sequence[Any], loss: NDArray[Any], wrong: NDArray[Any], key: str) -> Iterable[Plot]:
        for name, title, values, words in (
            ("loss", "Loss", loss, "loss"),
            ("error", "Wrong images", wrong, "wrong, %"),
        ):
            content = {
                "x": _short(axes[0]),
                "y": _short(values.tolist()),
                "words": words,
                "log": name == "loss" and _is_steep(values),
                "axes": self._axes,
            }
            yield Plot(f"{key}-{name}", "profile", title, content, words=f"{title} along a line through the weights")

    def _draw_plane(self, axes: Sequence[Any], loss: NDArray[Any], wrong: NDArray[Any], key: str) -> Iterable[Plot]:
        for name, kind, title, values, words in (
            ("contours", "contours", "Loss", loss, "loss"),
            ("surface", "surface", "Loss in three dimensions", loss, "loss"),
            ("error", "contours", "Wrong images", wrong, "wrong, %"),
        ):
            content: dict[str, Any] = {
                "x": _short(axes[0]),
                "y": _short(axes[1]),
                "z": [_short(row) for row in values.T.tolist()],  # pages have the first axis across
                "words": words,
                "log": values is loss and _is_steep(values),
                "axes": self._axes,
            }
            if self.along:
                content["path"] = self._path
            told = f"{title} over the plane of both directions, the weights at the origin"
            yield Plot(f"{key}-{name}", kind, title, content, words=told)

    @property
    def _axes(self) -> list[str]:
        word = "component" if self.along else "direction"
        return [f"{word} {number + 1}" for number in range(self.settings["dimensions"])]

    @property
    def _path(self) -> dict[str, Any]:
        path = self.found["path"]
        across, up = zip(*path["coordinates"], strict=True)
        told = [
            f"step {count(step)}: loss {_tell(true)}, on the plane {_tell(projected)}"
            for step, true, projected in zip(path["steps"], path["loss"], path["projected_loss"], strict=True)
        ]
        return {
            "x": _short(across),
            "y": _short(up),
            "text": told,
            "true": _short(path["loss"]),
            "projected": _short(path["projected_loss"]),
        }

    def _tabulate_extremes(self) -> dict[str, Any]:
        loss, wrong = self.found["loss"], self.found["wrong"]
        rows = [("the weights", _cells(self.found["centre"]["loss"], self.found["centre"]["wrong"]))]
        rows += [(end, _cells(loss[end]["value"], wrong[end]["value"])) for end in ("minimum", "maximum")]
        return {"headings": (("", ""), ("loss", ""), ("wrong", "%")), "rows": tuple(rows)}

    def _tabulate_path(self) -> dict[str, Any]:
        path = self.found["path"]
        rows = []
        for number, step in enumerate(path["steps"]):
            projected = path["projected_loss"][number]
            loss, wrong = _cells(path["loss"][number], path["wrong"][number])
            rows.append((f"step {count(step)}", (loss, Cell(projected, _tell(projected)), wrong)))
        return {"headings": (("", ""), ("loss", ""), ("on the plane", ""), ("wrong", "%")), "rows": tuple(rows)}


def _cells(loss: float | None, wrong: float | None) -> tuple[Cell, Cell]:
    share = None if wrong is None else 100 * wrong
    return Cell(loss, _tell(loss)), Cell(share, percent(share))


def _tell(loss: float | None) -> str:
    return "not finite" if loss is None else f"{loss:.4g}"


def _is_steep(values: NDArray[Any]) -> bool:
    """Whether heights are told apart only by their logarithms."""
    known = values[np.isfinite(values)]
    return len(known) > 0 and bool(0 < known.min() < known.max() / MANY_TIMES)


def _short(values: Iterable[float | None]) -> list[float | None]:
    """Return values with few digits; what is not finite is nothing."""
    return [None if v is None or not math.isfinite(v) else float(f"{v:.{DIGITS}g}") for v in values]


PANEL = LandscapePanel
