"""`reslab runs [list|show]`."""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

from reslab.cli.show import console, make_table, print_json
from reslab.cli.subjects import runs_root
from reslab.runs.directory import find_run, list_runs
from reslab.spec import name_of

app = App(name="runs", help="List and show runs.")


@app.default
def list_all(*, runs: Path | None = None, json: bool = False) -> None:
    """List the runs and how they ended.

    Parameters
    ----------
    runs
        The folder for runs; RESLAB_RUNS, or runs.
    json
        Print JSON.
    """
    found = list_runs(runs_root(runs))
    if json:
        print_json([{"id": run.path.name, "state": run.state} for run in found])
        return
    table = make_table(f"Runs ({runs_root(runs)})", "id", "state<", "seed", "train error %", "test error %")
    for run in found:
        errors = ["", ""]
        if run.state == "finished":
            result = run.result()
            errors = [f"{result['train_error_percent']:.2f}", f"{result['test_error_percent']:.2f}"]
        table.add_row(run.path.name, run.state, str(run.trial().seed), *errors)
    console.print(table if found else f"There are no runs in {runs_root(runs)}; make one with `reslab train`.")


@app.command
def show(run: str, *, runs: Path | None = None, json: bool = False) -> None:
    """Show one run: its trial, where it ran, its result.

    Parameters
    ----------
    run
        The run's id, or a beginning of it that no other has.
    runs
        The folder for runs; RESLAB_RUNS, or runs.
    json
        Print JSON.
    """
    found = find_run(run, runs_root(runs))
    written = [part for part in ("trial", "provenance", "result") if (found.path / f"{part}.json").exists()]
    parts = {part: found.read(part) for part in written}
    if json:
        print_json({"id": found.path.name, "state": found.state, **parts})
        return
    trial = found.trial()
    console.print(f"[bold]{found.path.name}[/bold]  {found.state}", soft_wrap=True)
    console.print(f"{name_of(trial.network)} on {trial.data.name}, seed {trial.seed}", soft_wrap=True)
    for sitting in parts["provenance"]["sittings"]:
        commit = sitting["commit"] or "unknown"
        console.print(f"{sitting['started']}  {sitting['device']}  commit {commit}", soft_wrap=True)
        console.print(f"  {sitting['command']}", soft_wrap=True)
    for name, value in parts.get("result", {}).items():
        if isinstance(value, float):
            console.print(f"{name:<26} {value:.4g}")
