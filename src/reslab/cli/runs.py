"""`reslab runs [show|prune]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cyclopts import App

from reslab.cli.show import console, make_table, print_heading, print_json, warn
from reslab.cli.subjects import runs_root
from reslab.errors import UserError
from reslab.numbers import duration, write_size
from reslab.runs.directory import RunDirectory, find_run, list_runs
from reslab.runs.pruning import find_waste, prune
from reslab.runs.timings import Timings, read_timings
from reslab.spec import name_of

ERRORS = {"train_error_percent": "training error %", "test_error_percent": "test error %"}
SCORES = ERRORS | {"map_percent": "mAP %"}  # the last of networks for images with several labels

app = App(name="runs", help="List, show and prune runs.")


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
    rows = [_summarize_if_whole(run) for run in found]
    if json:
        print_json(rows)
        return
    shown = SCORES if any(row["map_percent"] is not None for row in rows) else ERRORS
    columns = ("id", "state<", "seed", *shown.values(), "images/s", "memory", "time")
    table = make_table(f"Runs ({runs_root(runs)})", *columns)
    for row in rows:
        table.add_row(
            row["id"],
            row["state"],
            "" if row["seed"] is None else str(row["seed"]),
            *["" if row[score] is None else f"{row[score]:.2f}" for score in shown],
            *_write_timings(row),
        )
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
    print_heading(found.path.name, found.state)
    console.print(f"{name_of(trial.network)} on {trial.data.name}, seed {trial.seed}", soft_wrap=True)
    for sitting in parts.get("provenance", {}).get("sittings", []):
        commit = sitting["commit"] or "unknown"
        console.print(f"{sitting['started']}  {sitting['device']}  commit {commit}", soft_wrap=True)
        console.print(f"  {sitting['command']}", soft_wrap=True)
    timings = [text for text in _write_timings(_summarize(found)) if text]
    if timings:
        console.print("{} images/s, {} of memory, {}".format(*timings))
    for name, value in parts.get("result", {}).items():
        if isinstance(value, float):
            console.print(f"{name:<26} {value:.4g}")


@app.command(name="prune")
def prune_all(*, interrupted: bool = False, yes: bool = False, runs: Path | None = None, json: bool = False) -> None:
    """Say what runs no longer need, and with --yes remove it: checkpoints of finished runs, leftover temporary files.

    A run that is being trained is never touched.

    Parameters
    ----------
    interrupted
        Runs that were never finished, too, whole.
    yes
        Remove it.
    runs
        The folder for runs; RESLAB_RUNS, or runs.
    json
        Print JSON.
    """
    root, rows, total = runs_root(runs), [], 0
    found = list_runs(root)
    held = [run.path.name for run in found if run.held]
    for run in found:
        waste = find_waste(run, interrupted=interrupted)
        rows += [
            {"id": run.path.name, "what": part.what, "files": len(part.files), "bytes": part.size} for part in waste
        ]
        total += prune(run, interrupted=interrupted) if yes else sum(part.size for part in waste)
    if json:
        print_json({"removed": yes, "bytes": total, "waste": rows, "held": held})
        return
    table = make_table(f"{'Removed' if yes else 'Not needed'} ({root})", "id", "what<", "files", "size")
    for row in rows:
        table.add_row(row["id"], row["what"], str(row["files"]), write_size(row["bytes"]))
    if rows:
        console.print(table)
    for name in held:
        console.print(f"{name} is being worked on: left alone", soft_wrap=True)
    console.print(f"{write_size(total)} freed" if yes else f"{write_size(total)} to free; --yes removes it")


def _summarize_if_whole(run: RunDirectory) -> dict[str, Any]:
    """Return a run's line in the list; a damaged one costs no other its own, and is told."""
    try:
        return _summarize(run)
    except UserError as error:
        warn(str(error))
        return {"id": run.path.name, "state": "damaged", **dict.fromkeys(("seed", *SCORES)), **asdict(Timings())}


def _summarize(run: RunDirectory) -> dict[str, Any]:
    """Return a run's line in the list; None where it has not come so far."""
    result = run.result() if run.state == "finished" else {}
    return {
        "id": run.path.name,
        "state": run.state,
        "seed": run.trial().seed,
        **{score: result.get(score) for score in SCORES},
        **asdict(read_timings(run)),
    }


def _write_timings(row: Mapping[str, Any]) -> list[str]:
    """Write speed, memory and time; nothing where they are not known."""
    written = {
        "images_per_second": lambda rate: f"{rate:,.0f}",
        "peak_memory_bytes": write_size,
        "seconds": duration,
    }
    return ["" if row[name] is None else write(row[name]) for name, write in written.items()]
