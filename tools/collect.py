"""Bring the records of finished runs home: `python -m tools.collect RUNS... [--into results/cifar10]`.

A record is everything of a run but its weights, checkpoints and event files, and the place where its photographs were.
One whose command names a place on the machine it ran on is refused: train with a relative --runs. One that is here
already and differs is left as it is, and told; what was measured of it since then is added.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from reslab.analysis.catalogue import list_instruments
from reslab.errors import UserError
from reslab.files import atomic_write
from reslab.json_text import to_json
from reslab.paper.measurements import ENSEMBLE, LATENCY, OtherProtocol
from reslab.report.agreement import split_copies
from reslab.report.records import read_record
from reslab.runs.directory import RunDirectory, list_runs
from tools import RESULTS

FILES = (
    "trial.json",
    "provenance.json",
    "metrics.jsonl",
    "timings.jsonl",
    "skipped.json",
    *[f"analysis/{name}.json" for name in (*get_args(OtherProtocol), ENSEMBLE, LATENCY)],
)

PLACE = "data_at"  # of photographs, in what a sitting leaves
LARGE = 100_000  # bytes: a number on a line of its own takes four times its room


def main(words: Sequence[str]) -> int:
    """Copy every record, and return how many could not be."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.collect", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs")
    parser.add_argument("--into", type=Path, default=RESULTS / "cifar10", help="the folder for their records")
    given = parser.parse_args(words)
    problems = 0
    for folder in given.runs:
        found = list_runs(folder)
        if not found:
            problems += 1
            print(f"there are no runs in {folder}", file=sys.stderr)
        for run in found:
            try:
                print(f"{run.path.name}: {collect(run, given.into)}")
            except UserError as error:
                problems += 1
                print(f"{run.path.name}: {error}", file=sys.stderr)
    return problems


def collect(run: RunDirectory, into: Path) -> str:
    """Copy the record of a run into a folder and say what was done; refuse one that is not fit to be kept."""
    _check(run, into)
    contents = read_files(run)
    target = RunDirectory(into / run.path.name)
    if target.state == "finished":
        known = read_files(target)
        differing = [name for name, content in contents.items() if known.get(name, content) != content]
        if differing:
            raise UserError(f"{target.path} is here already and its {differing[0]} differs; remove one of them")
        contents = {name: content for name, content in contents.items() if name not in known}
        if not contents:
            return "here already"
    for name, content in contents.items():
        with atomic_write(target.path / name) as temporary:
            temporary.write_bytes(content)
    return f"{sum(map(len, contents.values())) / 1024:.1f} KiB"


def read_files(run: RunDirectory) -> dict[str, bytes]:
    """Return the files of a record by their names; the last one makes it a finished one."""
    found = [f"analysis/{path.name}" for name in list_instruments() for path in run.list_findings(name)]
    names = (*FILES, *found, "result.json")
    return {name: _read(run.path / name) for name in names if (run.path / name).exists()}


def _read(path: Path) -> bytes:
    """Return what a file holds; a large table of numbers, such as confusions of many classes, without spaces."""
    content = path.read_bytes()
    if path.name == "provenance.json":
        return _without_places(content)
    if path.suffix != ".json" or len(content) <= LARGE:
        return content
    return json.dumps(json.loads(content), separators=(",", ":")).encode() + b"\n"


def _without_places(provenance: bytes) -> bytes:
    """Return where and on what a run ran, as it is written, without where its photographs were on that machine."""
    told = json.loads(provenance)
    if not any(PLACE in sitting for sitting in told["sittings"]):
        return provenance
    kept = [{name: value for name, value in sitting.items() if name != PLACE} for sitting in told["sittings"]]
    return (to_json(told | {"sittings": kept}, indent=2, sort_keys=True) + "\n").encode()


def _check(run: RunDirectory, into: Path) -> None:
    record, damages = read_record(run)
    for damage in damages:
        raise UserError(damage.sentence)
    if record.result is None:
        raise UserError(f"it is {record.state} and not at its end; train it further first")
    if record.trial.id != record.id:
        raise UserError(f"it is named so and is a run of {record.trial.id}; give it its name")
    others = [other for other in list_runs(into) if other.path.name != record.id and other.log() == run.log()]
    _, copies = split_copies([*[read_record(other)[0] for other in others], record])
    for sentence in copies.values():
        raise UserError(sentence)
    for sitting in run.read("provenance")["sittings"]:
        for word in shlex.split(sitting["command"]):
            if re.match(r"([\w.-]+=)?(/|~|[A-Za-z]:\\)", word):
                raise UserError(
                    f"its command names a place on the machine it ran on, {word}; train with a relative one"
                )


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
