"""What a training begins with: weights drawn by the trial's seed, or others to start from, known by their digest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from reslab.errors import UserError
from reslab.networks import Network, Weights, build, read_weights
from reslab.networks.create import adopt_weights, restore_model
from reslab.networks.weights.reading import find_file
from reslab.networks.weights.sealed import seal
from reslab.spec import Preprocess, Spec
from reslab.spec.trial import DataSpec, Trial

INITIALIZING = threading.Lock()  # weights are drawn from torch's generator, which all threads share


@dataclass(frozen=True)
class _Read:
    """Weights as they were read, from which file, and how that looked before; `asked` is what they were asked by."""

    asked: str | Path
    file: Path
    look: tuple[int, ...]
    weights: Weights


_HANDED_ON: dict[str, _Read] = {}  # by digest: what `start_from` read last, until `load_start` takes it


def initialize(trial: Trial) -> Network:
    """Return the trial's network with the weights its seed draws; torch's generator is left as the caller had it."""
    with INITIALIZING, torch.random.fork_rng(devices=()):
        torch.default_generator.manual_seed(trial.seed)  # the CPU's alone: not those of devices, which are not kept
        return build(trial.network, device="cpu")


def start_from(trial: Trial, weights: str | Path, *, network: str | Spec, overrides: Mapping[str, Any]) -> Trial:
    """Return the trial with these weights to start from; a network by name is then what they were trained for."""
    file = find_file(weights, like=trial.network)
    look = _look_at(file)
    if isinstance(network, str):
        built, read = restore_model(weights, name=network, overrides=overrides)
        trial = replace(trial, network=built.spec)
    else:
        read = read_weights(weights, like=trial.network)
    digest = seal({}, read.tensors)
    _HANDED_ON.clear()
    _HANDED_ON[digest] = _Read(weights, file, look, read)
    return replace(trial, start=digest)


def load_start(network: Network, trial: Trial, weights: str | Path | None) -> Weights | None:
    """Load what a trial starts from into its network; return what was loaded, if anything."""
    if trial.start is None:
        if weights is not None:
            raise UserError(f"the trial starts from scratch, not from weights={weights}; leave these out")
        return None
    if weights is None:
        raise UserError(f"the trial starts from weights with digest {trial.start[:12]}; give them: weights=FILE")
    read = _take_over(weights, trial.start) or _read_again(weights, trial)
    adopt_weights(network, read, origin=str(weights))
    return read


def _take_over(weights: str | Path, digest: str) -> Weights | None:
    """Return what `start_from` read, if it is what is asked for and the file still looks as it did then."""
    read = _HANDED_ON.pop(digest, None)
    if read is None or read.asked != weights or _look_at(read.file) != read.look:
        return None
    return read.weights


def _read_again(weights: str | Path, trial: Trial) -> Weights:
    """Return what a file has now, if that is what the trial starts from."""
    assert trial.start is not None
    read = read_weights(weights, like=trial.network)
    if (found := seal({}, read.tensors)) != trial.start:
        raise UserError(
            f"{weights} is not what the trial starts from: its digest is {found[:12]}, not {trial.start[:12]}"
        )
    return read


def _look_at(file: Path) -> tuple[int, ...]:
    """Return what changes when a file does; nothing where there is none."""
    try:
        found = file.stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def warn_of_other_preparation(started: Weights, preprocess: Preprocess, warn: Callable[[str], None]) -> None:
    """Say where images will be prepared in another way than the weights to start from were trained with."""
    before = started.preprocess
    if before is None:
        return
    fields = ("channel_order", "pixel_range", "per_pixel_mean", "mean", "std")
    differing = [field for field in fields if getattr(before, field) != getattr(preprocess, field)]
    if differing:
        warn(
            f"the weights to start from were trained with {before.describe()}; "
            f"this run prepares images with {preprocess.describe()}"
        )


def warn_of_seen_images(started: Weights, data: DataSpec, warn: Callable[[str], None]) -> None:
    """Say where the weights to start from were trained on some of what is held out now, as another seed drew it."""
    before = started.provenance.get("data", {})
    seed = before.get("held_out_seed", 0)
    if before.get("name") == data.name and seed != data.held_out_seed:
        warn(
            f"the weights to start from were trained on {data.name} with other images held out, and so on some that "
            f"are tested on here; write data.held_out_seed={seed}, or give a folder that has a val of its own"
        )
