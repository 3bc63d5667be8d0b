"""`reslab compare NAME NAME [field=value ...]`, `reslab compare RUN RUN`."""

from __future__ import annotations

from pathlib import Path

from reslab.cli.compare.run_comparison import compare_runs
from reslab.cli.terminal.show import console, make_table, print_json, progress_console
from reslab.cli.words.subjects import Json, RunsFolder, read_spec, runs_root, split_words, take_count
from reslab.errors import UserError
from reslab.numbers import count, write_size
from reslab.runs.directory import RunDirectory, is_run, match_runs, only_run
from reslab.spec import differences, find, name_of

HELP = "What differs between two networks, or two runs."


def compare(*words: str, runs: RunsFolder = None, json: Json = False) -> None:
    """Print what differs between two networks and what each costs, or between two runs and what came out.

    Runs are compared seed by seed with all finished runs of their settings, with the significance of the difference.

    Parameters
    ----------
    words
        Two networks (quote one with fields of its own: 'resnet-34 shortcut=C'), then field=value pairs for both; or
        two runs, by folder or by a beginning of their ids that no other has.
    """
    subjects, fields = split_words(words)
    if len(subjects) != 2:
        raise UserError(
            f"compare takes two networks, or two runs, and got {len(subjects)}; quote a name that has fields of its own"
        )
    one, other = (_find_run(subject, runs_root(runs)) for subject in subjects)
    if one is None and other is None:
        _compare_networks(subjects, fields, json=json)
    elif one is None or other is None:
        run, network = reversed(subjects) if one is None else subjects
        raise UserError(f"'{run}' is a run and '{network}' is none; compare two runs, or two networks")
    elif fields:
        raise UserError(f"runs have their fields already; leave out {next(iter(fields))}=")
    else:
        compare_runs(one, other, json=json)


def _find_run(subject: str, root: Path) -> RunDirectory | None:
    """Return the run that a subject names; a network's name means the network, and that it could mean more is told."""
    matching = match_runs(subject, root)
    if not matching:
        return None
    if is_run(Path(subject)) or not _is_network(subject):
        return only_run(subject, matching)
    progress_console.print(
        f"{subject} is taken for the network; runs in {root} whose ids begin so: {len(matching)}; "
        "give more of an id to compare runs",
        soft_wrap=True,
    )
    return None


def _is_network(subject: str) -> bool:
    try:
        find(subject)
    except UserError:
        return False
    return True


def _compare_networks(subjects: list[str], fields: dict[str, str], *, json: bool) -> None:
    batch = take_count(fields, "batch", 1)
    with progress_console.status("building"):
        from reslab.networks import measure_cost

        specs = [read_spec(subject, fields) for subject in subjects]
        costs = [measure_cost(spec, batch=batch) for spec in specs]
    names = [name_of(spec) for spec in specs]
    differing = differences(*specs)
    measures = ("params", "multiply_adds", "activation_bytes")
    if json:
        print_json(
            {
                "networks": names,
                "differences": differing,
                **{measure: [getattr(cost, measure) for cost in costs] for measure in measures},
            }
        )
        return
    table = make_table("What differs", "field", f"{names[0]}<", f"{names[1]}<")
    for field, values in differing.items():
        table.add_row(field, *["-" if value is None else str(value) for value in values])
    console.print(table if differing else "The two are the same network.")
    console.print()
    table = make_table("What it costs", "", names[0], names[1], "ratio")
    for label, measure, written in zip(
        ("parameters", "multiply-adds", "activations kept"), measures, (count, count, write_size), strict=True
    ):
        one, other = (getattr(cost, measure) for cost in costs)
        table.add_row(label, written(one), written(other), f"{other / one:.3f}")
    console.print(table)
