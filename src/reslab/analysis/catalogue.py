"""The instruments by name. Each is a folder here, which says in a line what it measures.

`settings` are what it can be told, `measure` measures, `printed` is what the command line shows, `panel` what the
report draws, which it may do without. All but `measure` need no torch, and the names are known without loading any.
"""

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar, get_args, get_type_hints

from reslab.analysis.settings import Settings
from reslab.analysis.workbench import Workbench
from reslab.runs.directory import RunDirectory
from reslab.spec.codec import decode_known
from reslab.tasks.display import PrintedTable, Section

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
class LogInstrument(Generic[S]):
    """What reads a run's record alone, its log above all: it needs neither weights nor images, and no torch."""

    settings: type[S]
    measure: Callable[[RunDirectory, S, Workbench], dict[str, Any]]


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

    @classmethod
    def around(cls, name: str, value: float, off: float) -> Self:
        """Return a value with bounds as far above it as below."""
        return cls(name, value, value - off, value + off)


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

    The `question` is what it answers, `note` says what is seen, `quantity` is what a run's page calls it; `words` are
    for those who cannot see. The first page has those that repeat a `figure` of the paper. Axes are named on pages and
    in print. Bounds are those of the `confidence`. One whose findings are no line has no views and no marks, but
    sections of a run's page: a set for each of its settings.
    """

    title: ClassVar[str]
    question: ClassVar[str]
    note: ClassVar[str]
    figure: ClassVar[str] = ""
    quantity: ClassVar[str]
    words: ClassVar[str]
    axis: ClassVar[str]
    printed_axis: ClassVar[str]
    views: ClassVar[tuple[View, ...]] = ()

    data: str
    images: int
    confidence: float | None = None

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Self:
        """Read it off what is stored, settings and rows included, which may have more; or refuse what cannot be."""
        known = {**found.get("settings", {}), **found}
        for name, hint in get_type_hints(cls).items():
            row = next((each for each in get_args(hint) if isinstance(each, type) and is_dataclass(each)), None)
            if row is not None and name in known:  # a tuple of rows
                wanted = {field.name for field in fields(row)}
                known[name] = [{key: each[key] for key in each if key in wanted} for each in known[name]]
        return decode_known(cls, known)

    @property
    def marks(self) -> Sequence[Mark]:
        """What was found, in the network's order."""
        return ()

    def sections(self, arrays: Mapping[str, Any], *, key: str) -> Sequence[Section]:
        """Return what a run's page shows beside the views, by the stored arrays too; keys of plots begin with `key`."""
        del arrays, key
        return ()

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


def find_instrument(name: str) -> Instrument[Any] | LogInstrument[Any]:
    """Return what measures, or what reads logs."""
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


def list_lines() -> dict[str, type[InstrumentPanel]]:
    """Return those whose findings are lines, which pages compare."""
    return {name: panel for name, panel in list_panels().items() if panel.views}


def _list_folders(module: str) -> list[str]:
    return sorted(path.parent.name for path in Path(__file__).parent.glob(f"*/{module}.py"))
