"""How fast training scores fell, phase by phase, and when they would reach another network's; no torch.

In each phase of one learning rate two laws are fitted to what the log has of training: floor + amplitude * exp(-rate
t), and floor + amplitude * t^-rate.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from reslab.analysis.catalogue import LogInstrument
from reslab.analysis.convergence.fitting import fit_phases, last_value
from reslab.analysis.convergence.laws import Floats
from reslab.analysis.convergence.phases import Phase, find_phases
from reslab.analysis.convergence.settings import Convergence
from reslab.analysis.workbench import Workbench
from reslab.errors import UserError
from reslab.runs.directory import RunDirectory, find_run
from reslab.scores import Score
from reslab.spec import NetworkSpec, name_of
from reslab.spec.trial import Trial
from reslab.tasks.catalogue import find_shown

Target = Callable[[Phase], float | None]


def list_curves(trial: Trial) -> list[Score]:
    """Return the scores that logs have of a training and that are the better the lower, the headline first."""
    return [score for score in find_shown(trial).scores if "train" in score.logged and score.better == "lower"]


def _measure(run: RunDirectory, settings: Convergence, workbench: Workbench) -> dict[str, Any]:
    trial, log = run.trial(), run.log()
    if not find_phases(log, least=settings.least):
        raise UserError(
            f"{run.path.name} has no phase of one learning rate with {settings.least} tests; give least= fewer, or a "
            "run with a constant or stepwise schedule"
        )
    network, curves = trial.network, list_curves(trial)
    workbench.store(_list_points(log, curves))
    rival = find_run(settings.against, run.path.parent) if settings.against else None
    return {
        "images": 0,
        "skipped_images": 0,
        "network": name_of(network),
        "depth": network.depth if isinstance(network, NetworkSpec) else None,
        "residual": network.residual if isinstance(network, NetworkSpec) else None,
        "against": None if rival is None else {"run": rival.path.name, "network": name_of(rival.trial().network)},
        "curves": [
            {
                "log": score.key("train"),
                "words": score.words,
                "unit": score.unit,
                "decimals": score.decimals,
                "phases": fit_phases(
                    log,
                    score.key("train"),
                    settings,
                    target=_find_target(settings, score, rival, first=score is curves[0]),
                ),
            }
            for score in curves
        ],
    }


def _list_points(log: Sequence[Mapping[str, float]], curves: Sequence[Score]) -> dict[str, Floats]:
    """Return what was fitted to, for whoever draws it: each score, and the middles of the intervals it is a mean of."""
    steps = np.array([0, *[entry["step"] for entry in log]], np.float64)
    names = [score.key("train") for score in curves]
    values = {name: np.array([entry.get(name, math.nan) for entry in log], np.float64) for name in names}
    return {"at": (steps[:-1] + steps[1:]) / 2, **values}


def _find_target(settings: Convergence, score: Score, rival: RunDirectory | None, *, first: bool) -> Target:
    """Return what is to be reached in a phase: the same in all, or what the rival has at the end of its like one."""
    if rival is None:
        return lambda phase: settings.reach if first and settings.reach else None
    phases = find_phases(rival.log(), least=settings.least)

    def of_rival(phase: Phase) -> float | None:
        alike = (one for one in phases if math.isclose(one.learning_rate, phase.learning_rate, rel_tol=1e-6))
        return next((last_value(one.curve(score.key("train"), skip=settings.skip)[1]) for one in alike), None)

    return of_rival


INSTRUMENT = LogInstrument(settings=Convergence, measure=_measure)
