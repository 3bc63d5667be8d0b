"""`reslab demo`: degradation and its cure, trained here and now."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from reslab.cli.analyze import SPREAD, mean_std, spread
from reslab.cli.show import console, make_table, progress_console
from reslab.cli.subjects import runs_root

if TYPE_CHECKING:
    from reslab.experiments.degradation import Verdict


def demo(*, runs: Path | None = None) -> None:
    """Train plain and residual networks of 8, 20 and 56 layers on handwritten digits; compare errors and responses.

    Parameters
    ----------
    runs
        The folder for runs; RESLAB_RUNS, or runs. What is finished there is not trained again.
    """
    root = runs_root(runs)
    with progress_console.status("loading"):
        import torch

        from reslab.data.digits import load_digits
        from reslab.experiments.analyze import responses_of
        from reslab.experiments.degradation import degradation_trials, judge_degradation, judge_responses
        from reslab.experiments.run import run_trial

        digits = load_digits()
        trials = degradation_trials(digits)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    console.print(f"{len(digits.train):,} handwritten digits, six networks, one recipe; training on {device}.\n")
    table = make_table("Degradation", "network", "parameters", "training error %", "test error %", "seconds")
    errors, finished = {}, {}
    columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=progress_console) as progress:
        bars = {
            key: progress.add_task(f"{key[0]}-{key[1]}", total=trial.recipe.iterations, start=False)
            for key, trial in trials.items()
        }
        for key, trial in trials.items():
            started, bar = time.perf_counter(), bars[key]
            progress.start_task(bar)
            run = run_trial(
                trial,
                digits,
                root,
                device=device,
                progress=lambda step, metrics, bar=bar: progress.update(bar, completed=step),
                warn=lambda sentence: progress.console.print(f"warning: {sentence}", soft_wrap=True),
            )
            progress.update(bar, completed=trial.recipe.iterations)
            finished[key], result = run, run.result()
            errors[key] = result["train_error_percent"]
            table.add_row(
                f"{key[0]}-{key[1]}",
                f"{result['params']:,}",
                f"{result['train_error_percent']:.2f}",
                f"{result['test_error_percent']:.2f}",
                f"{time.perf_counter() - started:.0f}",
            )
    console.print(table)
    console.print()
    for verdict in judge_degradation(errors):
        console.print(_say(verdict))
    with progress_console.status("measuring layer responses"):
        responses = {key: responses_of(run, digits, device=device) for key, run in finished.items()}
    console.print()
    table = make_table("Layer responses (std over the test images)", "network", "layers", *SPREAD)
    for (kind, depth), found in responses.items():
        table.add_row(f"{kind}-{depth}", *spread(found))
    console.print(table)
    console.print()
    for verdict in judge_responses({key: mean_std(found) for key, found in responses.items()}):
        console.print(_say(verdict))
    console.print("A reduced setting: it shows the effect of Figs. 1, 6 and 7, not their numbers.\n")
    console.print(f"The runs are in {root}; `reslab runs` lists them, `reslab draw plain-20 resnet-20` draws two.")


def _say(verdict: Verdict) -> str:
    return f"{verdict.sentence} ({'as' if verdict.as_in_the_paper else 'not as'} in the paper)"
