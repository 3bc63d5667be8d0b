"""Whether a weight file is whole and a run's own, as its header tells; no tensor is read, and no torch is needed.

A safetensors file says where its last tensor ends, and ours of which network and which trial they are; whoever loads
one checks its digest.
"""

import json
from pathlib import Path
from typing import Any, Literal

from reslab.errors import UserError
from reslab.spec import name_of, spec_from_dict
from reslab.spec.trial import Trial

LENGTH_BYTES = 8  # of the header's length, little-endian, which the file begins with
METADATA = "__metadata__"
OURS = "reslab"  # where the metadata of our files say what they hold
UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


def find_damage(path: Path) -> Literal["", "gone", "damaged"]:
    """Return what has become of a weight file; nothing if it is as long as it says."""
    try:
        rest, header = _read_header(path)
        end = max((about["data_offsets"][1] for name, about in header.items() if name != METADATA), default=0)
    except FileNotFoundError:
        return "gone"
    except PermissionError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}; check the run's permissions") from error
    except UNREADABLE:
        return "damaged"
    return "" if rest == end else "damaged"


def read_fingerprint(path: Path) -> str:
    """Return the fingerprint of the data that a file of weights was trained on last; nothing where it says none."""
    try:
        return str(json.loads(_read_header(path)[1][METADATA][OURS])["provenance"]["data"]["fingerprint"])
    except UNREADABLE:
        return ""


def find_other_owner(path: Path, trial: Trial) -> str:
    """Name the run, or the network, whose weights a whole file holds, if those are not `trial`'s; else nothing.

    A file that names no run, as those of other versions may not, is the trial's if it is of its network.
    """
    try:
        about = json.loads(_read_header(path)[1][METADATA][OURS])
        owner = about["provenance"].get("trial", trial.id)
        spec = spec_from_dict(about["spec"])
    except (UserError, *UNREADABLE):
        return "an unknown network"
    if owner != trial.id:
        return str(owner)
    return "" if spec == trial.network else name_of(spec)


def refuse_other_weights(path: Path, trial: Trial) -> None:
    """Refuse a weight file in the folder of a run of `trial` that is whole and another's."""
    if owner := find_other_owner(path, trial):
        raise UserError(
            f"{path} holds the weights of {owner}, but the run is {trial.id}; "
            "restore the run's own weights, or move these away and train it again"
        )


def _read_header(path: Path) -> tuple[int, dict[str, Any]]:
    """Return how many bytes follow the header, and what it says of the tensors and of the whole."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        return size - LENGTH_BYTES - length, json.loads(file.read(min(length, size)))
