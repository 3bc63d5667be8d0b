"""What a run directory holds, read and checked for showing. A damaged run costs itself, never the report.

So does one that contradicts itself (agreement.py): verdicts, pages, lists and comparisons begin with what is read here.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from reslab.errors import UserError
from reslab.report.agreement import refuse_contradictions, refuse_other_name, split_copies
from reslab.runs.directory import RunDirectory, list_runs
from reslab.runs.reading import ReadOnce
from reslab.runs.timings import Timings, last_sitting, list_timings, sum_up
from reslab.spec.codec import decode
from reslab.spec.trial import Trial, trial_from_dict

T = TypeVar("T")
PARTS = ("provenance.json", "metrics.jsonl", "result.json")


@dataclass(frozen=True, kw_only=True)
class Point:
    """One evaluation during training; what was not finite is None."""

    step: int
    learning_rate: float | None = None
    train_loss: float | None = None
    train_error_percent: float | None = None
    test_loss: float | None = None
    test_error_percent: float | None = None


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a finished run came to. Costs are of one image; runs of early versions lack some.

    The balanced error, the mean of the class errors, is there where classes have different numbers of images. Where
    images have several labels, there is no confusion: the average precision of each class, None where no image has it,
    and the mean of those.
    """

    train_error_percent: float
    test_error_percent: float
    top5_error_percent: float | None = None
    balanced_error_percent: float | None = None
    confusion: tuple[tuple[int, ...], ...] = ()
    class_error_percent: tuple[float | None, ...] = ()
    map_percent: float | None = None
    class_average_precision_percent: tuple[float | None, ...] = ()
    class_positives: tuple[int, ...] = ()
    class_names: tuple[str, ...] = ()
    skipped_images: int = 0
    skipped_training_images: int = 0
    params: int | None = None
    multiply_adds: int | None = None
    activation_bytes: int | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes' names, or numbers where a run did not record names."""
        return self.class_names or tuple(map(str, range(len(self.confusion))))

    @cached_property
    def class_errors(self) -> tuple[float | None, ...]:
        """The error of each class; None where no test image is of it, for which early versions wrote 0."""
        return tuple(
            error if sum(row) else None for error, row in zip(self.class_error_percent, self.confusion, strict=True)
        )


@dataclass(frozen=True, kw_only=True)
class Layer:
    """The standard deviation of a layer's responses, with its confidence interval."""

    name: str
    std: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Responses:
    """Layer responses in original order, over so many images."""

    data: str
    images: int
    confidence: float
    layers: tuple[Layer, ...]


@dataclass(frozen=True, kw_only=True)
class Sitting:
    """Where and how a part of a run ran; a run that was resumed has several.

    `together` is how many trials at most shared the device; early versions did not write it down.
    """

    command: str
    started: str
    commit: str
    device: str
    together: int | None
    machine: Mapping[str, Any]
    versions: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """One run, ready to be shown."""

    directory: RunDirectory
    trial: Trial
    points: tuple[Point, ...]
    result: Result | None
    responses: Responses | None
    timings: Timings
    sittings: tuple[Sitting, ...]

    @property
    def id(self) -> str:
        """The run's name: its folder's."""
        return self.directory.path.name

    @property
    def state(self) -> str:
        """Finished, interrupted, or running while a living process works on it; by what was read."""
        if self.result:
            return "finished"
        return "running" if self.directory.held else "interrupted"

    @property
    def step(self) -> int:
        """How many iterations are logged."""
        return self.points[-1].step if self.points else 0

    @property
    def train_error_percent(self) -> float | None:
        """The training error: the result's, or the last one logged."""
        if self.result:
            return self.result.train_error_percent
        return self.points[-1].train_error_percent if self.points else None

    @property
    def test_error_percent(self) -> float | None:
        """The test error: the result's, or the last one logged."""
        if self.result:
            return self.result.test_error_percent
        return self.points[-1].test_error_percent if self.points else None

    @property
    def device(self) -> str:
        """What the last sitting ran on."""
        return self.sittings[-1].device if self.sittings else ""

    @property
    def together(self) -> int | None:
        """How many trials at most ran at once in any sitting: the peak of memory is that of all of them."""
        return max((sitting.together for sitting in self.sittings if sitting.together), default=None)

    @property
    def commits(self) -> tuple[str, ...]:
        """The commits of its sittings, each once: a run that was resumed may be the work of several."""
        return tuple(dict.fromkeys(sitting.commit for sitting in self.sittings if sitting.commit))


@dataclass(frozen=True)
class Damage:
    """A run, or a part of one, that cannot be shown, and why; `state` is that of a run left out as a whole."""

    id: str
    sentence: str
    state: Literal["damaged", "copy", ""] = "damaged"


def read_records(root: Path) -> tuple[list[RunRecord], list[Damage]]:
    """Return the runs that `root` and the folders in it hold, and what is damaged or copied among them.

    Their directories remember what was read: verdicts on them parse nothing again.
    """
    records, damages, runs = [], [], [ReadOnce(run.path) for run in list_runs(root)]
    known: dict[str, Path] = {}
    for run in runs:
        first = known.setdefault(run.path.name, run.path)
        if first != run.path:
            copy, read = (path.relative_to(root).as_posix() for path in (run.path, first))
            damages.append(Damage(copy, f"it is not read: {read} has the same name", "copy"))
            continue
        try:
            record, damage = read_record(run)
        except UserError as error:
            damages.append(Damage(run.path.name, str(error)))
        else:
            records.append(record)
            damages += damage
    records, copies = split_copies(records)
    damages += [Damage(name, sentence, "copy") for name, sentence in copies.items()]
    strays = {path.parent.name for depth in ("*", "*/*") for part in PARTS for path in root.glob(f"{depth}/{part}")}
    damages += [Damage(name, "it has no trial.json, so nobody can say what was run") for name in strays - known.keys()]
    return records, sorted(damages, key=lambda damage: damage.id)


def read_record(run: RunDirectory) -> tuple[RunRecord, list[Damage]]:
    """Return a run as far as it can be shown, and what of it cannot."""
    data = run.read("trial")
    with _naming("trial.json"):
        trial = trial_from_dict(data)
    refuse_other_name(run.path.name, trial)
    with _naming("metrics.jsonl"):
        points = tuple(_point(entry) for entry in run.log(strict=True))
    with _naming("timings.jsonl"):
        logged = list_timings(run)
        timings, logged_by = sum_up(logged), last_sitting(logged)
    sittings: tuple[Sitting, ...] = ()
    if (run.path / "provenance.json").exists():
        data = run.read("provenance")
        with _naming("provenance.json"):
            sittings = tuple(_sitting(entry) for entry in data["sittings"])
    result = None
    if run.state == "finished":
        data = run.result()
        with _naming("result.json"):
            result = _result(data)
        refuse_contradictions(
            trial, recorded=data, result=result, log=run.log(strict=True), tested_later=len(sittings) > logged_by
        )
    responses, damage = None, []
    try:
        if (run.path / "analysis" / "responses.json").exists():
            data = run.read("analysis/responses")
            with _naming("analysis/responses.json"):
                responses = _responses(data)
    except UserError as error:
        damage.append(Damage(run.path.name, f"{error}; the run is shown without its layer responses", ""))
    record = RunRecord(
        directory=run,
        trial=trial,
        points=points,
        result=result,
        responses=responses,
        timings=timings,
        sittings=sittings,
    )
    return record, damage


@contextlib.contextmanager
def _naming(file: str) -> Iterator[None]:
    """Turn whatever is wrong with `file` into a sentence that names it."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{file} is damaged: {error}") from error
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError, OSError) as error:
        raise UserError(f"{file} is damaged ({type(error).__name__}: {error})") from error


def _decode_known(cls: type[T], data: Mapping[str, Any]) -> T:
    """Decode the fields that are shown; a run may record more."""
    return decode(cls, {field.name: data[field.name] for field in fields(cls) if field.name in data})  # pyright: ignore[reportArgumentType]


def _result(data: Mapping[str, Any]) -> Result:
    """Return a result whose parts agree; its confusion, a million cells of a thousand classes, is checked at once."""
    result = replace(_decode_known(Result, {**data, "confusion": ()}), confusion=_confusion(data.get("confusion", ())))
    count = len(result.confusion)
    if len(result.class_error_percent) != count:
        raise UserError("its confusion matrix and class errors are not of one number of classes")
    if len(result.class_positives) != len(result.class_average_precision_percent):
        raise UserError("its precisions and the images of each label are not of one number of classes")
    count = count or len(result.class_positives)
    if result.class_names and len(result.class_names) != count:
        raise UserError(f"it names {len(result.class_names)} classes and counts {count}")
    return result


def _confusion(rows: Any) -> tuple[tuple[int, ...], ...]:
    """Return the confusion as it is written down, if it counts images by truth and guess; there may be none."""
    try:
        counts = np.array(rows)
    except (ValueError, OverflowError):  # rows of different lengths
        counts = np.array(None)
    if counts.shape == (0,):
        return ()
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
        raise UserError("its confusion is not a square of numbers, a row and a column for each class")
    if counts.dtype.kind not in "iu" or counts.min() < 0:
        raise UserError("its confusion has cells that count no images; each must be a whole number of 0 or more")
    return tuple(map(tuple, counts.tolist()))


def _point(entry: Mapping[str, Any]) -> Point:
    names = [field.name for field in fields(Point)[1:]]
    return Point(step=int(entry["step"]), **{name: _finite(entry.get(name)) for name in names})


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _sitting(entry: Mapping[str, Any]) -> Sitting:
    names = ("command", "started", "commit", "device")
    if not any(name in entry for name in names):
        raise UserError("a sitting says nothing of where it ran")
    return Sitting(
        **{name: str(entry.get(name) or "") for name in names},
        together=int(entry["together"]) if entry.get("together") else None,
        machine=dict(entry.get("machine") or {}),
        versions=dict(entry.get("versions") or {}),
    )


def _responses(data: Mapping[str, Any]) -> Responses:
    layers = tuple(_decode_known(Layer, layer) for layer in data["layers"])
    return _decode_known(Responses, {**data, "layers": layers})
