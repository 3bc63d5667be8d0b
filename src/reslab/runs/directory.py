"""A run on disk: what was asked, what happened, what came out. Its state is read off the files that are there.

``trial.json``, ``provenance.json``, ``metrics.jsonl`` (a pure function of the trial), ``timings.jsonl`` (speed, memory,
wall-clock), ``tensorboard/``, ``checkpoints/``, ``weights.safetensors``, ``gallery.json`` (thumbnails of test images),
``result.json``, ``analysis/``; ``snapshots/`` if weights along the training were asked for; where bad images were left
out, ``skipped.json``; and where the last sitting ended in numbers that are not finite, ``diverged.json``.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from reslab.errors import UserError, suggest
from reslab.files import is_file, is_folder, is_locked, leftovers, list_folder, lock, write_text
from reslab.json_text import to_json
from reslab.runs.log import StepLog
from reslab.spec.trial import Trial, trial_from_dict, trial_to_dict

MOST_NAMED = 8  # of runs that a word could mean


@dataclass(frozen=True)
class RunDirectory:
    """The files of one trial."""

    path: Path

    @classmethod
    def of(cls, trial: Trial, root: Path) -> RunDirectory:
        """Return the directory that `trial` has, or would have, under `root`."""
        return cls(root / trial.id)

    @property
    def checkpoints(self) -> Path:
        """Where the training state is kept."""
        return self.path / "checkpoints"

    @property
    def weights(self) -> Path:
        return self.path / "weights.safetensors"

    def snapshot(self, step: int) -> Path:
        """Where the weights after an iteration are, if they were kept."""
        return self.path / "snapshots" / f"step-{step:08d}.safetensors"

    @property
    def snapshots(self) -> dict[int, Path]:
        """The weights that were kept along the training, by step."""
        folder = self.path / "snapshots"
        paths = list_folder(folder) if is_folder(folder) else []
        kept = [re.fullmatch(r"step-(\d+)\.safetensors", path.name) for path in paths]
        return {int(found[1]): self.snapshot(int(found[1])) for found in kept if found}

    @property
    def state(self) -> Literal["new", "running", "interrupted", "diverged", "finished"]:
        """How far the run is."""
        if is_file(self.path / "result.json"):
            return "finished"
        if not is_run(self.path):
            return "new"
        return self.state_without_result

    @property
    def state_without_result(self) -> Literal["running", "interrupted", "diverged"]:
        """How far a run without a result is; a running one has a living process at work on it."""
        if self.held:
            return "running"
        return "diverged" if is_file(self.path / "diverged.json") else "interrupted"

    @property
    def held(self) -> bool:
        """Whether a living process is working on the run."""
        return is_locked(self.path / "lock")

    def refuse_held(self) -> None:
        """Raise what `working` would raise, before time is spent on the run."""
        if self.held:
            raise UserError(self._refusal)

    @property
    def _refusal(self) -> str:
        return f"another process is working on {self.path}; wait for it or stop it"

    @property
    def is_bare(self) -> bool:
        """Whether the folder holds a lock and nothing but what a killed writer left: the run was never begun."""
        names = {path.name for path in list_folder(self.path)} if is_folder(self.path) else set()
        return "lock" in names and names - {"lock"} <= {path.name for path in leftovers(self.path)}

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Hold the run for oneself; a second trainer is refused, a dead one's hold is gone with it.

        A run that was never begun leaves no folder.
        """
        with lock(self.path / "lock", self._refusal):
            try:
                yield
            finally:
                if self.is_bare:
                    shutil.rmtree(self.path, ignore_errors=True)

    def begin(self, trial: Trial, provenance: dict[str, Any]) -> None:
        """Write down what is asked and on what it runs; earlier sittings of the same run stay recorded.

        What a killed sitting was writing is removed, and so is the note that it diverged: this one may not.
        """
        for path in leftovers(self.path):
            path.unlink()
        (self.path / "diverged.json").unlink(missing_ok=True)
        self.write("trial", trial_to_dict(trial))
        sittings = self.read("provenance")["sittings"] if (self.path / "provenance.json").exists() else []
        self.write("provenance", {"sittings": [*sittings, provenance]})

    def amend_sitting(self, known: Mapping[str, Any]) -> None:
        """Correct what the last sitting wrote down before it knew better."""
        *earlier, last = self.read("provenance")["sittings"]
        if (amended := last | known) != last:
            self.write("provenance", {"sittings": [*earlier, amended]})

    def note_divergence(self, sentence: str) -> None:
        """Write down that this sitting ended in numbers that are not finite."""
        self.write("diverged", {"sentence": sentence})

    def finish(self, result: dict[str, Any]) -> None:
        """Write the result; from now on the run is finished."""
        self.write("result", result)

    def trial(self) -> Trial:
        """Return the trial of this run."""
        data = self.read("trial")
        try:
            return trial_from_dict(data)
        except (UserError, LookupError, TypeError, AttributeError) as error:
            raise UserError(f"{self.path / 'trial.json'} is damaged: {error}; remove the run") from error

    def result(self) -> dict[str, Any]:
        """Return the result of a finished run."""
        return self.read("result")

    def log(self, *, strict: bool = False) -> list[dict[str, float]]:
        """Return what was logged; lines cut short do not count, or, if `strict`, only as the last one."""
        return StepLog(self.path / "metrics.jsonl").read(strict=strict)

    def timings(self) -> list[dict[str, float]]:
        """Return what each evaluation logged of speed, memory and wall-clock."""
        return StepLog(self.path / "timings.jsonl").read()

    def read(self, name: str) -> dict[str, Any]:
        """Read one of the JSON files."""
        path = self.path / f"{name}.json"
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UserError(
                f"{self.path} has no {name}.json; it is not a run, or the run has not written it yet"
            ) from None
        except PermissionError as error:
            raise UserError(f"{path} cannot be read: {error.strerror}; check the run's permissions") from error
        except (OSError, ValueError, RecursionError) as error:
            raise UserError(f"{path} cannot be read ({error}); remove the run and train it again") from error
        if not isinstance(data, dict):
            raise UserError(f"{path} is not a JSON object; remove the run and train it again")
        return data

    def write(self, name: str, data: dict[str, Any]) -> None:
        """Write one of the JSON files, atomically."""
        write_text(self.path / f"{name}.json", to_json(data, indent=2, sort_keys=True) + "\n")

    def kept(self, analysis: str) -> dict[str, Any]:
        """Return what an analysis found before; nothing where it was not made, or cannot be read."""
        try:
            return self.read(f"analysis/{analysis}")
        except UserError:
            return {}

    def list_findings(self, instrument: str) -> list[Path]:
        """Return the files with what an instrument found, by whatever settings and at whatever step."""
        pattern = rf"{re.escape(instrument)}(-\w+)?(@\d+)?\.(json|npz)"
        folder = self.path / "analysis"
        return [path for path in (list_folder(folder) if is_folder(folder) else []) if re.fullmatch(pattern, path.name)]

    def keep(self, analysis: str, found: dict[str, Any]) -> None:
        """Write down what an analysis found."""
        self.write(f"analysis/{analysis}", found)


@dataclass(frozen=True)
class ReadOnce(RunDirectory):
    """A run that remembers what it has read, for the length of a command; what cannot be read is tried again."""

    known: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def read(self, name: str) -> dict[str, Any]:
        """Read one of the JSON files, the first time."""
        if name not in self.known:
            self.known[name] = super().read(name)
        return self.known[name]

    def log(self, *, strict: bool = False) -> list[dict[str, float]]:
        """Read the metric log, the first time; where it stood the strict reading, that serves for both."""
        name = "strict log" if strict or "strict log" in self.known else "log"
        if name not in self.known:
            self.known[name] = super().log(strict=strict)
        return self.known[name]


def default_root() -> Path:
    """Return the folder for runs where none is given: RESLAB_RUNS, or runs."""
    return Path(os.environ.get("RESLAB_RUNS") or "runs")


def list_runs(root: Path) -> list[RunDirectory]:
    """Return the runs in `root` and in the folders there, by name.

    A folder there that may not be entered counts as one: reading it tells, and nobody takes the others for all.
    """
    return _list(root, _may_be_run)


def list_bare(root: Path) -> list[RunDirectory]:
    """Return the folders in the same places that are left of starts that were killed: they hold a lock alone."""
    return _list(root, lambda path: RunDirectory(path).is_bare)


def _list(root: Path, is_one: Callable[[Path], bool]) -> list[RunDirectory]:
    found: list[Path] = []
    for folder in list_folder(root) if is_folder(root) else []:
        if is_one(folder):
            found.append(folder)
        elif is_folder(folder):
            found += filter(is_one, list_folder(folder))
    return [RunDirectory(path) for path in sorted(found, key=lambda path: (path.name, path))]


def find_run(word: str, root: Path) -> RunDirectory:
    """Return the run that `word` is the directory of, or begins the id of under `root`."""
    matching = match_runs(word, root)
    if not matching:
        raise UserError(
            f"there is no run '{word}' in {root}"
            f"{suggest(word, [run.path.name for run in list_runs(root)]) or '; `reslab runs` lists the runs'}"
        )
    return only_run(word, matching)


def split_step(word: str) -> tuple[str, int | None]:
    """Split RUN@STEP, a run at the step of a snapshot, into both; of a run there is no step in the word."""
    run, at, step = word.rpartition("@")
    return (run, int(step)) if at and run and step.isdecimal() and not is_run(Path(word)) else (word, None)


def match_runs(word: str, root: Path) -> list[RunDirectory]:
    """Return the run that `word` is the directory of, or the runs under `root` whose ids begin with it."""
    if is_run(Path(word)):
        return [RunDirectory(Path(word).resolve())]
    return [run for run in list_runs(root) if run.path.name.startswith(word)]


def only_run(word: str, matching: Sequence[RunDirectory], *, finished: bool = False) -> RunDirectory:
    """Return the one run that matched `word` (with `finished`, the finished one); if several match, raise."""
    if finished:
        matching = [run for run in matching if run.state == "finished"] or matching
    if len(matching) > 1:
        kind = "finished runs" if finished and matching[0].state == "finished" else "runs"
        named = [f"{run.path.name} ({_describe(run)})" for run in matching[:MOST_NAMED]]
        more = f" and {len(matching) - MOST_NAMED} more" if len(matching) > MOST_NAMED else ""
        raise UserError(f"'{word}' matches {len(matching)} {kind}; give more of the id: {', '.join(named)}{more}")
    return matching[0]


def _describe(run: RunDirectory) -> str:
    try:
        return f"seed {run.trial().seed}, {run.state}"
    except UserError:
        return "damaged"


def is_run(path: Path) -> bool:
    """Whether there is a run's directory at `path`."""
    return is_file(path / "trial.json")


def _may_be_run(path: Path) -> bool:
    try:
        return is_run(path)
    except UserError:  # it may not be entered
        return True
