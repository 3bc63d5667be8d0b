"""What verbs about trained networks share: images as arguments, and progress bars."""

from __future__ import annotations

import contextlib
import multiprocessing
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import forkserver
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from reslab.cli.terminal.progress import Name, Rate
from reslab.cli.terminal.show import progress_console, warn
from reslab.errors import UserError
from reslab.files import exists, is_folder
from reslab.runtime.listener import Listener, Metrics
from reslab.spec.words import refuse_unknown, split_words

if TYPE_CHECKING:
    from reslab.experiments.subjects import Noted

GPU = Path("/dev/nvidiactl")  # torch would know, and is not imported yet
# - is a word: the list of images on standard input.
ImageWord = Annotated[str, Parameter(allow_leading_hyphen=True)]


def start_workers(data: str | None) -> None:
    """Let the process that those who decode photographs beside a GPU come from start, while torch is imported here."""
    if GPU.exists() and data is not None and is_folder(Path(data)):
        preloaded = ["reslab.data.workers", "reslab.data.photos.folder"]
        multiprocessing.get_context("forkserver").set_forkserver_preload(preloaded)
        forkserver.ensure_running()


def read_image_words(verb: str, words: Sequence[str], known: tuple[str, ...]) -> tuple[list[str], dict[str, str]]:
    """Split words into images or folders and `known` fields; - stands for the paths on standard input, one a line."""
    existing = {word for word in words if "=" in word and exists(Path(word))}
    _, fields = split_words([word for word in words if word not in existing])
    paths: list[str] = []
    for word in words:
        if word.startswith("-") and word != "-" and not exists(Path(word)):
            raise UserError(f"there is no option {word.split('=')[0]}; --help lists the options")
        if word == "-":
            paths += [line for line in sys.stdin.read().split("\n") if line]
        elif word in existing or "=" not in word:
            paths.append(word)
    refuse_unknown(verb, fields, known)
    return paths, fields


@contextlib.contextmanager
def note_bad(fields: Mapping[str, str]) -> Iterator[Noted | None]:
    """Yield what takes note of bad images and prints a warning of each at the end; None where they stop the work."""
    from reslab.experiments import subjects

    with subjects.note_bad(fields, warn) as noted:
        yield noted


@contextlib.contextmanager
def image_bar(what: str, total: int) -> Iterator[Listener]:
    """Show a bar of images done, with their rate and the time left; yield who moves it, and prints warnings."""
    with _make_bar() as progress:
        bar = progress.add_task(what, total=total)
        yield Listener(warn=warn, progress=lambda done, metrics: progress.update(bar, completed=done))


@contextlib.contextmanager
def instrument_bars(name: str) -> Iterator[Listener]:
    """Show a bar for each part of a measurement that says how long it is, and a count of what else is done."""
    columns = (Name(), BarColumn(), MofNCompleteColumn(), Rate("it"), TimeRemainingColumn())
    with Progress(*columns, console=progress_console, transient=True) as progress:

        @contextlib.contextmanager
        def enter(part: Any, total: int) -> Iterator[Callable[[int, Metrics], None]]:
            bar = progress.add_task(str(part), total=total)
            yield lambda done, metrics: progress.update(bar, completed=done)
            progress.remove_task(bar)

        whole = progress.add_task(name, total=None, visible=False)

        def count(done: int, metrics: Metrics) -> None:
            progress.update(whole, completed=done, visible=True)

        yield Listener(warn=warn, progress=count, enter=enter)


@contextlib.contextmanager
def loading_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Say that a network is being loaded, then show a bar of images; yield what moves it: so many of how many."""
    with _make_bar() as progress:
        bar = progress.add_task("loading", total=None)
        yield lambda done, total: progress.update(bar, completed=done, total=total, description=what)


def _make_bar() -> Progress:
    counts = (MofNCompleteColumn(), Rate("images"), TimeRemainingColumn())
    return Progress(Name(), BarColumn(), *counts, console=progress_console, transient=True)
