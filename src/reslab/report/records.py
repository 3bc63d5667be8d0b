"""What a run directory holds, read and checked for showing. A damaged run recorded itself, never the report.

So does one that contradicts itself (agreement.py): verdicts, pages, lists and comparisons begin with what is read here.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from reslab.analysis.catalogue import InstrumentPanel, list_lines
from reslab.errors import UserError, choices
from reslab.paper.measurements import Record
from reslab.report.agreement import refuse_contradictions, refuse_other_name, split_copies
from reslab.runs.directory import ReadOnce, RunDirectory, list_runs
from reslab.runs.log import Timings, last_sitting, sum_up
from reslab.scores import Score
from reslab.spec.codec import convert, decode_known
from reslab.spec.trial import Trial, trial_from_dict
from reslab.tasks.catalogue import find_shown
from reslab.tasks.display import Panel
from reslab.tasks.gallery import FILE as GALLERY
from reslab.tasks.gallery import Gallery

T = TypeVar("T")
PARTS = ("provenance.json", "metrics.jsonl", "result.json")
LOSS = "_loss"  # what names of losses end with: that of training, its parts, and that of tests where these have one


@dataclass(frozen=True, kw_only=True)
class Point:
    """One evaluation during training: what was logged, by name; what was not finite is None."""

    step: int
    values: Mapping[str, float | None]

    @property
    def losses(self) -> Mapping[str, float | None]:
        """What is minimized, and its parts where the task has several, in training and in tests."""
        return {name: value for name, value in self.values.items() if name.endswith(LOSS)}


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a finished run came to: its scores by name, and what its task has beyond them.

    Costs are of one image; early runs lack some. Where the best weights were kept, they are of `best_step`, not `step`.
    """

    values: Mapping[str, float | None] = field(default_factory=dict)
    panel: Panel = field(default_factory=Panel)
    class_names: tuple[str, ...] = ()
    skipped_images: int = 0
    skipped_training_images: int = 0
    params: int | None = None
    multiply_adds: int | None = None
    activation_bytes: int | None = None
    best_step: int | None = None
    step: int | None = None


@dataclass(frozen=True, kw_only=True)
class Sitting:
    """Where and how a part of a run ran; a run that was resumed has several.

    `processes` shared its batches, and at most `together` trials the device: early versions wrote down neither.
    """

    command: str
    started: str
    commit: str
    device: str
    processes: int
    together: int | None
    machine: Mapping[str, Any]
    versions: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """One run, ready to be shown; `findings` are what instruments found in it, by their names."""

    directory: RunDirectory
    trial: Trial
    scores: tuple[Score, ...]
    points: tuple[Point, ...]
    result: Result | None
    findings: Mapping[str, InstrumentPanel]
    timings: Timings
    sittings: tuple[Sitting, ...]

    @property
    def id(self) -> str:
        """The run's name: its folder's."""
        return self.directory.path.name

    @property
    def state(self) -> str:
        """Finished, interrupted, diverged, or running while a living process works on it; by what was read."""
        return "finished" if self.result else self.directory.state_without_result

    @property
    def step(self) -> int:
        """How many iterations are logged."""
        return self.points[-1].step if self.points else 0

    @property
    def headline(self) -> Score:
        """The score that curves, tables and rankings go by."""
        return self.scores[0]

    @property
    def train_score(self) -> float | None:
        """The headline score of training: the result's, or the last one logged."""
        return self._last(self.headline.key("train"))

    @property
    def test_score(self) -> float | None:
        """The headline score of the test: the result's, or the last one logged."""
        return self._last([*self.headline.columns][-1] if self.result else self.headline.key("test"))

    def _last(self, name: str) -> float | None:
        latest = self.result or next(reversed(self.points), None)
        return latest.values.get(name) if latest else None

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

    @property
    def processes(self) -> int:
        """How many processes at most shared its batches."""
        return max((sitting.processes for sitting in self.sittings), default=1)

    @cached_property
    def evidence(self) -> Record | None:
        """What claims are read off, where it is finished."""
        if self.result is None:
            return None
        return Record(
            data=self.trial.data.name,
            iterations=self.trial.recipe.iterations,
            evaluate_every=self.trial.recipe.evaluate_every,
            result=self.directory.result(),
            log=self.directory.log(),
            analyses={path.stem: self._analysis(path.stem) for path in self.directory.path.glob("analysis/*.json")},
            timings=asdict(self.timings),
            devices={one.device: str(one.machine.get("processor") or one.device) for one in self.sittings},
            alone=self.together in (None, 1) and self.processes == 1,
        )

    def _analysis(self, name: str) -> dict[str, Any]:
        """Return an analysis; a damaged one is empty: only the claims that ask for it lose it."""
        try:
            return self.directory.read(f"analysis/{name}")
        except UserError:
            return {}


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
            damages.append(Damage(copy, f"it is ignored, because {read} has the same name", "copy"))
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
    damages += [Damage(name, "it has no trial.json, so its trial is unknown") for name in strays - known.keys()]
    return records, sorted(damages, key=lambda damage: damage.id)


def read_record(run: RunDirectory) -> tuple[RunRecord, list[Damage]]:
    """Return a run as far as it can be shown, and what of it cannot."""
    data = run.read("trial")
    with naming("trial.json"):
        trial = trial_from_dict(data)
    refuse_other_name(run.path.name, trial)
    finished = run.result() if run.state == "finished" else None
    scores = _describe(trial, finished)
    with naming("metrics.jsonl"):
        points = tuple(_point(entry, scores) for entry in run.log(strict=True))
    with naming("timings.jsonl"):
        logged = run.timings()
        timings, logged_by = sum_up(logged), last_sitting(logged)
    sittings = _read_part(run, "provenance", lambda data: tuple(_sitting(entry) for entry in data["sittings"])) or ()
    result = None
    if finished is not None:
        with naming("result.json"):
            result = _result(finished, trial, scores)
        refuse_contradictions(
            trial,
            scores=scores,
            recorded=finished,
            result=result,
            log=run.log(strict=True),
            tested_later=len(sittings) > logged_by,
        )
    damage: list[Damage] = []
    findings = {
        name: found
        for name, panel in list_lines().items()
        if (found := _read_extra(run, f"analysis/{name}", panel.read, title=panel.title.lower(), damage=damage))
    }
    record = RunRecord(
        directory=run,
        trial=trial,
        scores=scores,
        points=points,
        result=result,
        findings=findings,
        timings=timings,
        sittings=sittings,
    )
    return record, damage


def read_gallery(record: RunRecord) -> tuple[Gallery | None, list[Damage]]:
    """Return the images that a run's page shows, and whether they are damaged; they are large, so nobody keeps them.

    Runs of early versions have none, nor have those of tasks without a gallery.
    """
    damage: list[Damage] = []
    shown = find_shown(record.trial).gallery if record.result else None
    if shown is None:
        return None, damage
    run = RunDirectory(record.directory.path)  # not the one that remembers
    return _read_extra(run, GALLERY, shown.read, title=GALLERY, damage=damage), damage


def _read_part(run: RunDirectory, name: str, read: Callable[[dict[str, Any]], T]) -> T | None:
    """Read one of a run's JSON files, if it is there."""
    if not (run.path / f"{name}.json").exists():
        return None
    data = run.read(name)
    with naming(f"{name}.json"):
        return read(data)


def _read_extra(
    run: RunDirectory, name: str, read: Callable[[dict[str, Any]], T], *, title: str, damage: list[Damage]
) -> T | None:
    """Read what a run can be shown without, where it is there; whatever is wrong with it is added to the damage."""
    try:
        return _read_part(run, name, read)
    except UserError as error:
        damage.append(Damage(run.path.name, f"{error}; the run is shown without its {title}", ""))
        return None


@contextlib.contextmanager
def naming(file: str) -> Iterator[None]:
    """Turn whatever is wrong with `file` into a sentence that names it."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{file} is damaged: {error}") from error
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError, OSError) as error:
        raise UserError(f"{file} is damaged ({type(error).__name__}: {error})") from error


def _describe(trial: Trial, result: Mapping[str, Any] | None) -> tuple[Score, ...]:
    """Return what the run's scores are: as its result says, or as its task has them, which early results leave out.

    What is the task's headline today comes first in old results too.
    """
    if result is None or "scores" not in result:
        return find_shown(trial).scores
    with naming("result.json"):
        described = [decode_known(Score, score) for score in result["scores"]]
        headline, *others = sorted(described, key=lambda score: score.name != find_shown(trial).scores[0].name)
        return headline, *others


def _result(data: Mapping[str, Any], trial: Trial, scores: Sequence[Score]) -> Result:
    """Return a result that has its headline score, and whose task tells of as many classes as it names."""
    result = decode_known(Result, data)
    if missing := [name for name in scores[0].columns if name not in data]:
        raise UserError(f"Result lacks {choices(missing)}")
    panel = find_shown(trial).panel.read(data)
    void = [score.name for score in panel.list_void()]
    values = {
        name: convert(float if score is scores[0] else float | None, data[name], where=name)
        for score in scores
        for name in score.columns
        if name in data and score.shown != "evaluation" and score.name not in void
    }
    if result.class_names and panel.num_classes not in (None, len(result.class_names)):
        raise UserError(f"it names {len(result.class_names)} classes, but counts {panel.num_classes}")
    return replace(result, values=values, panel=panel)


def _point(entry: Mapping[str, Any], scores: Sequence[Score]) -> Point:
    losses = [name for name in entry if name.endswith(LOSS)]
    names = ["learning_rate", *losses, *[score.key(part) for score in scores for part in score.logged]]
    return Point(step=int(entry["step"]), values={name: _finite(entry.get(name)) for name in names})


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _sitting(entry: Mapping[str, Any]) -> Sitting:
    names = ("command", "started", "commit", "device")
    if not any(name in entry for name in names):
        raise UserError("an entry does not say where the run was trained")
    return Sitting(
        **{name: str(entry.get(name) or "") for name in names},
        processes=int(entry.get("processes") or 1),
        together=int(entry["together"]) if entry.get("together") else None,
        machine=dict(entry.get("machine") or {}),
        versions=dict(entry.get("versions") or {}),
    )
