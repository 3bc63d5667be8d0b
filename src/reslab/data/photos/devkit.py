"""ILSVRC-2012's development kit: which synsets are its classes, and what each validation image shows.

`meta.mat` numbers all synsets of the hierarchy; the classes are its leaves (1 to 1000). The truth has a number a line,
the first for ``ILSVRC2012_val_00000001.JPEG``.
"""

from __future__ import annotations

import io
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from reslab.errors import UserError

FOLDER = "ILSVRC2012_devkit_t12"
ARCHIVE = f"{FOLDER}.tar.gz"
META, TRUTH = "data/meta.mat", "data/ILSVRC2012_validation_ground_truth.txt"


@dataclass(frozen=True)
class Devkit:
    """The words of each class, and the class of each validation image in order; classes go by their WordNet id."""

    words: dict[str, str]
    truth: tuple[str, ...]


def read_devkit(source: Path) -> Devkit | None:
    """Read the kit in `source`, packed or unpacked; None if it is not there."""
    path = source / ARCHIVE if (source / ARCHIVE).is_file() else source / FOLDER
    if not path.exists():
        return None
    try:
        meta, truth = (_read_member(path, member) for member in (META, TRUTH))
        return _join(meta, truth.decode("ascii"))
    except (OSError, EOFError, ValueError, LookupError, TypeError, tarfile.TarError, zlib.error) as error:
        raise UserError(f"{path} is not a development kit that can be read ({error}); fetch it again") from error


def _read_member(path: Path, member: str) -> bytes:
    if path.is_dir():
        return (path / member).read_bytes()
    with tarfile.open(path, "r:gz") as archive:
        wanted = (info for info in archive if info.isfile() and info.name.removeprefix("./") == f"{FOLDER}/{member}")
        file = archive.extractfile(next(wanted, member))
        return file.read() if file is not None else b""


def _join(meta: bytes, truth: str) -> Devkit:
    from scipy.io import loadmat

    synsets = loadmat(io.BytesIO(meta), squeeze_me=True)["synsets"]
    leaves = synsets[synsets["num_children"] == 0]
    wnids = {int(number): str(wnid) for number, wnid in zip(leaves["ILSVRC2012_ID"], leaves["WNID"], strict=True)}
    words = {str(wnid): str(word) for wnid, word in zip(leaves["WNID"], leaves["words"], strict=True)}
    return Devkit(words, tuple(wnids[int(line)] for line in truth.split()))
