"""`reslab runs [show|prune]`."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from cyclopts import App
from rich.console import Group as Lines
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reslab.cli.terminal.checked_records import read_whole, warn_of
from reslab.cli.terminal.show import console, make_table, print_heading, print_json, print_table, say, warn
from reslab.cli.words.subjects import Json, RunsFolder, existing_root
from reslab.legible import legible
from reslab.numbers import duration, percent, write_size
from reslab.report.groups import Group, group_runs, spread
from reslab.report.notation import spread_words
from reslab.report.records import RunRecord, read_records
from reslab.runs.directory import find_run, list_bare, list_runs
from reslab.runs.log import Timings
from reslab.runs.origins import name_start
from reslab.runs.pruning import find_spared, find_waste, prune
from reslab.scores import list_columns, list_spare
from reslab.spec import name_of
from reslab.tasks.catalogue import list_shown

app = App(name="runs", help="List, show and prune runs.\n\n    reslab runs")


@app.default
def list_all(*, runs: RunsFolder = None, json: Json = False) -> None:
    """List the runs, with their scores, speed, memory and time, and the mean over seeds."""
    root = existing_root(runs)
    records, damages = read_records(root)
    warn_of(damages)
    left_out = [damage for damage in damages if damage.state]
    groups = group_runs(records)
    known = list_columns(score for owner in (*list_shown().values(), *records) for score in owner.scores)
    rows = [_summarize(record, group, known) for group in groups for record in group.runs]
    unknown = {"data": "", "label": "", **dict.fromkeys(("seed", *known)), **asdict(Timings())}
    rows += [{"id": damage.id, "state": damage.state, **unknown} for damage in left_out]
    if json:
        print_json(rows)
        return
    headlines = list_columns(owner.scores[0] for owner in records or list_shown().values())
    told = {*headlines, *[name for name in known if any(row[name] is not None for row in rows)]}
    shown = {name: words for name, words in known.items() if name in told}
    spare = list_spare(record.scores for record in records)
    table = make_table(
        f"Runs ({root})",
        *("id", "state<", "seed", *shown.values(), "images/s", "memory", "time"),
        give_way=("time", "memory", "images/s", *spare, "seed", "state"),
    )
    table.columns[0].max_width = max((len(row["id"]) for row in rows), default=None)  # what was changed takes no more
    for group in groups:
        _add_group(table, group, shown)
    for damage in left_out:
        table.add_row(damage.id, damage.state)
    console.print(table if rows else f"There are no runs in {root}; make one with `reslab train`.")


@app.command
def show(run: str, *, runs: RunsFolder = None, json: Json = False) -> None:
    """Show one run: its trial, where it ran, and its result.

        reslab runs show resnet-18-photos

    Parameters
    ----------
    run
        The run's id, the start of its id if only one run starts with it, or its folder.
    """
    found = find_run(run, existing_root(runs))
    record = read_whole(found)
    written = [part for part in ("trial", "provenance", "diverged", "result") if (found.path / f"{part}.json").exists()]
    parts = {part: found.read(part) for part in written}
    if json:
        print_json({"id": found.path.name, "state": found.state, **parts})
        return
    trial = record.trial
    print_heading(found.path.name, found.state)
    say(f"{name_of(trial.network)} on {trial.data.name}, seed {trial.seed}{_tell_start(record)}")
    for sitting in record.sittings:
        say(f"{sitting.started}  {sitting.device}  commit {sitting.commit or 'unknown'}")
        say(f"  {sitting.command}")
    if "diverged" in parts:
        say(parts["diverged"].get("sentence", ""))
    timings = [text for text in _write_timings(asdict(record.timings)) if text]
    if timings:
        console.print("{} images/s, {} of memory, {}".format(*timings))
    void = record.result.panel.list_void() if record.result else ()
    hidden = {name for score in void for name in (score.name, score.key("test"))}
    for name, value in parts.get("result", {}).items():
        if isinstance(value, float) and name not in hidden:
            console.print(f"{name:<26} {value:.4g}")
        elif name == "best_step":
            console.print(f"{name:<26} {value:,}")


@app.command(name="prune")
def prune_all(*, interrupted: bool = False, yes: bool = False, runs: RunsFolder = None, json: Json = False) -> None:
    """Show files that can be deleted: checkpoints of finished runs and leftover temporary files. --yes deletes them.

        reslab runs prune

    To delete the files: `reslab runs prune --yes`. Runs that are training are never changed. Checkpoints are kept if
    the run's weights are missing, damaged or from another run.

    Parameters
    ----------
    interrupted
        Also delete whole runs that did not finish.
    yes
        Delete the files instead of only listing them.
    """
    root, rows, total = existing_root(runs), [], 0
    found = [*list_runs(root), *list_bare(root)]
    held = [run.path.name for run in found if run.held]
    spared = {run.path.name: why for run in found if not run.held and (why := find_spared(run))}
    for run in found:
        waste = find_waste(run, interrupted=interrupted)
        rows += [
            {"id": run.path.name, "what": part.what, "files": len(part.files), "bytes": part.size} for part in waste
        ]
        total += prune(run, interrupted=interrupted) if yes else sum(part.size for part in waste)
    if json:
        print_json({"removed": yes, "bytes": total, "waste": rows, "held": held, "spared": spared})
        return
    if rows:
        cells = [(row["id"], row["what"], str(row["files"]), write_size(row["bytes"])) for row in rows]
        print_table(
            f"{'Removed' if yes else 'Not needed'} ({root})",
            ("id", "what<", "files", "size"),
            cells,
            give_way=("files",),
        )
    for name in held:
        say(f"{name} is in use, so it is not pruned")
    for name, why in spared.items():
        warn(f"{name} is finished, but its weights are {why}, so its checkpoints are kept; train it again first")
    console.print(f"{write_size(total)} freed" if yes else f"{write_size(total)} to free; --yes removes it")


def _summarize(record: RunRecord, group: Group, scores: Iterable[str]) -> dict[str, Any]:
    """Return a run's line in the list; None where it has not come so far."""
    return {
        "id": record.id,
        "data": group.data,
        "label": group.label,
        "state": record.state,
        "seed": record.trial.seed,
        **{score: _read(record, score) for score in scores},
        **asdict(record.timings),
    }


def _add_group(table: Table, group: Group, shown: Iterable[str]) -> None:
    """Add runs that differ in nothing but the seed, with what was changed in them, and the mean of those finished."""
    changes = group.label.partition(" ")[2]
    for record in group.runs:
        table.add_row(
            Lines(record.id, Padding(Text(legible(changes)), (0, 0, 0, 2))) if changes else record.id,
            record.state,
            str(record.trial.seed),
            *[percent(_read(record, score)) for score in shown],
            *_write_timings(asdict(record.timings)),
        )
    if len(group.finished) > 1:
        means = [spread([_read(record, score) for record in group.finished]) for score in shown]
        table.add_row(f"mean ± std of {len(group.finished)}", "", "", *map(spread_words, means))


def _tell_start(record: RunRecord) -> str:
    weights = name_start(record.trial, record.directory)
    return f", started from weights={weights}" if weights else ""


def _read(record: RunRecord, score: str) -> float | None:
    return record.result.values.get(score) if record.result else None


def _write_timings(row: Mapping[str, Any]) -> list[str]:
    """Write speed, memory and time; nothing where they are not known."""
    written = {
        "images_per_second": lambda rate: f"{rate:,.0f}",
        "peak_memory_bytes": write_size,
        "seconds": duration,
    }
    return ["" if row[name] is None else write(row[name]) for name, write in written.items()]
