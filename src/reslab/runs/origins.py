"""Where a run's weights and images came from, by names that people would give: its trial knows both by digests."""

import contextlib
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reslab.errors import UserError
from reslab.runs.directory import RunDirectory
from reslab.shipped import SETS
from reslab.spec.trial import Trial

DIGITS = 12  # of a digest, as many as in a run's id
PUBLISHED = (*SETS, "torchvision")
WEIGHTS = "weights"  # of a sitting: what the run started from
COUNTS = "data_images"  # of a sitting and of a result: how many images there were to train and to test on
DAMAGE = (UserError, LookupError, TypeError, ValueError, AttributeError)  # whatever a record may hold instead


def name_weights(weights: str | Path, provenance: Mapping[str, Any]) -> str:
    """Name weights that are published, or by the run that trained them, as far as they say, or by their file."""
    if weights in PUBLISHED:
        return str(weights)
    if isinstance(run := provenance.get("trial"), str):
        return f"{run}@{provenance['step']}" if "step" in provenance else run
    path = Path(weights)
    return path.parent.name if path.name == "weights.safetensors" and path.parent.name else path.name


def name_start(trial: Trial, run: RunDirectory) -> str | None:
    """Name the weights that a run started from, or cut their digest short; None where it started from none.

    Early versions wrote down the command alone.
    """
    if trial.start is None:
        return None
    with contextlib.suppress(*DAMAGE):
        for sitting in run.read("provenance")["sittings"]:
            if WEIGHTS in sitting:
                return str(sitting[WEIGHTS])
            for word in shlex.split(sitting["command"]):
                if word.startswith("weights="):
                    return name_weights(word.removeprefix("weights="), {})
    return trial.start[:DIGITS]


def count_images(run: RunDirectory) -> tuple[int, int] | None:
    """Return how many images a run had to train and to test on; None where an early version did not note it."""
    with contextlib.suppress(*DAMAGE):
        noted = run.result() if run.state == "finished" else run.read("provenance")["sittings"][-1]
        train, test = noted[COUNTS]
        return int(train), int(test)
    return None


def find_beginning(run: RunDirectory) -> str:
    """Return when a run was begun; nothing where that is not known."""
    with contextlib.suppress(*DAMAGE):
        return str(run.read("provenance")["sittings"][0]["started"])
    return ""
