"""What lies where in tar shards, by webdataset's convention: a sample is an image and a ``.cls`` with its label.

Both have one key, which ends at the first dot of a file's name. Shards are looked through once: the index is kept under
the data root and holds as long as no shard has another size or time. Looking is strict, because a tar that was cut off
begins like a whole one.
"""

import contextlib
import hashlib
import io
import os
import re
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reslab.data.photos.findings import Finding, Tell, refuse
from reslab.data.photos.image_files import SUFFIXES
from reslab.data.photos.members import reading
from reslab.errors import UserError
from reslab.files import atomic_write, data_root
from reslab.json_text import to_json

LABEL = ".cls"
SAMPLE = re.compile(r"((?:.*/)?[^./]+)(\.[^/]*)")  # a key, and what a file is of its sample
COMPRESSIONS = {b"\x1f\x8b": "gunzip", b"BZh": "bunzip2", b"\xfd7zXZ": "unxz", b"\x28\xb5\x2f\xfd": "unzstd"}
MOST_DIGITS = 9  # of a label
TAIL_BYTES = 2**20  # looked at behind the end
Place = tuple[str, int, int]  # a member's name, offset and length


@dataclass(frozen=True)
class Index:
    """The images of shards: the name of each, its place (which shard, offset, length) and its label."""

    names: tuple[str, ...]
    places: NDArray[np.int64]
    labels: NDArray[np.int64]
    left_out: tuple[str, ...] = ()  # shards that could not be taken


def index_shards(root: Path, shards: Sequence[str], *, tell: Tell = refuse) -> Index:
    """Return what lies where in the shards of a folder; they are looked through if they have changed since."""
    states = to_json([[shard, *_state(root / shard)] for shard in shards])
    digest = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()
    place = data_root() / "indexes" / f"{digest[:32]}.npz"
    with contextlib.suppress(OSError, EOFError, ValueError, LookupError, zipfile.BadZipFile):  # not there, or not whole
        with place.open("rb") as file:
            kept = dict(np.load(file, allow_pickle=False))
        names = os.fsdecode(kept["names"].tobytes()).split("\0")
        if kept["states"].tobytes().decode() == states and len(names) == len(kept["labels"]):
            return Index(tuple(names), kept["places"], kept["labels"])
    index = _look_through(root, shards, tell)
    if index.left_out:
        return index
    # Where it cannot be kept, it is made again.
    with contextlib.suppress(UserError), atomic_write(place) as temporary, temporary.open("wb") as file:
        np.savez(
            file,
            states=np.frombuffer(states.encode(), np.uint8),
            names=np.frombuffer(os.fsencode("\0".join(index.names)), np.uint8),
            places=index.places,
            labels=index.labels,
        )
    return index


def tell_shard(tell: Tell, path: Path, sentence: str) -> None:
    """Tell what is wrong with a shard, by a sentence that begins with its path."""
    tell(Finding("wrong shard", path.name, sentence.removeprefix(str(path)).lstrip("/ ")), sentence)


def split_name(name: str) -> tuple[str, str] | None:
    """Return a member's key, and what it is of its sample (``.jpg``, ``.cls``); None where it is of none."""
    match = SAMPLE.fullmatch(name)
    return (match[1], match[2].lower()) if match else None


def _look_through(root: Path, shards: Sequence[str], tell: Tell) -> Index:
    names: list[str] = []
    numbers: list[tuple[int, ...]] = []
    left_out: list[str] = []
    for shard_number, shard in enumerate(shards):
        try:
            samples = _read_shard(root / shard)
        except UserError as error:
            tell_shard(tell, root / shard, str(error))
            left_out.append(shard)
            continue
        names += [name for (name, *_), _ in samples]
        numbers += [(shard_number, offset, length, label) for (_, offset, length), label in samples]
    found = np.array(numbers, np.int64).reshape(-1, 4)
    return Index(tuple(names), found[:, :3], found[:, 3], tuple(left_out))


def _read_shard(path: Path) -> list[tuple[Place, int]]:
    """Return the images of a shard, and their labels."""
    images: dict[str, Place] = {}
    labels: dict[str, int] = {}
    try:
        with _open(path) as file, tarfile.open(path, "r:", file) as archive:
            for member in archive:
                name = member.name.removeprefix("./")
                key, kind = split_name(name) or ("", "")
                is_image = f".{kind.rpartition('.')[2]}" in SUFFIXES
                if member.isdir() or not (is_image or kind == LABEL):
                    continue
                if not member.isreg() or member.issparse():
                    raise UserError(
                        f"{path}/{name} is not a regular file; write the shard again with files in place of links"
                    )
                if key in (images if is_image else labels):
                    what = "image" if is_image else "label"
                    raise UserError(f"{path} has a second {what} with the key '{key}', {name}; rename one of them")
                if is_image:
                    images[key] = name, member.offset_data, member.size
                else:
                    content = os.pread(file.fileno(), member.size, member.offset_data)
                    labels[key] = _read_label(content, f"{path}/{name}")
            _refuse_unended(file, archive.offset)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise UserError(f"{path} is damaged or incomplete ({error}); fetch or write it again") from error
    for key in labels:
        if key not in images:
            raise UserError(f"{path}/{key}{LABEL} has no image beside it; add one, or remove the label")
    for key, (name, *_) in images.items():
        if key not in labels:
            raise UserError(f"{path}/{name} has no label; add {key}{LABEL} with the number of its class")
    return [(place, labels[key]) for key, place in images.items()]


def _open(path: Path) -> io.BufferedReader:
    with reading(path, remedy="check its permissions"):
        file = path.open("rb")
        first = file.peek(8)
    for magic, remedy in COMPRESSIONS.items():
        if first.startswith(magic):
            file.close()
            raise UserError(
                f"{path} is compressed, but images are read directly from the tar; decompress it with {remedy}"
            )
    return file


def _refuse_unended(file: io.BufferedReader, offset: int) -> None:
    """Refuse a tar without zeros at its end, where a damaged header reads like the end, or with something behind."""
    file.seek(offset)
    tail = file.read(TAIL_BYTES)
    if len(tail) < tarfile.BLOCKSIZE or any(tail):
        raise tarfile.ReadError(f"no end-of-archive marker at byte {offset:,}")


def _read_label(content: bytes, name: str) -> int:
    text = content.decode(errors="replace").strip()
    if not text.isdecimal() or not text.isascii() or len(text) > MOST_DIGITS:
        raise UserError(f"{name} contains {text[:40]!r}; it must contain a class number, 0 or more")
    return int(text)


def _state(path: Path) -> tuple[int, int]:
    with reading(path, remedy="check its permissions"):
        found = path.stat()
    return found.st_size, found.st_mtime_ns
