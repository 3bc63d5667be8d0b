"""How a task is shown, as plain data: what pages of the report have of it, what `reslab evaluate` prints of it.

As written here any task is shown, by its scores alone. One that has more to say says it in classes of its own, in
`tasks/<task>/panel.py` and `printed.py`; nothing here needs torch.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from reslab.scores import Score


@dataclass(frozen=True)
class Plot:
    """One chart or a few with one legend. Plots with the same `share` keep one scale.

    Where a task makes it, `words` are for those who cannot see it, and `note` stands beside it.
    """

    key: str
    kind: str
    title: str
    content: dict[str, Any]
    share: str = ""
    words: str = ""
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """A number in a table of a page: whole for sorting, written for the eye; with a bar where `largest` is given."""

    value: float | None
    written: str
    largest: float | None = None


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a run's page: a table, headings with their units above rows of a name and numbers, beside charts.

    `words` are for those who cannot see the table.
    """

    title: str
    words: str
    headings: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    table_title: str = ""
    plots: tuple[Plot, ...] = ()
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class PrintedTable:
    """A table on a terminal; columns are numbers, but for the first and those that end in '<'."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Panel:
    """What a result has beyond its scores, and pages show of it; `num_classes` is None where nothing is by class."""

    num_classes: int | None = None

    @classmethod
    def read(cls, result: Mapping[str, Any]) -> Self:
        """Read it off a result, or refuse what cannot be."""
        del result
        return cls()

    def recount(self, values: Mapping[str, float | None]) -> Iterator[tuple[str, float, float]]:
        """Yield each score that follows from what the panel has: its name, what it is said to be, and what follows."""
        del values
        yield from ()

    def list_void(self) -> tuple[Score, ...]:
        """Return the scores that say nothing of such a result, and are not shown."""
        return ()

    def sections(self) -> Sequence[Section]:
        """Return what the page of a run shows."""
        return ()

    @classmethod
    def compare(cls, rows: Sequence[tuple[str, Sequence[Any]]], *, key: str) -> list[Plot]:
        """Return what the first page shows of several networks, each with the panels of its seeds.

        The title names the part of the page; the note says {means} where it may be said that these are means.
        """
        del rows, key
        return []


@dataclass(frozen=True)
class Printed:
    """What is printed of an evaluation; `found` are its scores by name, and what the task has beyond them."""

    scores: tuple[Score, ...]

    def sentences(self, found: Mapping[str, Any]) -> list[str]:
        """Say how one network did."""
        known = [score for score in self.columns(found) if found[score.name] is not None]
        return [", ".join(f"{score.words} {score.write(found[score.name])}" for score in known)]

    def columns(self, found: Mapping[str, Any]) -> list[Score]:
        """Return the columns of a table of several networks."""
        return [score for score in self.scores if score.name in found]

    def table(self, found: Mapping[str, Any]) -> PrintedTable | None:
        """Return what there is to say of classes."""
        del found
        return None
