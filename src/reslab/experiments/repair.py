"""A finished run whose weights are gone or damaged is made whole again: what to tell before, and what after.

Its record stands until the new one is written, and counts as finished all along.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reslab.errors import UserError
from reslab.runs.directory import RunDirectory
from reslab.runs.weights import find_damage, refuse_other_weights
from reslab.runtime.listener import Listener
from reslab.runtime.sealed import read_sealed
from reslab.spec.trial import Trial
from reslab.training.checkpoint import newest_step


def find_loss(run: RunDirectory, trial: Trial) -> str:
    """Say what became of a finished run's weights, gone or damaged; nothing where they match their digest.

    Those of another run are refused: they may be the only ones it has, and are not written over.
    """
    if damage := find_damage(run.weights):
        return damage
    try:
        read_sealed(run.weights)
    except UserError:
        return "damaged"
    refuse_other_weights(run.weights, trial)
    return ""


def announce_mending(run: RunDirectory, trial: Trial, lost: str, listener: Listener) -> None:
    """Say what is done about weights that are lost."""
    step = newest_step(run.checkpoints)
    if step >= trial.recipe.iterations:
        how = "making them again from its last checkpoint"
    else:
        how = "training it again" + (f" from iteration {step:,} on" if step else "")
    listener.warn(f"{run.path} is finished, but its weights are {lost}; {how}")


def compare_mended(run: RunDirectory, recorded: Mapping[str, Any], listener: Listener) -> None:
    """Say where a run that was made again came to other numbers than were recorded, as on another device it may."""
    result = run.result()
    other = [
        f"{name} is {result[name]:.6g} and was {value:.6g}"
        for name, value in recorded.items()
        if isinstance(value, (int, float)) and isinstance(result.get(name), (int, float)) and result[name] != value
    ]
    if other:
        listener.warn(f"{run.path} was made again and is not quite what it was: {', '.join(other)}")
