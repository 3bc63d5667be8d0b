"""Whether what a record says in several places agrees: its folder's name, its trial, its log and its result.

A run writes each of these once and never changes it, so parts that contradict each other were changed, or are another
run's. Which of them is right nobody can tell: such a record is named, and counts for nothing. Nor does a copy count
that was given another seed or network.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reslab.errors import UserError
from reslab.runs.log import join_best
from reslab.scores import PARTS, Score
from reslab.spec import name_of
from reslab.spec.catalogue import contradictions
from reslab.spec.parameters import count_parameters
from reslab.spec.trial import Trial

if TYPE_CHECKING:
    from reslab.report.records import Result, RunRecord

HASH = re.compile(r"(?<=-)[0-9a-f]{12}(?![0-9a-f])")  # what a trial's id ends with
REMEDY = "restore the changed file, or remove the run and train it again"
ROUNDING = 1e-6  # of a percentage that is computed again


def refuse_other_name(name: str, trial: Trial) -> None:
    """Refuse a folder that is named after another trial; a name of one's own, without a trial's digits, is fine."""
    digits = [found for found in HASH.findall(name) if not found.isdecimal()]  # which may be a date
    if digits and HASH.findall(trial.id)[-1] not in digits:
        raise UserError(
            f"trial.json describes {trial.id}, but the folder has the name of another trial; restore trial.json, "
            "or remove the run and train it again"
        )


def refuse_contradictions(
    trial: Trial,
    *,
    scores: Sequence[Score],
    recorded: Mapping[str, Any],
    result: Result,
    log: Sequence[Mapping[str, Any]],
    tested_later: bool,
) -> None:
    """Refuse a finished run whose trial, log and result, as `recorded` and as it was read, contradict each other.

    Where it was `tested_later`, by another sitting than logged its end, its scores may be those of another device.
    """
    scored_again = tested_later or trial.recipe.exact_norms  # exact statistics are taken after the log's last line
    for sentence in (
        *_compare_with_log(trial, recorded, log, scored_again=scored_again),
        *_compare_scores(scores, recorded, result),
        *_compare_with_network(trial, result),
    ):
        raise UserError(f"{sentence}; {REMEDY}")


def split_copies(records: Sequence[RunRecord]) -> tuple[list[RunRecord], dict[str, str]]:
    """Return the records without copies whose trial has another seed or network, and a sentence about each copy.

    Trainings that differ in these never log the same. The one whose folder is named after its trial is the original.
    """
    originals: dict[tuple[object, ...], list[RunRecord]] = {}
    copies: dict[str, str] = {}
    for record in sorted(records, key=lambda record: record.id != record.trial.id):
        alike = originals.setdefault(_logged(record), []) if record.points else []
        found = [(other.id, difference) for other in alike if (difference := _tell_apart(record.trial, other.trial))]
        if found:
            (original, difference), *_ = found
            copies[record.id] = f"its log is a copy of the log of {original}, but {difference}; remove the copy"
        else:
            alike.append(record)
    return [record for record in records if record.id not in copies], copies


def _logged(record: RunRecord) -> tuple[object, ...]:
    """Return what tells logs apart: rate, losses and headline score at each step."""
    headline = [record.headline.key(part) for part in PARTS]
    return tuple(
        (point.step, *map(point.values.get, ("learning_rate", *headline)), *sorted(point.losses.items()))
        for point in record.points
    )


def _compare_with_log(
    trial: Trial, recorded: Mapping[str, Any], log: Sequence[Mapping[str, Any]], *, scored_again: bool
) -> Iterator[str]:
    """Yield what contradicts the log: it ends where the trial does, and the result says all that its last line says."""
    if not log:
        yield "it is finished, but its metrics.jsonl is missing or empty"
        return
    if log[-1]["step"] != trial.recipe.iterations and not _ended_early(trial, log):
        yield f"its log ends at {log[-1]['step']:,} of {trial.recipe.iterations:,} iterations"
    for field, logged in join_best(log).items():
        said = recorded.get(field, logged)
        if not _is_same(said, logged) and not (scored_again and field.startswith("test_")):
            yield f"result.json says {field} is {said!r}, but the last line of metrics.jsonl says {logged!r}"


def _ended_early(trial: Trial, log: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a run has not become better for as many evaluations as its recipe stops after."""
    worse = sum(entry["step"] > log[-1].get("best_step", 0) for entry in log)
    return 0 < trial.recipe.stop_after <= worse


def _compare_scores(scores: Sequence[Score], recorded: Mapping[str, Any], result: Result) -> Iterator[str]:
    """Yield what the result contradicts itself in: scores that stand there twice, or follow from the classes'."""
    for name, logged in [(score.name, score.key("test")) for score in scores if "test" in score.logged]:
        if {name, logged} <= recorded.keys() and not _is_same(one := recorded[name], other := recorded[logged]):
            yield f"result.json says {name} is {one!r}, but {logged} is {other!r}"
    for field, said, counted in result.panel.recount(result.values):
        if not math.isclose(said, counted, abs_tol=ROUNDING):
            yield f"result.json says {field} is {said!r}, but its classes give {counted!r}"


def _compare_with_network(trial: Trial, result: Result) -> Iterator[str]:
    """Yield what is another network's in the result."""
    name, params = name_of(trial.network), None if trial.task.own_layers else count_parameters(trial.network)
    classes = result.panel.num_classes
    if classes and classes != trial.network.classes:
        yield f"result.json has {classes} classes, but {name} has {trial.network.classes} outputs"
    if params and result.params and params != result.params:
        yield f"result.json counts {result.params:,} parameters, but {name} has {params:,}"


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same; a number that is not finite is null in newer files, and NaN in older ones."""
    return one == other or (_is_missing(one) and _is_missing(other))


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def _tell_apart(one: Trial, other: Trial) -> str:
    """Say why two trials cannot log the same; nothing where they can, as with fields that change no number."""
    if one.seed != other.seed:
        return f"its seed is {one.seed}, not {other.seed}"
    if contradictions(one.network, other.network):
        return f"its network is {name_of(one.network)}, not {name_of(other.network)}"
    return ""
