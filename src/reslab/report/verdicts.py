"""Claims meet runs: mean ± std over the runs that match, and one word.

A run counts for a claim if it is finished, contradicts itself in nothing (records.py leaves out those that do) and has
the claim's network and data. What else is material must be the claim's to
the letter; a run in which any of it differs, be it longer or shorter, reads "reduced setting", never "reproduced".
Where nothing was published, a run of the full setting reads "measured".
"""

import re
import statistics
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, Literal, TypeAlias

from reslab.paper.claim import IMAGENET, Claim, Setting
from reslab.paper.measurements import Latency, Timed, Unreadable
from reslab.report.records import RunRecord
from reslab.runs.origins import name_start
from reslab.spec.trial import PREPARED, START, Trial, trial_differences

Word: TypeAlias = Literal["reproduced", "deviates", "measured", "reduced setting", "not run"]
# What a run may choose freely. Every other field is material, those yet to be invented included.
IMMATERIAL = {
    "seed",
    "data.on_bad_image",  # what it left out of the test is material
    "network.checkpointing",
    "recipe.precision",
    "recipe.channels_last",
    "recipe.evaluate_every",
    "recipe.sync_norms",
}
# Of these, what changes time and memory. Precisions are named in remarks.
COSTLY = {"network.checkpointing", "recipe.channels_last"}
# A run that differs in one of these, or in a field of its network, is another experiment and no reduced setting.
OTHER = ("data.name", "task", "task.name", "task.head", "task.context", "task.norm")
A_RUN = re.compile(r".+-[0-9a-f]{12}(@\d+)?")  # that trained the weights which another starts from
DIGEST = re.compile(r"[0-9a-f]{16,}")
PRECISIONS = ("fp32", "fp16", "bf16")  # the finest first
# How a run differs from a setting: each material field with the run's value and the setting's.
Differences: TypeAlias = tuple[tuple[str, Any, Any], ...]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the runs say to a claim. `samples` has the values of each of its settings, one per run."""

    claim: Claim
    word: Word
    samples: tuple[tuple[float, ...], ...] = ()
    runs: tuple[str, ...] = ()
    remarks: str = ""

    @property
    def values(self) -> tuple[float, ...]:
        """The values of the one setting; of an order, the mean of each setting."""
        return self.samples[0] if len(self.samples) == 1 else _means(self.samples)

    @property
    def n(self) -> int:
        """How many runs: of an order, of the setting that has fewest."""
        return min(map(len, self.samples), default=0)

    @property
    def agrees(self) -> bool | None:
        """Whether our numbers are as claimed, whatever the setting; None without numbers or without a claim."""
        asks = len(self.claim.settings) == 1 and self.claim.published is None
        return None if asks or not self.samples else _agree(self.claim, _means(self.samples))

    @property
    def cells(self) -> list[tuple[Setting, tuple[float, ...], tuple[str, ...]]]:
        """Each setting that was run, with its values and the runs they are of."""
        runs = iter(self.runs)
        pairs = zip(self.claim.settings, self.samples, strict=bool(self.samples))
        return [(setting, values, tuple(islice(runs, len(values)))) for setting, values in pairs]

    @property
    def mean(self) -> float | None:
        """The mean over the runs of the one setting."""
        return statistics.fmean(self.samples[0]) if len(self.samples) == 1 else None

    @property
    def std(self) -> float | None:
        """The standard deviation over them, of two at least."""
        return statistics.stdev(self.samples[0]) if len(self.samples) == 1 and self.n > 1 else None

    @property
    def difference(self) -> float | None:
        """Ours less the published."""
        return None if self.mean is None or self.claim.published is None else self.mean - self.claim.published


def judge(claims: Iterable[Claim], records: Sequence[RunRecord]) -> list[Verdict]:
    """Return the verdict on each claim that the records of runs allow."""
    return [_judge(claim, records) for claim in claims]


@dataclass
class _Sample:
    """The runs of a setting that can be read, by how they differ from it, and a word on those that cannot."""

    found: dict[Differences, list[tuple[RunRecord, float]]]
    unread: list[tuple[Differences, str]]
    repeated: list[str]
    unfinished: list[str]

    @property
    def kinds(self) -> set[Differences]:
        """In which ways they differ, those that cannot be read included."""
        return {*self.found, *[kind for kind, _ in self.unread]}


def _judge(claim: Claim, records: Sequence[RunRecord]) -> Verdict:
    if not claim.settings:
        return Verdict(claim=claim, word="not run", remarks="published only: not trained here")
    samples = [_sample(claim, setting, records) for setting in claim.settings]
    unread = [pair for sample in samples for pair in sample.unread]
    unfinished = [remark for sample in samples for remark in sample.unfinished]
    # Only runs that differ from their settings in the same way can be compared with each other.
    shared = [kind for kind in samples[0].found if all(kind in sample.found for sample in samples)]
    if not shared:
        words = [*_unread(samples), *unfinished, *_lacking(claim, samples)]
        return Verdict(claim=claim, word="not run", remarks="; ".join(dict.fromkeys(words)))
    kind = min(shared, key=lambda kind: (len(kind), -samples[0].found[kind][0][0].trial.recipe.iterations))
    chosen = [sample.found[kind] for sample in samples]
    values = tuple(tuple(value for _, value in pairs) for pairs in chosen)
    runs = [run for pairs in chosen for run, _ in pairs]
    lacking = (claim.lacks, *[setting.lacks for setting in claim.settings])
    lacks = list(dict.fromkeys(f"without {what}" for what in lacking if what))
    others = [other for sample in samples for other, pairs in sample.found.items() for _ in pairs]
    left_out = sum(other != kind for other in [*others, *[other for other, _ in unread]])
    return Verdict(
        claim=claim,
        word="reduced setting" if kind or lacks else _compare(claim, _means(values)),
        samples=values,
        runs=tuple(run.id for run in runs),
        remarks="; ".join(
            [
                *_steps(claim, _means(values)),
                *lacks,
                *[f"{field} is {_written(ours)} instead of {_written(asked)}" for field, ours, asked in kind],
                *_starts(runs, claim),
                *_devices(runs, claim),
                *_precisions(runs),
                *_normalizing(runs),
                *_skipping(runs),
                *([f"left out: {_count(left_out)} in another setting"] if left_out else []),
                *[remark for sample in samples for remark in sample.repeated],
                *dict.fromkeys([*[word for other, word in unread if other == kind], *unfinished]),
            ]
        ),
    )


def _sample(claim: Claim, setting: Setting, records: Sequence[RunRecord]) -> _Sample:
    """Find the runs of a setting and read the claim's quantity off each."""
    asked, found, unfinished, repeated, unread = setting.trial(seed=0), {}, 0, [], []
    immaterial = IMMATERIAL - COSTLY if isinstance(claim.measurement, Timed | Latency) else IMMATERIAL
    # Of one seed one run counts, be it copied or trained again in another precision: the one nearest the paper's.
    for run in sorted(records, key=lambda run: (PRECISIONS.index(run.trial.recipe.precision), run.id)):
        kind = _differences(run, setting, asked, immaterial=immaterial)
        if any(field in OTHER or field.startswith("network.") for field, *_ in kind):
            continue
        if run.evidence is None:
            unfinished += 1
            continue
        try:
            value = claim.measurement.read(run.evidence)
        except Unreadable as reason:
            unread.append((kind, f"a run of {setting.network} is left out: {reason}"))
            continue
        same = found.setdefault(kind, [])
        if any(other.trial.seed == run.trial.seed for other, _ in same):
            repeated.append(run.trial.recipe.precision)
        else:
            same.append((run, value))
    again = f"{_count(len(repeated))} of {setting.network} in {' and '.join(dict.fromkeys(repeated))}"
    return _Sample(
        found,
        unread,
        repeated=[f"left out: {again} with seeds that are already counted"] if repeated else [],
        unfinished=[f"{_count(unfinished)} of {setting.network} unfinished"] if unfinished else [],
    )


def _differences(run: RunRecord, setting: Setting, asked: Trial, *, immaterial: Collection[str]) -> Differences:
    """Return what is material and not the setting's; data without a known fingerprint are told by their numbers."""
    differing = trial_differences(run.trial, asked)
    result = run.evidence.result if run.evidence else {}
    if setting.start:
        # The setting knows what the weights were trained on; which they are, and how they take images, the run knows.
        differing = {field: pair for field, pair in differing.items() if field.split(".")[0] not in (START, PREPARED)}
        if not _starts_on(run, setting.start):
            differing[START] = (name_start(run.trial, run.directory) or "random", f"trained on {setting.start}")
    if setting.images is not None:
        differing.pop("data.fingerprint", None)
        here = tuple(result.get("data_images", ("unknown",))) if run.evidence else setting.images
        if len(setting.images) == 1 and len(here) == 2:  # which of them are for the test is not known
            here = (sum(here),)
        if here != setting.images:
            differing["data.images"] = (here, setting.images)
    if skipped := result.get("skipped_images"):
        differing["data.skipped_images"] = (skipped, 0)
    return tuple((field, *values) for field, values in differing.items() if field not in immaterial)


def _starts_on(run: RunRecord, data: str) -> bool:
    """Whether a run starts from weights that were trained on data, as far as their name says it.

    Files and published sets have ImageNet's: `reslab reproduce` takes no others. A run says what it was trained on.
    """
    name = name_start(run.trial, run.directory)
    if name is None:
        return False
    return f"-{data}-" in name if A_RUN.fullmatch(name) else data == IMAGENET.name


def _starts(runs: Sequence[RunRecord], claim: Claim) -> list[str]:
    """Name the weights that runs started from, where the setting is to start from weights."""
    if not any(setting.start for setting in claim.settings):
        return []
    names = dict.fromkeys(name for run in runs if (name := name_start(run.trial, run.directory)))
    return [f"started from {' and '.join(sorted(names))}"] if names else []


def _compare(claim: Claim, means: Sequence[float]) -> Word:
    if len(means) == 1 and claim.published is None:
        return "measured"
    return "reproduced" if _agree(claim, means) else "deviates"


def _agree(claim: Claim, means: Sequence[float]) -> bool:
    """Whether means are as claimed, within the tolerance."""
    if claim.relation in ("rises", "falls"):
        rises = _rises(claim, means)
        return all(rise > -claim.tolerance for rise in rises) and sum(rises) > claim.tolerance
    assert claim.published is not None
    difference = means[0] - claim.published
    return {
        "near": abs(difference) <= claim.tolerance,
        "below": difference < claim.tolerance,
        "above": difference > -claim.tolerance,
    }[claim.relation]


def _rises(claim: Claim, means: Sequence[float]) -> list[float]:
    """Return how far each step of an order goes the way the claim says."""
    return [(after - before) * (1 if claim.relation == "rises" else -1) for before, after in pairwise(means)]


def _steps(claim: Claim, means: Sequence[float]) -> list[str]:
    """Say of an order what each step is, and whether it goes the claimed way."""
    sentences = []
    for (before, after), (one, other), rise in zip(
        pairwise(claim.settings), pairwise(means), _rises(claim, means), strict=True
    ):
        holds = "holds" if rise > 0 else "does not hold"
        sign = "<" if claim.relation == "rises" else ">"
        sentences.append(f"{before.network} {one:.2f} {sign} {after.network} {other:.2f} {holds}")
    return sentences


def _unread(samples: Sequence[_Sample]) -> list[str]:
    """Say of an order that was not run which runs cannot be read, where others of their kind wait for them."""
    waiting = set.intersection(*[sample.kinds for sample in samples])
    return [word for sample in samples for kind, word in sample.unread if kind in waiting or not sample.found]


def _lacking(claim: Claim, samples: Sequence[_Sample]) -> list[str]:
    """Say of an order which networks have no run, or that those there are cannot be compared."""
    if len(samples) == 1:
        return []
    pairs = zip(claim.settings, samples, strict=True)
    without = [setting.network for setting, sample in pairs if not (sample.kinds or sample.unfinished)]
    if without:
        return [f"no run of {', '.join(without)} on {claim.settings[0].data.name}"]
    return ["no setting has runs of all the networks"] if all(sample.found for sample in samples) else []


def _precisions(runs: Sequence[RunRecord]) -> list[str]:
    """Name the precisions other than fp32: they do not decide, but they are told."""
    names = sorted({run.trial.recipe.precision for run in runs} - {"fp32"})
    return [f"trained in {' and '.join(sorted(names))}"] if names else []


def _devices(runs: Sequence[RunRecord], claim: Claim) -> list[str]:
    """Name what times and memory were measured on: elsewhere they are others."""
    asked = claim.measurement
    if not isinstance(asked, Timed | Latency):
        return []
    names = {name for run in runs if run.evidence for name in asked.list_devices(run.evidence)}
    mixed = "; means over different devices" if len(names) > 1 else ""
    return [f"time and memory measured on {' and '.join(sorted(names))}{mixed}"]


def _normalizing(runs: Sequence[RunRecord]) -> list[str]:
    """Say over how many images batches were normalized where processes shared them: the paper's GPUs did so too."""
    shared = [(run.trial.recipe, run.processes) for run in runs if run.processes > 1]
    shares = {recipe.batch // count: recipe.batch for recipe, count in shared if not recipe.sync_norms}
    return [f"batches normalized over {share} of {batch} images" for share, batch in sorted(shares.items())]


def _skipping(runs: Sequence[RunRecord]) -> list[str]:
    """Say for how many training images others stood in; early versions did not count them."""
    results = [run.evidence.result for run in runs if run.evidence and run.trial.data.on_bad_image == "skip"]
    counts = [result.get("skipped_training_images") for result in results]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return ["bad training images, if any, were skipped"]
    return [f"at most {max(known):,} bad training images were skipped"] if any(known) else []


def _means(samples: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(statistics.fmean(sample) for sample in samples)


def _count(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs} runs"


def _written(value: object) -> str:
    """Write a value as people do: thousands apart, a fingerprint by its beginning."""
    if isinstance(value, tuple):
        return " and ".join(map(_written, value))
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)[:12] if DIGEST.fullmatch(str(value)) else str(value)
