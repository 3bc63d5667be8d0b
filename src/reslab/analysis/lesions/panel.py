"""What pages show of lesions: images that are wrong without blocks, and the gradient by length of path; no torch."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from reslab.analysis.catalogue import InstrumentPanel, Mark, View


@dataclass(frozen=True, kw_only=True)
class Changed:
    """One block deleted or set back: the share of images that are wrong, and how sure the difference is."""

    name: str
    wrong: float
    wrong_error: float


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """So many blocks deleted, or so many exchanges: the share of wrong images, and how it differs between draws."""

    wrong: float
    wrong_std: float
    deleted: int = 0
    swaps: int = 0


@dataclass(frozen=True, kw_only=True)
class Length:
    """All paths of one length: their share in the gradient's size, and how sure the norm of one of them is."""

    length: int
    norm: float
    norm_error: float
    share: float


@dataclass(frozen=True, kw_only=True)
class LesionsPanel(InstrumentPanel):
    """What one network loses with its blocks."""

    title = "Lesions"
    question = "What are single blocks worth?"
    note = (
        "After Veit et al. (2016): the images that a trained network has wrong when blocks are deleted, set back to "
        "their initial weights or exchanged, and nothing is trained again. Of a deleted residual block its shortcut "
        "remains; of a plain one the identity, or an average pool where dimensions change. Last, by the number of "
        "blocks that paths go through, their share in the size of the gradient. Plain networks are dashed."
    )
    quantity = "Images that are wrong (%)"
    words = "Share of images that are wrong without blocks, and of the gradient by length of path"
    axis = "wrong (%)"
    printed_axis = "wrong (%)"
    views = (
        View(key="single", title="Without one block", axis="deleted block", printed_axis="deleted block"),
        View(key="reset", title="With one block set back", axis="block set back", printed_axis="block set back"),
        View(key="several", title="Without several blocks", axis="deleted blocks", printed_axis="deleted blocks"),
        View(key="shuffled", title="With blocks exchanged", axis="exchanges", printed_axis="exchanges"),
        View(
            key="paths",
            title="Gradient along paths",
            axis="blocks on the path",
            printed_axis="blocks on the path",
            quantity="share (%)",
        ),
    )

    single: tuple[Changed, ...]
    reset: tuple[Changed, ...]
    several: tuple[Drawn, ...]
    shuffled: tuple[Drawn, ...]
    lengths: tuple[Length, ...]

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Self:
        """Read it off what is stored, lesion by lesion."""
        paths = found.get("paths_by_length") or {"lengths": []}
        return super().read({**found, "lengths": paths["lengths"]})

    @property
    def marks(self) -> list[Mark]:
        """The percentages without each block, with the interval of what they are more than the intact network's."""
        return _mark(self.single, lambda row: row.name, lambda row: row.wrong_error)

    def marks_in(self, view: View) -> list[Mark]:
        """Return the percentages of a kind of lesion, or of the gradient."""
        match view.key:
            case "reset":
                return _mark(self.reset, lambda row: row.name, lambda row: row.wrong_error)
            case "several":
                return _mark(self.several, lambda row: str(row.deleted), lambda row: row.wrong_std)
            case "shuffled":
                return _mark(self.shuffled, lambda row: str(row.swaps), lambda row: row.wrong_std)
            case "paths":
                return [self._mark_length(row) for row in self.lengths]
            case _:
                return self.marks

    @staticmethod
    def _mark_length(row: Length) -> Mark:
        off = row.share * row.norm_error / row.norm if row.norm else 0.0
        return Mark.around(str(row.length), 100 * row.share, 100 * off)


def _mark(rows: Iterable[Any], name: Callable[[Any], str], off: Callable[[Any], float]) -> list[Mark]:
    return [Mark.around(name(row), 100 * row.wrong, 100 * off(row)) for row in rows]


PANEL = LesionsPanel
