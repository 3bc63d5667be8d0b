"""What verbs that take long share: bars with rate and time left, and stopping by Ctrl-C or SIGTERM."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Column
from rich.text import Text

from reslab.cli.terminal.show import note, progress_console, warn
from reslab.experiments.lines import write_lines
from reslab.files import Watch
from reslab.legible import legible
from reslab.runtime.listener import Listener, Metrics
from reslab.scores import PARTS, Score
from reslab.spec import name_of
from reslab.spec.trial import Trial
from reslab.tasks.catalogue import find_shown

SECONDS_BETWEEN_LOOKS = 0.1  # thousands of iterations a second would mostly move bars
EXIT_OF = {signal.SIGINT: 130, signal.SIGTERM: 143}


def summarize(result: Mapping[str, Any], scores: Sequence[Score]) -> str:
    """Say how a run ended: by its headline score, what that counts, and others beside it."""
    headline, *others = scores
    values = [(words, result[headline.key(part)]) for part, words in PARTS.items() if part in headline.logged]
    told = "  ".join(f"{words} {headline.write(value)}" for words, value in values) + f" {headline.words}"
    told += f" ({headline.meaning})" if headline.meaning else ""
    told += _tell_interval(result, headline)
    for score in others:
        value = result.get(score.name)
        if value is not None and score.shown == "lists":
            told += f", {score.words} {score.write(value)}" + (f" ({score.meaning})" if score.meaning else "")
        elif value is not None and score.meaning:
            told += f" ({score.write(value)} {score.meaning})"
    if "best_step" in result:
        told += f"; best at step {result['best_step']:,} of {result['step']:,}, whose weights are kept"
    return f"{told}  ({left_out})" if (left_out := tell_skipped(result)) else told


def _tell_interval(result: Mapping[str, Any], score: Score) -> str:
    """Say how far a score may be off because of the images it was tested on, where that is known."""
    ends = result.get(score.interval)
    return f" (95 % interval {ends[0]:.{score.decimals}f} to {score.write(ends[1])})" if ends else ""


def tell_skipped(metrics: Mapping[str, Any]) -> str:
    """Say how many bad images a run went without, if it did."""
    counts = {"training": metrics.get("skipped_training_images"), "test": metrics.get("skipped_images")}
    bad = [f"{count:,} bad {part} image{'s' * (count > 1)}" for part, count in counts.items() if count]
    return f"without {' and '.join(bad)}" if bad else ""


class Rate(ProgressColumn):
    """How many of a unit are done a second; a tenth of one shows only where they are few."""

    def __init__(self, unit: str, column: Column | None = None) -> None:
        super().__init__(column)
        self.unit = unit

    def render(self, task: Task) -> Text:
        speed = task.speed or 0.0
        return Text(f"{speed:,.{0 if speed >= 100 else 1}f} {self.unit}/s" if speed else "")


class Name(ProgressColumn):
    """What a bar is of: a run, a file or what is done; nothing in it is markup."""

    def __init__(self) -> None:
        super().__init__(Column(no_wrap=True))

    def render(self, task: Task) -> Text:
        return Text(legible(task.description))


def make_bars() -> Progress:
    """Return a place for bars of iterations."""
    whole = [Column(no_wrap=True) for _ in range(3)]  # on a narrow terminal the bar gives way
    done, left = MofNCompleteColumn(table_column=whole[0]), TimeRemainingColumn(table_column=whole[2])
    parts = [BarColumn(), done, Rate("it", whole[1]), left, Name()]
    return Progress(*parts, console=progress_console, disable=not progress_console.is_terminal)


class TrialBars:
    """A bar for each trial under way, with its scores so far; for several trials, one over all of them too.

    Without a terminal there is a line for each evaluation instead. Trials go by the name of their network, unless
    `labels` has another, and may run in threads of their own.
    """

    def __init__(
        self, progress: Progress, trials: Sequence[Trial], *, labels: Mapping[Trial, str] | None = None
    ) -> None:
        self.progress, self.labels = progress, labels or {}
        self.iterations = sum(trial.recipe.iterations for trial in trials)
        self.all = progress.add_task("all", total=self.iterations, visible=len(trials) > 1)
        self.steps: dict[str, int] = {}

    def listener(self, stop: StopSignals) -> Listener:
        """Return who hears of the trials, and of tests between them, and wishes to stop when `stop` was received."""
        return Listener(warn=warn, should_stop=stop.wanted, enter=self._enter)

    @contextlib.contextmanager
    def _enter(self, part: Trial | str, total: int) -> Iterator[Callable[[int, Metrics], None]]:
        if isinstance(part, Trial):
            yield self.begin(part)
            return
        bar = self.progress.add_task(part, total=total)
        yield lambda done, metrics: self.progress.update(bar, completed=done)
        self.progress.remove_task(bar)

    def begin(self, trial: Trial) -> Callable[[int, Metrics], None]:
        """Return what moves the bars while `trial` runs, called with its step and its latest metrics."""
        iterations, shown_at, key, scores = trial.recipe.iterations, None, trial.id, find_shown(trial).scores
        name = f"{self.labels.get(trial) or name_of(trial.network).split()[0]} seed {trial.seed}:"
        if self.progress.console is progress_console and not progress_console.is_terminal:
            return write_lines(trial, name=f"{name} ", write=note)
        bar = self.progress.add_task(name, total=iterations)

        def show(step: int, metrics: Metrics) -> None:
            nonlocal shown_at
            now = self.progress.get_time()
            if shown_at is not None and now - shown_at < SECONDS_BETWEEN_LOOKS and step < iterations:
                return
            # Where a resumed run begins was not reached just now: the first call tells nothing about the rate.
            move = self.progress.reset if shown_at is None else self.progress.update
            shown_at = now
            self.steps[key] = step
            move(bar, completed=step, description=name + _stand(metrics, scores))
            move(self.all, completed=sum(list(self.steps.values())))
            if step == iterations and self.iterations > iterations:
                self.progress.remove_task(bar)  # leave the room to those that follow

        return show


def _stand(metrics: Mapping[str, float], scores: Sequence[Score]) -> str:
    """Write how a run stands, briefly: 12.5 / 15.0 %."""
    if not metrics:
        return ""
    headline, *others = scores
    values = " / ".join(f"{metrics[headline.key(part)]:.1f}" for part in PARTS if part in headline.logged)
    listed = [score for score in others if score.shown == "lists" and score.key("test") in metrics]
    beside = [f"{score.words} {score.write(metrics[score.key('test')], decimals=1)}" for score in listed]
    stands = f"{values} {headline.unit}".rstrip()
    return " " + ", ".join([f"{headline.words} {stands}" if beside else stands, *beside])


class StopSignals:
    """Turns Ctrl-C and SIGTERM into a wish to stop after the iteration; a second one stops at once.

    A run that stopped by that wish ends the command with 130 or 143.
    """

    received: signal.Signals | None = None

    def wanted(self) -> bool:
        """Whether to stop."""
        return self.received is not None

    def __enter__(self) -> Self:
        self.before = {number: signal.signal(number, self._receive) for number in EXIT_OF}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
        if error is None:
            return
        from reslab.training.loop import Stopped

        if isinstance(error, Stopped):
            progress_console.print("stopped and saved; run the same command to resume")
            sys.exit(EXIT_OF[self.received or signal.SIGTERM])  # or another process of the run was asked

    def _receive(self, number: int, frame: object) -> None:
        if self.received is not None:
            raise KeyboardInterrupt
        self.received = signal.Signals(number)


@contextlib.contextmanager
def byte_bars() -> Iterator[Watch]:
    """Show a bar of bytes for each thing that is fetched or written; yield what moves them."""
    columns = (Name(), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=progress_console, disable=not progress_console.is_terminal) as progress:
        bars: dict[str, TaskID] = {}

        def watch(what: str, done: int, total: int | None) -> None:
            if what not in bars:
                bars[what] = progress.add_task(what, total=total)
            progress.update(bars[what], completed=done)

        yield watch
