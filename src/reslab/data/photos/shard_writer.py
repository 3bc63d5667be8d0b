"""Photographs into tar shards that webdataset reads: ``key.jpg`` and ``key.cls`` of each, mixed by a fixed draw.

Mixed, because others read shards from end to end. Images are copied byte for byte, and nothing in a tar hangs on when
or by whom it was written: the same photographs give the same shards. All of them appear, or none.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from reslab.data.photos.folder import PhotoDataset, PhotoSplit
from reslab.data.photos.label_list import find_list
from reslab.data.photos.members import reading
from reslab.data.photos.reader import read_photos
from reslab.data.photos.shards import FILE, Contents
from reslab.data.photos.tar_index import LABEL
from reslab.data.words import read_words, write_words
from reslab.errors import UserError
from reslab.files import Watch, real_path, refuse_full_disk, temporary_folder
from reslab.json_text import to_json
from reslab.runtime.randomness import Stream, numbers_for

Image = tuple[PhotoSplit, int]
BLOCK = tarfile.BLOCKSIZE
ROOM = 1.02  # of what is counted


@dataclass(frozen=True)
class ShardPlan:
    """Which photographs go into which shard, and the bytes that all take."""

    dataset: PhotoDataset
    shards: Mapping[str, list[Image]]
    total_bytes: int


def plan_shards(source: Path, out: Path, *, size: int) -> ShardPlan:
    """Plan shards of about `size` bytes at most; refuse what cannot be sharded, or has no room in `out`."""
    if out.exists():
        raise UserError(f"{out} already exists; give a new folder, or remove it")
    if real_path(source) in real_path(out).parents:
        raise UserError(f"{out} is inside {source} and would be read as a class; give a place outside")
    if listed := find_list(source):
        raise UserError(
            f"{listed} gives images several labels, but shards hold one per image; shard a folder of classes"
        )
    dataset = read_photos(source)
    shards = dict(_fill_shards(dataset, size))
    total = sum(_bytes_in_tar(split.size(index)) for images in shards.values() for split, index in images)
    refuse_full_disk(out, total * ROOM, remedy="give a place on another disk")
    return ShardPlan(dataset, shards, total)


def write_shards(source: Path, out: Path, *, size: int, watch: Watch = lambda what, done, total: None) -> Contents:
    """Write the photographs of `source` to shards of about `size` bytes at most in the new folder `out`."""
    plan = plan_shards(source, out, size=size)
    try:
        with temporary_folder(out.absolute().parent, out.name) as temporary:
            new, keys, done = temporary / "new", _Keys(), 0
            new.mkdir()
            for name, images in plan.shards.items():
                _write_shard(new / name, images, keys)
                done += (new / name).stat().st_size
                watch("shards", done, max(done, plan.total_bytes))
            counts = {name: len(images) for name, images in plan.shards.items()}
            contents = Contents(plan.dataset.class_names, counts, keys.renamed)
            (new / FILE).write_text(to_json(asdict(contents), indent=2) + "\n", encoding="utf-8")
            if words := read_words(source):
                write_words(new, words)
            new.rename(out)
    except OSError as error:
        raise UserError(
            f"cannot write {out}: {error.strerror or error}; no files were kept: correct this and repeat the command"
        ) from error
    return contents


def _fill_shards(dataset: PhotoDataset, size: int) -> Iterator[tuple[str, list[Image]]]:
    """Yield the shards to write: their names, and the images of each. Those held out of train still belong to it."""
    train, test = [[(split, index) for index in range(len(split))] for split in (dataset.train, dataset.test)]
    for kind, images in ({"train": train + test} if dataset.held_out else {"train": train, "val": test}).items():
        order = numbers_for(Stream.ORDER, seed=0).permutation(len(images))
        number, shard, filled = 0, list[Image](), 2 * BLOCK
        for split, index in (images[place] for place in order):
            needed = _bytes_in_tar(split.size(index))
            if shard and filled + needed > size:
                yield f"{kind}-{number:06d}.tar", shard
                number, shard, filled = number + 1, [], 2 * BLOCK
            shard.append((split, index))
            filled += needed
        yield f"{kind}-{number:06d}.tar", shard


def _bytes_in_tar(length: int) -> int:
    """Return what an image takes with its label: a header and whole blocks each."""
    return BLOCK + -(-length // BLOCK) * BLOCK + 2 * BLOCK


def _write_shard(path: Path, images: list[Image], keys: _Keys) -> None:
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for split, index in images:
            key, suffix = keys.choose(split.files[index])
            with reading(place := split.path(index), remedy="check the file"):
                content = place.read_bytes()
            _add(archive, f"{key}{suffix}", content)
            _add(archive, f"{key}{LABEL}", str(split.targets[index]).encode())


class _Keys:
    """Keys of images: their paths as they are, but for dots, at which a key would end, and repetitions."""

    def __init__(self) -> None:
        self.taken = set[str]()
        self.renamed: dict[str, str] = {}

    def choose(self, file: str) -> tuple[str, str]:
        """Return a file's key and suffix, and note if they do not make its name."""
        path = PurePosixPath(file)
        key = str(path.parent / path.stem.replace(".", "_"))
        while key in self.taken:
            key += "_"
        self.taken.add(key)
        if key + path.suffix != file:
            self.renamed[key + path.suffix] = file
        return key, path.suffix


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)  # of nobody, and of the beginning of time
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))
