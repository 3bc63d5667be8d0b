"""What runs no longer need: checkpoints of finished ones, what died writers left, and, if asked, runs never finished.

Folders of runs that were never begun hold a lock alone, and go. A run that a living process holds is never touched, nor
are checkpoints that weights could be made from again: those of a run whose own are gone, damaged or another run's.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reslab.errors import UserError
from reslab.files import leftovers
from reslab.runs.directory import RunDirectory
from reslab.runs.weights import find_damage, find_other_owner


@dataclass(frozen=True, kw_only=True)
class Waste:
    """Files of a run that may go, and why; all of them, if the `whole` run may."""

    what: str
    files: tuple[Path, ...]
    size: int
    whole: bool = False


def find_waste(run: RunDirectory, *, interrupted: bool = False) -> list[Waste]:
    """Return what `run` no longer needs; with `interrupted`, all of one that was never finished."""
    return [] if run.held else _waste(run, interrupted=interrupted)


def find_spared(run: RunDirectory) -> str:
    """Say why a finished run still needs its checkpoints: its weights are gone, damaged or another's; else nothing."""
    if run.state != "finished" or not run.checkpoints.is_dir() or not any(run.checkpoints.iterdir()):
        return ""
    return _find_loss(run)


def prune(run: RunDirectory, *, interrupted: bool = False) -> int:
    """Remove what `run` no longer needs, and return how many bytes that were."""
    if not find_waste(run, interrupted=interrupted):
        return 0
    with run.working():
        waste = _waste(run, interrupted=interrupted)  # again, now that nobody else can change it
        size = sum(part.size for part in waste)
        try:
            if any(part.whole for part in waste):
                shutil.rmtree(run.path)
            for file in (file for part in waste for file in part.files):
                file.unlink(missing_ok=True)
        except OSError as error:
            raise UserError(
                f"cannot remove {error.filename or run.path}: {error.strerror}; remove it by hand"
            ) from error
    return size


def _waste(run: RunDirectory, *, interrupted: bool) -> list[Waste]:
    files = [path for path in sorted(run.path.rglob("*")) if path.is_symlink() or path.is_file()]
    if run.is_bare:
        return [_part("the lock of a run that never started", files, whole=True)]
    if interrupted and run.state != "finished":
        return [_part("an unfinished run", files, whole=True)]
    temporary = leftovers(run.path)
    waste = [_part("temporary files", temporary)]
    if run.state == "finished" and not _find_loss(run):
        checkpoints = [path for path in files if path.parent == run.checkpoints and path not in temporary]
        waste.append(_part("checkpoints of a finished run", checkpoints))
    return [part for part in waste if part.files]


def _find_loss(run: RunDirectory) -> str:
    """Say what became of a finished run's weights; whose they are is unknown where its trial cannot be read."""
    if damage := find_damage(run.weights):
        return damage
    try:
        return "another run's" if find_other_owner(run.weights, run.trial()) else ""
    except UserError:
        return ""


def _part(what: str, files: Sequence[Path], *, whole: bool = False) -> Waste:
    return Waste(what=what, files=tuple(files), size=sum(file.lstat().st_size for file in files), whole=whole)
