"""A table or figure reproduced: its trials planned, those that are not finished run, and what it asks for measured.

plan = plan_runs(CLAIMS["table-6"], load_dataset("cifar10"), Path("runs"), seeds=5)
reproduce(plan)
judge_runs(plan.claims, plan.root).verdicts
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reslab.data.dataset import Dataset
from reslab.experiments.analyze import analyze_run
from reslab.experiments.evaluate import score_ensemble, score_run
from reslab.experiments.expand import expand, on_these
from reslab.experiments.together import most_together, refuse_failures, run_together
from reslab.paper.claim import Claim, Setting
from reslab.paper.measurements import ByEnsemble, ByProtocol, ResponseStd
from reslab.runs.directory import RunDirectory
from reslab.runtime.execution import choose_device
from reslab.runtime.listener import ALOUD, Listener
from reslab.spec.trial import Trial


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What claims need, as far as `dataset` can test them: trials, each with its setting, so many `together`."""

    claims: tuple[Claim, ...]
    dataset: Dataset
    root: Path
    seeds: int
    trials: Mapping[Trial, Setting]
    together: int
    device: str

    @property
    def missing(self) -> list[Trial]:
        """The trials that are not finished."""
        return [trial for trial in self.trials if self.run_of(trial).state != "finished"]

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
) -> Plan:
    """Plan what `claims` need under `root`, seeds 1 to `seeds`; with `fields` of the recipe, a reduced setting.

    A GPU is used where there is one; unless said, as many trials at once as suit it, of photographs one.
    """
    claims, device = on_these(claims, dataset), choose_device()
    return Plan(
        claims=claims,
        dataset=dataset,
        root=root,
        seeds=seeds,
        trials=expand(claims, dataset, seeds=seeds, overrides=fields),
        together=together or most_together(device, dataset),
        device=device,
    )


def reproduce(plan: Plan, *, compile: bool = False, listener: Listener = ALOUD) -> None:
    """Run what a plan lacks, and measure all that its claims ask for; what is there already is not done again.

    The listener is told of each trial and of each test of so many images.
    """
    failures = run_together(
        plan.missing,
        plan.dataset,
        plan.root,
        device=plan.device,
        together=plan.together,
        compile=compile,
        listener=listener,
    )
    for trial, setting in plan.trials.items():
        if (run := plan.run_of(trial)).state == "finished":
            _measure(plan, run, setting, listener)
    refuse_failures(failures, of=len(plan.trials))
    for claim in plan.claims:
        if isinstance(claim.measurement, ByEnsemble):
            _test_ensembles(plan, claim, claim.measurement.protocol, listener)


def _measure(plan: Plan, run: RunDirectory, setting: Setting, listener: Listener) -> None:
    """Measure what claims ask of one run."""
    asked = [claim.measurement for claim in plan.claims if setting in claim.settings]
    if any(isinstance(one, ResponseStd) for one in asked) and not plan.dataset.has_files:
        analyze_run(run, plan.dataset, "responses", device=plan.device)
    for protocol in {one.protocol for one in asked if isinstance(one, ByProtocol)}:
        with listener.enter(f"{run.path.name}: {protocol}", len(plan.dataset.test)) as progress:
            score_run(run, plan.dataset, protocol, device=plan.device, listener=Listener(progress=progress))


def _test_ensembles(plan: Plan, claim: Claim, protocol: str, listener: Listener) -> None:
    """Test the networks of a claim together, those of each seed."""
    found = {(setting, trial.seed): plan.run_of(trial) for trial, setting in plan.trials.items()}
    for seed in range(1, plan.seeds + 1):
        runs = {found[member]: member[0].network for member in claim.members(seed)}
        with listener.enter(f"{len(runs)} networks: {protocol}", len(plan.dataset.test)) as progress:
            score_ensemble(runs, plan.dataset, protocol, device=plan.device, listener=Listener(progress=progress))
