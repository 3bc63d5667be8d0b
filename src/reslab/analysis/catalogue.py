"""The instruments by name. Each is a folder here, which says in a line what it measures.

`settings` are what it can be told, `measure` measures, `printed` is what the command line shows, `panel` what the
report draws, which it may do without. All but `measure` need no torch, and the names are known without loading any.
"""

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from reslab.analysis.settings import Settings
from reslab.analysis.workbench import Workbench
from reslab.spec.codec import decode_known
from reslab.tasks.display import PrintedTable

if TYPE_CHECKING:
    from reslab.tasks.subject import Subject

S = TypeVar("S", bound=Settings)


@dataclass(frozen=True, kw_only=True)
class Instrument(Generic[S]):
    """`measure` takes a subject, the `settings` and a place to work, and returns what it found as plain data.

    On how many `images` it was measured, and how many were skipped (`skipped_images`), is in it.
    """

    settings: type[S]
    measure: Callable[["Subject", S, Workbench], dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class PrintedInstrument:
    """What is printed of what was found: a sentence and a table."""

    sentence: Callable[[Mapping[str, Any]], str]
    table: Callable[[Mapping[str, Any]], PrintedTable]


class Mark(NamedTuple):
    """One value that an instrument found, a layer's say, and the bounds it is within."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class View:
    """One chart of an instrument's: a line through the marks as they come or, `by_size`, from the largest down.

    What is shown is the panel's usual quantity, or one of the view's own; `log` where it spans magnitudes.
    """

    key: str
    title: str
    axis: str
    printed_axis: str
    by_size: bool = False
    quantity: str = ""
    log: bool = False


@dataclass(frozen=True, kw_only=True)
class InstrumentPanel:
    """What an instrument found in one run, and how pages show that: a line for each network in each of its views.

    `note` stands above what the first page has of it, `quantity` is what a run's page calls it; `words` are for those
    who cannot see. Axes are named on pages and in print. Bounds are those of the `confidence`.
    """

    title: ClassVar[str]
    note: ClassVar[str]
    quantity: ClassVar[str]
    words: ClassVar[str]
    axis: ClassVar[str]
    printed_axis: ClassVar[str]
    views: ClassVar[tuple[View, ...]]

    data: str
    images: int
    confidence: float

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Self:
        """Read it off what is stored, settings included, or refuse what cannot be."""
        return decode_known(cls, {**found.get("settings", {}), **found})

    @property
    def marks(self) -> Sequence[Mark]:
        """What was found, in the network's order."""
        raise NotImplementedError

    def marks_in(self, view: View) -> Sequence[Mark]:
        """Return what a view shows of it: the same in all, unless views have quantities of their own."""
        del view
        return self.marks


def list_instruments() -> list[str]:
    """Return the names of the instruments."""
    return _list_folders("measure")


def describe_instruments() -> dict[str, str]:
    """Return by its name what each instrument measures, in a line."""
    modules = {name: importlib.import_module(f"reslab.analysis.{name}") for name in list_instruments()}
    return {name: (module.__doc__ or "").partition("\n")[0] for name, module in modules.items()}


def find_instrument(name: str) -> Instrument[Any]:
    """Return what measures."""
    return importlib.import_module(f"reslab.analysis.{name}.measure").INSTRUMENT


def find_settings(name: str) -> type[Settings]:
    """Return what an instrument can be told."""
    return getattr(importlib.import_module(f"reslab.analysis.{name}.settings"), name.capitalize())


def find_printed(name: str) -> PrintedInstrument:
    """Return what is printed of an instrument's findings."""
    return importlib.import_module(f"reslab.analysis.{name}.printed").PRINTED


@functools.cache
def list_panels() -> dict[str, type[InstrumentPanel]]:
    """Return how pages show the instruments that they show, by name."""
    return {name: importlib.import_module(f"reslab.analysis.{name}.panel").PANEL for name in _list_folders("panel")}


def _list_folders(module: str) -> list[str]:
    return sorted(path.parent.name for path in Path(__file__).parent.glob(f"*/{module}.py"))
