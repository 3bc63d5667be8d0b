"""`reslab demo`: degradation and its cure, trained here and now."""

from __future__ import annotations

import time
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from reslab.cli.show import console, make_table, progress_console
from reslab.cli.subjects import runs_root


def demo(*, runs: Path | None = None) -> None:
    """Train plain and residual networks of 8, 20 and 56 layers on handwritten digits, and compare their errors.

    Parameters
    ----------
    runs
        The folder for runs; RESLAB_RUNS, or runs. What is finished there is not trained again.
    """
    root = runs_root(runs)
    with progress_console.status("loading"):
        import torch

        from reslab.data.digits import load_digits
        from reslab.experiments.degradation import degradation_trials, judge_degradation
        from reslab.experiments.run import run_trial

        digits = load_digits()
        trials = degradation_trials(digits)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    console.print(f"{len(digits.train):,} handwritten digits, six networks, one recipe; training on {device}.\n")
    table = make_table("Degradation", "network", "parameters", "training error %", "test error %", "seconds")
    errors = {}
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
            result = run.result()
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
        console.print(f"{verdict.sentence} ({'as' if verdict.as_in_the_paper else 'not as'} in the paper)")
    console.print("A reduced setting: it shows the effect of Figs. 1 and 6, not their numbers.\n")
    console.print(f"The runs are in {root}; `reslab runs` lists them, `reslab draw plain-20 resnet-20` draws two.")
