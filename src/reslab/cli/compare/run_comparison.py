"""What `reslab compare` says of two runs: how their trials and errors differ, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from reslab.cli.terminal.checked_records import read_neighbours, read_whole
from reslab.cli.terminal.show import console, make_table, print_json
from reslab.report.records import RunRecord
from reslab.report.significance import MOST_SEEDS_TO_FLIP, PairedDifferences, pair
from reslab.runs.directory import RunDirectory
from reslab.scores import list_columns
from reslab.spec.trial import trial_differences


def compare_runs(one: RunDirectory, other: RunDirectory, *, json: bool) -> None:
    """Print what differs between two runs, and between all finished runs of their settings, seed by seed."""
    runs = (read_whole(one), read_whole(other))
    differing = trial_differences(runs[0].trial, runs[1].trial)
    groups = [_seeds(run) for run in runs]
    if differing.keys() <= {"seed"}:
        groups = groups[:1]  # the same setting twice: there is nothing to pair
    paired: dict[str, PairedDifferences | None] = {}
    if len(groups) == 2:
        everybody = [run for group in groups for run in group.values()]
        known = [name for name in _columns(runs) if all(name in _numbers(run) for run in everybody)]
        paired = {name: pair(*[_values(group, name) for group in groups]) for name in known}
    if json:
        print_json(
            {
                "runs": [run.id for run in runs],
                "differences": differing,
                "errors": [_outcome(run) for run in runs],
                "seeds": [sorted(group) for group in groups],
                "paired": {name: _plain(found) for name, found in paired.items()},
            }
        )
        return
    _print_fields(runs, differing)
    if not differing:
        return
    console.print()
    for sentence in _print_pairs(groups, paired, _columns(runs)):
        console.print(sentence, soft_wrap=True)


def _seeds(run: RunRecord) -> dict[int, RunRecord]:
    """Return the finished runs of the same trial but for the seed, by seed, that lie beside `run`."""
    return {
        record.trial.seed: record
        for record in read_neighbours(run.directory)  # a damaged one is nobody's seed
        if record.result and replace(record.trial, seed=run.trial.seed) == run.trial
    }


def _values(group: Mapping[int, RunRecord], name: str) -> dict[int, float]:
    return {seed: _numbers(run)[name] for seed, run in group.items()}


def _columns(runs: Sequence[RunRecord]) -> dict[str, str]:
    """Return what is compared, the test before training, with its words."""
    scores = [score for run in runs for score in run.scores]
    return {name: words for score in scores for name, words in reversed(list_columns([score]).items())}


def _numbers(run: RunRecord) -> dict[str, float]:
    """Return what is compared, as far as the run came to it."""
    values = {name: run.result.values.get(name) for name in _columns([run])} if run.result else {}
    return {name: value for name, value in values.items() if value is not None}


def _outcome(run: RunRecord) -> dict[str, Any]:
    return {"state": run.state, **_numbers(run)}


def _print_fields(runs: Sequence[RunRecord], differing: Mapping[str, tuple[Any, Any]]) -> None:
    columns = [f"{run.id}<" for run in runs]
    table = make_table("What differs", "field", *columns)
    for field, values in differing.items():
        table.add_row(field, *["-" if value is None else str(value) for value in values])
    console.print(table if differing else "The two are the same run.")
    console.print()
    table = make_table("What came out", "", *columns)
    both = [_outcome(run) for run in runs]
    for name, words in {"state": "state", **_columns(runs)}.items():
        cells = [outcome.get(name, "") for outcome in both]
        if any(cell != "" for cell in cells):
            table.add_row(words, *[f"{cell:.2f}" if isinstance(cell, float) else cell for cell in cells])
    console.print(table)


def _print_pairs(
    groups: Sequence[Mapping[int, RunRecord]], paired: Mapping[str, PairedDifferences | None], words: Mapping[str, str]
) -> list[str]:
    """Print the paired differences, and return what remains to be said of them."""
    if len(groups) == 1:
        return [f"The two differ in nothing but the seed; finished seeds of this setting: {_list(groups[0])}."]
    found = next(iter(paired.values()))
    if found is None:
        return [f"No seed is finished in both settings ({_list(groups[0])} and {_list(groups[1])}): nothing to pair."]
    title = f"Second less first, seed by seed (seeds {_list(found.seeds)})"
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
        return ["One seed in common gives a difference, but no significance: run both settings with more seeds."]
    if any(difference is not None and difference.interval is None for difference in paired.values()):
        sentences.append("Where all differences are equal there is no spread, and no interval or t-test.")
    if count <= MOST_SEEDS_TO_FLIP:
        sentences.append(
            f"With {count} seeds the sign-flip p-value, which is exact, cannot fall below {2 / 2**count:.2g}."
        )
    return sentences


def _list(seeds: Mapping[int, Any] | Sequence[int]) -> str:
    return ", ".join(map(str, sorted(seeds))) or "none"


def _plain(found: PairedDifferences | None) -> dict[str, Any] | None:
    return None if found is None else {**asdict(found), "mean": found.mean}
