"""A line for each evaluation of a training, where no bar can be seen: in a log file, a notebook, a Python program."""

import sys
import time
from collections.abc import Callable

from reslab.numbers import about
from reslab.runtime.listener import Metrics
from reslab.scores import PARTS
from reslab.spec.trial import Trial
from reslab.tasks.catalogue import find_shown


def print_to_stderr(line: str) -> None:
    """Print a line where it disturbs no output, at once."""
    print(line, file=sys.stderr, flush=True)


def write_lines(
    trial: Trial, *, name: str = "", write: Callable[[str], None] = print_to_stderr
) -> Callable[[int, Metrics], None]:
    """Return what hears of a trial's progress, its step and newest metrics, and writes a line when those are new."""
    headline, *_ = find_shown(trial).scores
    shown = {headline.key(part): words for part, words in PARTS.items() if part in headline.logged}
    if trial.data.validation:
        shown[f"validation_{headline.name}"] = "validation"
    iterations, batch = trial.recipe.iterations, trial.recipe.batch
    since: tuple[float, int] | None = None
    written = 0

    def hear(step: int, metrics: Metrics) -> None:
        nonlocal since, written
        now = time.monotonic()
        since = since or (now, step)  # a resumed run did what came before in another sitting
        if not metrics or metrics["step"] == written:
            return
        written = step
        scores = [f"{words} {headline.write(metrics[key])}" for key, words in shown.items()]
        parts = [f"loss {metrics['train_loss']:.4f}", f"{', '.join(scores)} {headline.words}"]
        seconds, done = now - since[0], step - since[1]
        since = now, step  # speed and time left are those of now: what else the machine does may change
        if seconds and done:
            parts.append(f"{done * batch / seconds:,.0f} images a second")
            if step < iterations:
                parts.append(f"{about((iterations - step) * seconds / done)} left")
        write(f"{name}step {step:,} of {iterations:,}: {', '.join(parts)}")

    return hear
