"""Checkpoints that are whole or absent: sealed files, written atomically, two kept.

A damaged newest one is named and the previous used.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from reslab.errors import UserError
from reslab.runtime.listener import Listener
from reslab.runtime.sealed import read_sealed, write_sealed

KEPT = 2
PREFIX = "step-"


@dataclass(frozen=True)
class Checkpoint:
    """Everything a run needs to go on as if it had never stopped. `trial` is the id of what it is a run of."""

    step: int
    tensors: dict[str, Tensor]
    values: dict[str, Any]
    trial: str = ""


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint and remove all but the newest two; newer than this one are only damaged ones."""
    path = folder / f"{PREFIX}{checkpoint.step:08d}.safetensors"
    about = {"step": checkpoint.step, "values": checkpoint.values, "trial": checkpoint.trial}
    write_sealed(path, checkpoint.tensors, about)
    present = _newest_first(folder)
    for old in (*present[: present.index(path)], *present[present.index(path) + KEPT :]):
        old.unlink()
    return path


def load_newest(folder: Path, listener: Listener, *, trial: str = "") -> Checkpoint | None:
    """Return the newest whole checkpoint, or None if there is none; tell the listener which newer ones were damaged.

    One of another `trial` is refused; those of versions before do not say.
    """
    paths = _newest_first(folder)
    for path in paths:
        try:
            tensors, about = read_sealed(path)
        except UserError as error:
            listener.warn(str(error))
            continue
        found = about.get("trial", "")
        if trial and found not in ("", trial):
            raise UserError(f"{path} is a checkpoint of {found}, not of {trial}; move it back to its run")
        return Checkpoint(about["step"], tensors, about["values"], found)
    if paths:
        raise UserError(f"all checkpoints in {folder} are damaged; remove the folder to start the run again")
    return None


def newest_step(folder: Path) -> int:
    """Return how far the newest checkpoint is, whole or not; 0 where there is none."""
    return max((int(path.stem.removeprefix(PREFIX)) for path in _newest_first(folder)), default=0)


def _newest_first(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{PREFIX}*.safetensors"), reverse=True)
