"""`reslab demo`: degradation and its cure, trained here and now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from reslab.analysis.responses.printed import SPREAD, mean_std, spread
from reslab.cli.terminal.checked_records import read_whole
from reslab.cli.terminal.progress import Rate, StopSignals
from reslab.cli.terminal.show import console, make_table, note, progress_console, say, warn
from reslab.cli.train.trial_set import print_runs, tell_needs
from reslab.cli.words.subjects import runs_root, writable_root
from reslab.numbers import count, duration, percent
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import DEAF, Listener, Metrics

if TYPE_CHECKING:
    from reslab.data.dataset import Dataset
    from reslab.experiments.degradation import Finding
    from reslab.spec.trial import Trial

Key: TypeAlias = tuple[str, int]  # kind and depth


def demo(*, runs: Path | None = None, dry_run: bool = False) -> None:
    """Show degradation and its cure: train six small networks in about two minutes.

        reslab demo

    Trains plain and residual networks of 8, 20 and 56 layers on handwritten digits and compares their errors and layer
    responses. Finished runs are not trained again.

    Parameters
    ----------
    runs
        Folder for runs. Default: RESLAB_RUNS if set, else 'runs'.
    dry_run
        Print what would be trained, and how long it takes. Do nothing.
    """
    root = runs_root(runs) if dry_run else writable_root(runs)
    with progress_console.status("loading"):
        from reslab.data.arrays.digits import load_digits
        from reslab.experiments.degradation import degradation_trials
        from reslab.runtime.execution import choose_device

        digits = load_digits()
        trials = degradation_trials(digits)
    device = choose_device()
    console.print(f"{len(digits.train):,} handwritten digits, six networks, one recipe; training on {device}.\n")
    if dry_run:
        planned = {trial: RunDirectory.of(trial, root) for trial in trials.values()}
        missing = [trial for trial, run in planned.items() if run.state != "finished"]
        tell_needs(list(planned), missing, digits, root, together=1, device=device, refusing=False)
        print_runs(planned, root)
        return
    finished = _train(trials, digits, root, device=device)
    _print_errors(finished)
    _print_responses(finished, digits, device=device)
    say("This is a reduced setting of Figs. 1, 6 and 7. The lines above say which of their effects it shows.\n")
    with progress_console.status("reporting"):
        from reslab.report.reporting import report_runs

        index = report_runs(root).index
    say(f"The report with curves, layer responses and confusion matrices is {index}. Open it in a browser.")
    console.print(f"The runs are in {root}; `reslab runs` lists them, `reslab draw plain-20 resnet-20` draws two.")


def _train(trials: dict[Key, Trial], digits: Dataset, root: Path, *, device: str) -> dict[Key, RunDirectory]:
    """Run every trial under a bar of its own."""
    from reslab.experiments.lines import write_lines
    from reslab.experiments.run import run_trial
    from reslab.experiments.threads import suitable_threads
    from reslab.runs.directory import RunDirectory

    name, counts = TextColumn("{task.description:<10}"), (MofNCompleteColumn(), Rate("it"), TimeRemainingColumn())
    finished = {}
    with StopSignals() as stop, Progress(name, BarColumn(), *counts, console=progress_console) as progress:
        bars = {
            key: progress.add_task(f"{key[0]}-{key[1]}", total=trial.recipe.iterations, start=False)
            for key, trial in trials.items()
        }
        for key, trial in trials.items():

            def show(step: int, metrics: Metrics, bar: TaskID = bars[key]) -> None:
                progress.update(bar, completed=step)

            progress.start_task(bars[key])
            seen = progress_console.is_terminal
            tell = show if seen else write_lines(trial, name=f"{key[0]}-{key[1]}: ", write=note)
            listener = Listener(warn=warn, progress=tell, should_stop=stop.wanted)
            once = listener if not finished else DEAF  # what holds for one network holds for all
            with suitable_threads(trial, RunDirectory.of(trial, root), device=device, listener=once):
                finished[key] = run_trial(trial, digits, root, device=device, listener=listener)
            show(trial.recipe.iterations, {})
    return finished


def _print_errors(finished: dict[Key, RunDirectory]) -> None:
    from reslab.experiments.degradation import judge_degradation

    records = {key: read_whole(run) for key, run in finished.items()}  # what was finished before may contradict itself
    table = make_table("Degradation", "network", "parameters", "training error %", "test error %", "time")
    for (kind, depth), record in records.items():
        assert record.result is not None
        errors = (percent(record.train_score), percent(record.test_score))
        taken = duration(record.timings.seconds or 0)
        table.add_row(f"{kind}-{depth}", count(record.result.params), *errors, taken)
    console.print(table)
    _say(judge_degradation({key: record.train_score or 0.0 for key, record in records.items()}))


def _print_responses(finished: dict[Key, RunDirectory], digits: Dataset, *, device: str) -> None:
    from reslab.experiments.analyze import analyze_run
    from reslab.experiments.degradation import judge_responses

    with progress_console.status("measuring layer responses"):
        responses = {key: analyze_run(run, digits, "responses", device=device) for key, run in finished.items()}
    table = make_table("Layer responses (std over the test images)", "network", "layers", *SPREAD)
    for (kind, depth), found in responses.items():
        table.add_row(f"{kind}-{depth}", *spread(found))
    console.print(table)
    _say(judge_responses({key: mean_std(found) for key, found in responses.items()}))


def _say(findings: list[Finding]) -> None:
    console.print()
    for finding in findings:
        seen = "as" if finding.as_in_the_paper else "not as"
        say(f"{finding.sentence} ({seen} in the paper)")
    console.print()
