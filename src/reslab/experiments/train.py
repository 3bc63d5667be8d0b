"""Training from Python as `reslab train` does it: by names and fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from reslab.data.catalogue import open_data
from reslab.experiments.run import run_trial
from reslab.experiments.trials import read_held_out_seed, read_trial
from reslab.runs.directory import RunDirectory, default_root


def train(
    data: str | Path,
    network: str,
    *,
    weights: str | Path | None = None,
    runs: str | Path | None = None,
    seed: int = 0,
    fields: Mapping[str, Any] | None = None,
    progress: Callable[[int, dict[str, float]], None] = lambda step, metrics: None,
) -> RunDirectory:
    """Train `network` on a dataset or a folder of photographs, or go on where it was left; return the run.

    `fields` are those of the command line, such as {"recipe.epochs": 20}; `weights` are what it starts from, if
    anything; `runs` is the folder for runs, by default RESLAB_RUNS, or runs. The run has `result()`, and `weights` to
    load. A GPU is used where there is one.
    """
    given = {name: str(value) for name, value in (fields or {}).items()}
    dataset = open_data(str(data), held_out_seed=read_held_out_seed(given))
    trial = read_trial({"network": network, "seed": str(seed)} | given, dataset, weights=weights)
    root = Path(runs) if runs else default_root()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return run_trial(trial, dataset, root, weights=weights, device=device, progress=progress)
