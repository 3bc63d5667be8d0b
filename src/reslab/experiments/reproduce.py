"""A table or figure becomes the trials that test it, and those that are not finished become runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from reslab.data.dataset import Dataset
from reslab.errors import UserError
from reslab.experiments.run import run_trial
from reslab.paper.claims import Claim
from reslab.runs.directory import RunDirectory
from reslab.spec.codec import override
from reslab.spec.trial import DataSpec, Trial
from reslab.training.loop import Stopped


def expand(
    claims: Iterable[Claim], dataset: Dataset, *, seeds: int, overrides: Mapping[str, str] | None = None
) -> list[Trial]:
    """Return the trials of seeds 1 to `seeds` that `claims` need, each once, with dotted fields overridden."""
    settings = dict.fromkeys(setting for claim in claims for setting in claim.settings)
    trials = [setting.trial(seed) for seed in range(1, seeds + 1) for setting in settings]
    data = DataSpec(name=dataset.name, fingerprint=dataset.fingerprint)
    return [_overridden(replace(trial, data=data), overrides or {}) for trial in trials]


def run_missing(
    trials: Sequence[Trial],
    dataset: Dataset,
    root: Path,
    *,
    device: str,
    compile: bool = False,
    begin: Callable[[Trial], Callable[[int, dict[str, float]], None]],
    warn: Callable[[str], None],
    should_stop: Callable[[], bool],
    measure: Callable[[RunDirectory], None] = lambda run: None,
) -> None:
    """Run each trial that is not finished, and `measure` each run; `begin` returns who hears of a trial's progress."""
    for trial in trials:
        if should_stop():
            raise Stopped
        run = RunDirectory.of(trial, root)
        if run.state != "finished":
            run_trial(
                trial,
                dataset,
                root,
                device=device,
                compile=compile,
                progress=begin(trial),
                warn=warn,
                should_stop=should_stop,
            )
        measure(run)


def _overridden(trial: Trial, overrides: Mapping[str, str]) -> Trial:
    groups: dict[str, dict[str, str]] = {"recipe": {}, "data": {}, "network": {}}
    for field, value in overrides.items():
        group, _, rest = field.partition(".")
        if field not in ("data.split", "network.checkpointing") and (group != "recipe" or not rest):
            raise UserError(
                f"reproduce sets recipe.FIELD, data.split and network.checkpointing, and '{field}' is none of them; "
                "anything else would be another experiment: `reslab train` runs those"
            )
        groups[group][rest] = value
    return replace(
        trial,
        data=override(trial.data, groups["data"]),
        network=override(trial.network, groups["network"]),
        recipe=override(trial.recipe, groups["recipe"]),
    )
