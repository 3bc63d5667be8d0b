"""A table or figure reproduced: its trials planned, those that are not finished run, and what it asks for measured.

plan = plan_runs(CLAIMS["table-6"], load_dataset("cifar10"), Path("runs"), seeds=5)
reproduce(plan)
judge_runs(plan.claims, plan.root).verdicts
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reslab.data.dataset import Dataset
from reslab.data.photos.folder import PhotoDataset
from reslab.data.photos.imagenet import WHOLE
from reslab.data.photos.label_list import find_list
from reslab.data.photos.reader import read_photos
from reslab.errors import UserError
from reslab.experiments.analyze import analyze_run
from reslab.experiments.evaluate import score_ensemble, score_run, time_run
from reslab.experiments.paper_objects import find_asked
from reslab.experiments.paper_starts import start_trials
from reslab.experiments.together import most_together, refuse_failures, run_together
from reslab.experiments.trials import refuse_without_files, take_epochs, with_epochs
from reslab.files import data_root
from reslab.paper.claim import IMAGENET, Claim, Setting, Substitute
from reslab.paper.measurements import ENSEMBLE, LATENCY, ByEnsemble, ByProtocol, Latency, Logged, ResponseStd
from reslab.runs.directory import RunDirectory, list_runs
from reslab.runtime.execution import choose_device
from reslab.runtime.listener import ALOUD, Listener
from reslab.spec.task import tasks_for
from reslab.spec.trial import DataSpec, Trial, change_trial
from reslab.tasks.latency import PASSES

RESPONSES = "responses"  # the instrument of Fig. 7
FREE_FIELDS = ("data.split", "data.on_bad_image", "network.checkpointing")
FREE_GROUPS = ("recipe", "task")
FIXED_FIELDS = (
    "task.head",
    "task.context",
    "task.trains",
    "task.trunks",
    "task.norm",
)  # which make another detector, or half of one


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What claims need, as far as `dataset` can test them: trials, each with its setting, so many `together`.

    All trials that start from weights start from `weights`.
    """

    claims: tuple[Claim, ...]
    dataset: Dataset
    root: Path
    seeds: int
    trials: Mapping[Trial, Setting]
    together: int
    device: str
    weights: str | Path | None = None

    @property
    def missing(self) -> list[Trial]:
        """The trials that are not finished."""
        return [trial for trial in self.trials if self.run_of(trial).state != "finished"]

    @property
    def unmeasured(self) -> list[tuple[str, list[Trial]]]:
        """What claims ask and no run has kept: the instruments and protocols, each with the trials it is about."""
        alone = [
            (name, [trial])
            for trial, setting in self.trials.items()
            for name in self.measurements(setting)
            if not self.run_of(trial).kept(name)
        ]
        return alone + [(protocol, trials) for protocol, trials in self.ensembles() if not self._kept(protocol, trials)]

    def measurements(self, setting: Setting) -> list[str]:
        """Return by which instruments and protocols claims ask about the runs of a setting."""
        asked = [claim.measurement for claim in self.claims if setting in claim.settings]
        of_layers = any(isinstance(one, ResponseStd) for one in asked) and not self.dataset.has_files
        protocols = [one.protocol for one in asked if isinstance(one, ByProtocol)]
        latency = [LATENCY] if any(isinstance(one, Latency) for one in asked) else []
        return list(dict.fromkeys([*([RESPONSES] if of_layers else []), *protocols, *latency]))

    def ensembles(self) -> list[tuple[str, list[Trial]]]:
        """Return by which protocols claims ask about trials together, those of each seed."""
        found = {(setting, trial.seed): trial for trial, setting in self.trials.items()}
        asked = dict.fromkeys(
            (claim.measurement.protocol, tuple(claim.members(seed)))
            for claim in self.claims
            if isinstance(claim.measurement, ByEnsemble)
            for seed in range(1, self.seeds + 1)
        )
        return [
            (protocol, [found[member] for member in members])
            for protocol, members in asked
            if all(member in found for member in members)
        ]

    def _kept(self, protocol: str, trials: Sequence[Trial]) -> bool:
        kept = self.run_of(trials[0]).kept(ENSEMBLE)
        return (kept.get("protocol"), kept.get("runs")) == (protocol, [self.run_of(one).path.name for one in trials])

    def run_of(self, trial: Trial) -> RunDirectory:
        """Return the run that a trial has or will have."""
        return RunDirectory.of(trial, self.root)


def plan_runs(
    claims: Iterable[Claim],
    dataset: Dataset,
    root: Path,
    *,
    seeds: int = 1,
    fields: Mapping[str, Any] | None = None,
    together: int | None = None,
    weights: str | Path | None = None,
) -> Plan:
    """Plan what `claims` need under `root`, seeds 1 to `seeds`; with `fields` of the recipe, a reduced setting.

    A GPU is used where there is one; unless said, as many trials at once as suit it, of photographs one. What is to
    start from weights starts from `weights`, if it is their network; else it is not planned.
    """
    claims, device = on_these(claims, dataset), choose_device()
    trials = expand(claims, dataset, seeds=seeds, overrides=fields)
    return Plan(
        claims=claims,
        dataset=dataset,
        root=root,
        seeds=seeds,
        trials=start_trials(trials, weights, prepares=dataset.has_files),
        together=together or most_together(device, dataset),
        device=device,
        weights=weights,
    )


def reproduce(plan: Plan, *, compile: bool = False, listener: Listener = ALOUD) -> None:
    """Run what a plan lacks, and measure all that its claims ask for; what is there already is not done again."""
    failures = run_together(
        plan.missing,
        plan.dataset,
        plan.root,
        weights=plan.weights,
        device=plan.device,
        together=plan.together,
        compile=compile,
        listener=listener,
    )
    for trial, setting in plan.trials.items():
        if (run := plan.run_of(trial)).state == "finished":
            _measure(plan, run, setting, listener)
    refuse_failures(failures, of=len(plan.trials))
    for protocol, trials in plan.ensembles():
        runs = {plan.run_of(trial): plan.trials[trial].network for trial in trials}
        with listener.enter(f"{len(runs)} networks: {protocol}", len(plan.dataset.test)) as progress:
            score_ensemble(runs, plan.dataset, protocol, device=plan.device, listener=Listener(progress=progress))


def _measure(plan: Plan, run: RunDirectory, setting: Setting, listener: Listener) -> None:
    """Measure what claims ask of one run."""
    for name in plan.measurements(setting):
        if name == RESPONSES:
            analyze_run(run, plan.dataset, name, device=plan.device)
            continue
        if name == LATENCY:
            with listener.enter(f"{run.path.name}: {name}", PASSES) as progress:
                time_run(run, plan.dataset, device=plan.device, listener=Listener(progress=progress))
            continue
        with listener.enter(f"{run.path.name}: {name}", len(plan.dataset.test)) as progress:
            score_run(run, plan.dataset, name, device=plan.device, listener=Listener(progress=progress))


def open_imagenet(place: Path | None, *, runs: Path | None = None) -> PhotoDataset | None:
    """Read ImageNet where it lies, or where it was prepared; None where it was not. Other photographs are themselves.

    It is told by its numbers of classes and images. Photographs are read as the runs under `runs` had them, where those
    are of an earlier version.
    """
    if place is None and not (place := data_root() / IMAGENET.name).is_dir():
        return None
    if listed := find_list(place):
        raise UserError(
            f"{listed} gives each image several labels, but ImageNet has one class per image; give a folder of classes"
        )
    dataset = read_photos(place)
    if runs is not None:
        dataset = _read_as_recorded(dataset, runs)
    return replace(dataset, name=IMAGENET.name) if _is_imagenet(dataset) else dataset


def _read_as_recorded(dataset: PhotoDataset, runs: Path) -> PhotoDataset:
    if not dataset.may_differ_before:
        return dataset
    known = set[str]()
    for run in list_runs(runs):
        with contextlib.suppress(UserError):  # a damaged run, which judging it tells
            known.add(run.trial().data.fingerprint)
    if dataset.fingerprint in known:
        return dataset
    return next((then for then in dataset.read_before(held_out_seed=0) if then.fingerprint in known), dataset)


def on_these(claims: Iterable[Claim], dataset: Dataset) -> tuple[Claim, ...]:
    """Return claims as far as `dataset` can test them: those about ImageNet by other images in a reduced setting.

    Those about VOC, COCO and DET by other images with objects likewise.
    """
    claims = tuple(claims)
    if _is_imagenet(dataset) or find_asked(claims, dataset):
        return claims
    these = Substitute(
        data=DataSpec(name=dataset.name, fingerprint=dataset.fingerprint),
        images=(len(dataset.train), len(dataset.test)),
        class_names=dataset.class_names,
        classes=len(dataset.class_names),
        input_size=dataset.side,
        task=tasks_for(dataset.target)[0],
    )
    return these.stand_in(claims)


def _is_imagenet(dataset: Dataset) -> bool:
    return (len(dataset.class_names), len(dataset.train), len(dataset.test)) == WHOLE


def expand(
    claims: Iterable[Claim], dataset: Dataset, *, seeds: int, overrides: Mapping[str, Any] | None = None
) -> dict[Trial, Setting]:
    """Return the trials of seeds 1 to `seeds` that `claims` need, dotted fields overridden, and the setting of each.

    Settings about other data than these are left out, where a table is about several. Of an ensemble all members are
    needed; where a network comes twice, another seed of it too. A shortened run that a curve is read off is tested as
    much more often, unless the fields say how often.
    """
    claims, overrides = list(claims), dict(overrides or {})
    epochs = take_epochs(overrides)
    if "data.on_bad_image" in overrides:
        refuse_without_files(dataset)
    settings = dict.fromkeys(
        setting for claim in claims for setting in claim.settings if setting.data.name == dataset.name
    )
    wanted = [(setting, seed) for seed in range(1, seeds + 1) for setting in settings]
    wanted += [
        (setting, of)
        for seed in range(1, seeds + 1)
        for claim in claims
        for setting, of in claim.members(seed)
        if setting.data.name == dataset.name
    ]
    data = DataSpec(name=dataset.name, fingerprint=dataset.fingerprint)
    return {
        _with_readable_log(
            with_epochs(_overridden(replace(setting.trial(seed), data=data), overrides), epochs, dataset),
            [claim for claim in claims if setting in claim.settings],
            given="recipe.evaluate_every" in overrides,
        ): setting
        for setting, seed in wanted
    }


def _with_readable_log(trial: Trial, claims: Iterable[Claim], *, given: bool) -> Trial:
    """Return the trial with a log as fine as `claims` need; refuse one that can have none, or was `given` another."""
    for claim in claims:
        curve, iterations, every = claim.measurement, trial.recipe.iterations, trial.recipe.evaluate_every
        if not isinstance(curve, Logged) or every <= (coarsest := curve.coarsest(iterations)):
            continue
        if not coarsest:
            raise UserError(
                f"recipe.iterations is {iterations:,}, too few for the curves of {claim.table} even with "
                f"recipe.evaluate_every=1; give at least {curve.least_iterations:,}"
            )
        if given:
            raise UserError(
                f"recipe.evaluate_every is {every:,}, too coarse for the curves of {claim.table} in "
                f"{iterations:,} iterations; give at most {coarsest:,}, or leave it out"
            )
        trial = replace(trial, recipe=replace(trial.recipe, evaluate_every=coarsest))
    return trial


def _overridden(trial: Trial, overrides: Mapping[str, Any]) -> Trial:
    for field in overrides:
        if field in FIXED_FIELDS:
            other = "`reslab reproduce norms` compares both" if field == "task.norm" else "use `reslab train` for it"
            raise UserError(f"reproduce does not take {field}, which makes another detector; {other}")
        group, _, rest = field.partition(".")
        if field not in FREE_FIELDS and (group not in FREE_GROUPS or not rest):
            raise UserError(
                f"reproduce takes recipe.FIELD, task.FIELD, {', '.join(FREE_FIELDS[:-1])} and {FREE_FIELDS[-1]}, "
                f"not '{field}'; "
                "for another experiment use `reslab train`"
            )
    return change_trial(trial, overrides)
