"""A question, what was measured for it, and who tells and draws what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reslab.analysis.catalogue import Mark, list_panels
from reslab.numbers import count
from reslab.report.figures import Line, draw_lines
from reslab.report.groups import Group
from reslab.report.markdown import write_table
from reslab.runs.directory import RunDirectory
from tools.questions.asked import Asked, Found, Later, name_in_prose

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHADES = {"20": 0, "32": 3, "44": 4, "56": 1, "110": 2}


@dataclass(frozen=True)
class Material:
    """What answers are made of: what instruments found in shipped weights, and the runs of CIFAR-10 by their labels."""

    asked: tuple[Asked, ...]
    groups: Mapping[str, Group]

    @cached_property
    def read(self) -> Sequence[Found]:
        """What was found, as it was asked."""
        return [asked.read() for asked in self.asked]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is told: what was found, how sure that is, and the numbers as a table."""

    found: str
    sure: str
    table: str


@dataclass(frozen=True, kw_only=True)
class Beside:
    """What small runs on digits answer beside a question: their commands, and the folders of their records."""

    title: str
    tell: Callable[[], Answer]
    commands: tuple[str, ...]
    runs: Callable[[], Sequence[RunDirectory]]


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question with its answer, its figure and that one's caption; what it needs and no record has, comes `later`.

    What is read off runs has `commands` and `records` of its own. A figure that is drawn elsewhere needs no `draw`.
    """

    name: str
    title: str
    tell: Callable[[Material], Answer]
    figure: str
    caption: str
    draw: Callable[[Material], Figure] | None = None
    asked: tuple[Asked, ...] = ()
    commands: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    beside: Beside | None = None
    later: tuple[Later, ...] = ()

    @property
    def run(self) -> bool:
        """Whether everything was measured."""
        return all(asked.run for asked in self.asked)


def panel_title(instrument: str) -> str:
    """Return the question that the report asks as well."""
    return list_panels()[instrument].question


def draw_views(found: Found, instrument: str, keys: Sequence[str]) -> Figure:
    """Draw views of an instrument's panel, a line for each network."""
    panel = list_panels()[instrument]
    views = [view for key in keys for view in panel.views if view.key == key]
    read = {network: panel.read(one) for network, one in found.items()}
    lines = [make_line(network, [one.marks_in(view) for view in views]) for network, one in read.items()]
    return draw_lines(lines, views, usual=panel.printed_axis)


def make_line(network: str, marks: Sequence[Sequence[Mark]], x: Sequence[float] = ()) -> Line:
    """Return the line of a network: dashed where it is plain, in one colour with its twin."""
    kind, depth = network.split("-")
    return Line(name_in_prose(network), SHADES[depth], kind == "plain", marks, x)


def tabulate(heads: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """Write a table with a row for each network."""
    return write_table(("", *heads), [[name_in_prose(network), *cells] for network, cells in rows.items()])


def say_images(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Say on how many images all of it was measured: 500 test images."""
    ((number, on),) = {(one["images"], one["settings"]["on"]) for one in found.values()}
    return f"{count(number)} {'test' if on == 'test' else 'training'} images"
