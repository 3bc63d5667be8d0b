"""`reslab compare NAME NAME [field=value ...]`, `reslab compare RUN RUN`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from reslab.cli.terminal.checked_records import read_neighbours, read_whole
from reslab.cli.terminal.show import console, make_table, note, print_json, print_table, progress_console, say
from reslab.cli.words.subjects import Json, RunsFolder, read_spec, runs_root, take_count
from reslab.errors import UserError
from reslab.numbers import count, write_size
from reslab.report.records import RunRecord
from reslab.report.significance import MOST_SEEDS_TO_FLIP, PairedDifferences, pair
from reslab.runs.directory import RunDirectory, is_run, match_runs, only_run
from reslab.runs.origins import DIGITS, count_images, name_start
from reslab.scores import list_columns
from reslab.spec import differences, find, name_of
from reslab.spec.trial import START, trial_differences
from reslab.spec.words import split_words


def compare(*words: str, runs: RunsFolder = None, json: Json = False) -> None:
    """Compare two networks, or two runs.

        reslab compare resnet-50 'resnet-50 shortcut=C'

    For networks, print the fields that differ and the cost of each network. For runs, print the fields that differ and
    the errors. If the same two settings are finished with other seeds, the differences are paired by seed and tested
    for significance.

    Parameters
    ----------
    words
        Two networks, then fields for both as field=value. Quote a network that has fields of its own:
        `'resnet-34 shortcut=C'`. Or two runs, each by its id, the start of its id, or its folder.
    """
    subjects, fields = split_words(words)
    if len(subjects) != 2:
        raise UserError(
            f"compare takes two networks or two runs, but got {len(subjects)}; put quotes around a name with fields"
        )
    one, other = (_find_run(subject, runs_root(runs)) for subject in subjects)
    if one is None and other is None:
        _compare_networks(subjects, fields, json=json)
    elif one is None or other is None:
        run, network = reversed(subjects) if one is None else subjects
        raise UserError(f"'{run}' is a run, but '{network}' is not; compare two runs or two networks")
    elif fields:
        raise UserError(f"the fields of a run are fixed; leave out {next(iter(fields))}=")
    else:
        _compare_runs([read_whole(one), read_whole(other)], json=json)


def _find_run(subject: str, root: Path) -> RunDirectory | None:
    """Return the run that a subject names; a network's name means the network, and a note says if runs match it too."""
    matching = match_runs(subject, root)
    if not matching:
        return None
    if is_run(Path(subject)) or not _is_network(subject):
        return only_run(subject, matching)
    note(
        f"comparing the network {subject}; {len(matching)} run{'s' * (len(matching) > 1)} in {root} also "
        f"start{'s' * (len(matching) == 1)} with that name: to compare runs, give more of the id"
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
    counts = {measure: [getattr(cost, measure) for cost in costs] for measure in measures}
    if json:
        print_json({"networks": names, "differences": differing, **counts})
        return
    _print_differences(differing, names, "The two are the same network.")
    labels, writers = ("parameters", "multiply-adds", "activations kept"), (count, count, write_size)
    rows = [
        (label, write(one), write(other), f"{other / one:.3f}")
        for label, write, (one, other) in zip(labels, writers, counts.values(), strict=True)
    ]
    print_table("Cost", ("", *names, "ratio"), rows)


def _print_differences(differing: Mapping[str, Sequence[Any]], names: Sequence[str], same: str) -> None:
    table = make_table("Differences", "field", *[f"{name}<" for name in names])
    for field, values in differing.items():
        table.add_row(field, *["-" if value is None else str(value) for value in values])
    console.print(table if differing else same)
    console.print()


def _name_digests(differing: Mapping[str, tuple[Any, Any]], runs: Sequence[RunRecord]) -> dict[str, Sequence[Any]]:
    """Return the differences, with names of weights and data instead of their digests."""
    named: dict[str, Sequence[Any]] = dict(differing)
    if named.pop(START, None):
        named["weights"] = [name_start(run.trial, run.directory) for run in runs]
    if named.pop("data.fingerprint", None):
        counts = [count_images(run.directory) for run in runs]
        images = [count and f"{count[0]:,} training, {count[1]:,} test" for count in counts]
        named["images"] = images if images[0] != images[1] else [run.trial.data.fingerprint[:DIGITS] for run in runs]
    return named


def _compare_runs(runs: Sequence[RunRecord], *, json: bool) -> None:
    """Print what differs between two runs, and between all finished runs of their settings, seed by seed."""
    differing = trial_differences(runs[0].trial, runs[1].trial)
    groups = [_seeds(run) for run in runs]
    if differing.keys() <= {"seed"}:
        groups = groups[:1]  # the same setting twice: there is nothing to pair
    # What is compared, the test before training, with its words.
    scores = [score for run in runs for score in run.scores]
    columns = {name: words for score in scores for name, words in reversed(list_columns([score]).items())}
    outcomes = [{"state": run.state, **_numbers(run, columns)} for run in runs]
    paired: dict[str, PairedDifferences | None] = {}
    if len(groups) == 2:
        numbers = [{seed: _numbers(run, columns) for seed, run in group.items()} for group in groups]
        known = [name for name in columns if all(name in found for group in numbers for found in group.values())]
        paired = {
            name: pair(*[{seed: found[name] for seed, found in group.items()} for group in numbers]) for name in known
        }
    if json:
        plain = {name: {**asdict(found), "mean": found.mean} if found else None for name, found in paired.items()}
        seeds = [sorted(group) for group in groups]
        about = {"runs": [run.id for run in runs], "differences": differing, "errors": outcomes}
        print_json({**about, "seeds": seeds, "paired": plain})
        return
    names = ("first", "second")
    for name, run in zip(names, runs, strict=True):
        say(f"{name:<8}{run.id}")
    console.print()
    _print_differences(_name_digests(differing, runs), names, "The two are the same run.")
    table = make_table("Results", "", *[f"{name}<" for name in names])
    for name, words in {"state": "state", **columns}.items():
        cells = [outcome.get(name, "") for outcome in outcomes]
        if any(cell != "" for cell in cells):
            table.add_row(words, *[f"{cell:.2f}" if isinstance(cell, float) else cell for cell in cells])
    console.print(table)
    if differing:
        console.print()
        for sentence in _print_pairs(groups, paired, columns):
            say(sentence)


def _seeds(run: RunRecord) -> dict[int, RunRecord]:
    """Return the finished runs of the same trial but for the seed, by seed, that lie beside `run`."""
    return {
        record.trial.seed: record
        for record in read_neighbours(run.directory)  # a damaged one is nobody's seed
        if record.result and replace(record.trial, seed=run.trial.seed) == run.trial
    }


def _numbers(run: RunRecord, names: Iterable[str]) -> dict[str, float]:
    """Return what is compared, as far as the run came to it."""
    values = {name: run.result.values.get(name) for name in names} if run.result else {}
    return {name: value for name, value in values.items() if value is not None}


def _print_pairs(
    groups: Sequence[Mapping[int, RunRecord]], paired: Mapping[str, PairedDifferences | None], words: Mapping[str, str]
) -> list[str]:
    """Print the paired differences, and return sentences about them."""
    if len(groups) == 1:
        return [f"The runs differ only in the seed; finished seeds of this setting: {_list(groups[0])}."]
    found = next(iter(paired.values()))
    if found is None:
        return [
            f"No seed is finished in both settings ({_list(groups[0])} and {_list(groups[1])}), so none can be paired."
        ]
    title = f"Second minus first, paired by seed (seeds {_list(found.seeds)})"
    table = make_table(title, "", "mean difference", "95 % interval", "t-test p", "sign-flip p")
    for name, difference in paired.items():
        assert difference is not None
        interval = difference.interval
        table.add_row(
            words[name],
            f"{difference.mean:+.2f}",
            "" if interval is None else f"{interval[0]:+.2f} to {interval[1]:+.2f}",
            *["" if p is None else f"{p:.3g}" for p in (difference.t_test_p, difference.sign_flip_p)],
        )
    console.print(table)
    count, sentences = len(found.seeds), []
    if count == 1:
        return ["One common seed gives a difference but no significance; train both settings with more seeds."]
    if any(difference is not None and difference.interval is None for difference in paired.values()):
        sentences.append("Equal differences have no spread, so they have no interval and no t-test.")
    if count <= MOST_SEEDS_TO_FLIP:
        sentences.append(f"With {count} seeds the exact sign-flip p-value cannot be below {2 / 2**count:.2g}.")
    return sentences


def _list(seeds: Mapping[int, Any] | Sequence[int]) -> str:
    return ", ".join(map(str, sorted(seeds))) or "none"
