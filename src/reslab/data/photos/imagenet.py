"""ILSVRC-2012 from its publisher's files to ``train/<wnid>/`` and ``val/<wnid>/``, as `read_folder` takes it.

A class's training images appear whole or not at all, and so do all validation images: what was killed goes on where it
was. No name in an archive is trusted. 1000 classes, 1,281,167 training and 50,000 validation images make it whole.
"""

from __future__ import annotations

import os
import re
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from reslab.data.arrays.store import data_root
from reslab.data.photos.class_words import write_words
from reslab.data.photos.devkit import ARCHIVE, Devkit, read_devkit
from reslab.data.photos.folder import read_folder
from reslab.errors import UserError
from reslab.files import Watch, is_folder, list_folder, refuse_full_disk, temporary_folder

TRAIN_TAR, VAL_TAR = "ILSVRC2012_img_train.tar", "ILSVRC2012_img_val.tar"
WHOLE = (1000, 1_281_167, 50_000)
WNID = re.compile(r"n\d{8}")
TRAIN_IMAGE = re.compile(r"n\d{8}_\d+\.JPEG")
VAL_IMAGE = re.compile(r"ILSVRC2012_val_(\d{8})\.JPEG")
ROOM = 1.02  # files take more on a disk than in an archive


@dataclass(frozen=True)
class Prepared:
    """Where the images lie, the number of classes, training and validation images, and whether it was so before."""

    root: Path
    counts: tuple[int, int, int]
    as_found: bool = False

    @property
    def whole(self) -> bool:
        """Whether it is all of ILSVRC-2012, by number."""
        return self.counts == WHOLE


def prepare_imagenet(source: Path, out: Path, *, watch: Watch = lambda what, done, total: None) -> Prepared:
    """Bring what lies in `source`, packed or not, into `out`; both may be the same folder."""
    if not is_folder(source):
        raise UserError(f"there is no folder {source}; give the one with {TRAIN_TAR}, {VAL_TAR} and {ARCHIVE}")
    if _is_unpacked(source):
        if out.resolve() != source.resolve():
            raise UserError(f"{source} is unpacked already; use it as it is, without --out")
        return Prepared(source, _count(source), as_found=True)
    kit = read_devkit(source)
    train, val = _find(source, "train", TRAIN_TAR), _find(source, "val", VAL_TAR)
    found = {TRAIN_TAR: train or _has_classes(out / "train"), VAL_TAR: val or _has_classes(out / "val"), ARCHIVE: kit}
    missing = [name for name, there in found.items() if not there]
    if missing or kit is None:
        raise UserError(
            f"{source} has no {' and no '.join(missing)}; image-net.org gives ILSVRC-2012 to those with an account: "
            f"put {TRAIN_TAR}, {VAL_TAR} and {ARCHIVE} into one folder"
        )
    try:
        _refuse_small_disk(train, val, out)
        if train is not None:
            _bring_train(train, out / "train", kit, watch)
        if val is not None:
            _bring_val(val, out / "val", kit, watch)
    except OSError as error:
        raise UserError(
            f"cannot write {out}: {error.strerror}; the same command goes on once that is put right"
        ) from error
    write_words(out, kit.words)
    return Prepared(out, _count(out))


def choose_place(source: Path) -> Path:
    """Return where to bring `source` unless told: under the data root, or nowhere if its training is unpacked."""
    return source if _has_classes(source / "train") else data_root() / "imagenet"


def _is_unpacked(source: Path) -> bool:
    """Whether a folder has torchvision's layout: both splits by class, no validation image in none."""
    return all(_has_classes(source / part) for part in ("train", "val")) and not _is_flat(source / "val")


def _has_classes(folder: Path) -> bool:
    return is_folder(folder) and any(WNID.fullmatch(path.name) for path in list_folder(folder))


def _is_flat(folder: Path) -> bool:
    return is_folder(folder) and any(VAL_IMAGE.fullmatch(path.name) for path in list_folder(folder))


def _find(source: Path, part: str, tar: str) -> Path | None:
    """Return where a part's images lie: in an archive, or in a folder, by class or, to be sorted, in none."""
    folders = [source / part, source / tar.removesuffix(".tar")]
    unpacked = [folder for folder in folders if _has_classes(folder) or (part == "val" and _is_flat(folder))]
    return source / tar if (source / tar).is_file() else next(iter(unpacked), None)


def _count(root: Path) -> tuple[int, int, int]:
    dataset = read_folder(root)
    return len(dataset.class_names), len(dataset.train), len(dataset.test)


def _refuse_small_disk(train: Path | None, val: Path | None, out: Path) -> None:
    place = next(path for path in (out.absolute(), *out.absolute().parents) if path.exists())
    needed = 0
    if train is not None and train.is_file():
        with _open_tar(train) as archive:
            needed += sum(member.size for wnid, member in _classes(archive) if not (out / "train" / wnid).is_dir())
    if val is not None and val.is_file() and not _has_classes(out / "val"):
        needed += val.stat().st_size
    for folder in (train, val):
        if folder is not None and folder.is_dir() and folder.stat().st_dev != place.stat().st_dev:
            needed += sum(path.stat().st_size for path in folder.rglob("*.JPEG"))
    refuse_full_disk(out, needed * ROOM, remedy="give --out on another disk")


def _bring_train(where: Path, out: Path, kit: Devkit, watch: Watch) -> None:
    if where.is_dir():
        _bring_classes(where, out, watch)
        return
    with _open_tar(where) as archive:
        for wnid, member in _classes(archive):
            watch("training images", member.offset, where.stat().st_size)
            if wnid not in kit.words:
                raise UserError(f"{where} has the class {wnid}, which {ARCHIVE} does not; fetch both again")
            if (out / wnid).is_dir():
                continue
            with temporary_folder(out, wnid) as folder, _open_tar(where, archive.extractfile(member)) as inner:
                for name, image in _images(inner, TRAIN_IMAGE):
                    _write(image, folder / "new" / name)
                (folder / "new").rename(out / wnid)
    watch("training images", where.stat().st_size, where.stat().st_size)


def _bring_val(where: Path, out: Path, kit: Devkit, watch: Watch) -> None:
    """Sort validation images by class; those that lie in their place already are moved, one by one."""
    if _is_flat(out):
        for path in _flat_images(out):
            _move(path, out / _class_of(path.name, kit) / path.name)
    elif where.is_dir() and not _is_flat(where):
        _bring_classes(where, out, watch)
    elif not _has_classes(out):
        with temporary_folder(out.parent, out.name) as folder:
            if where.is_dir():
                for path in _flat_images(where):
                    _link(path, folder / "new" / _class_of(path.name, kit) / path.name)
            else:
                with _open_tar(where) as archive:
                    for name, image in _images(archive, VAL_IMAGE):
                        _write(image, folder / "new" / _class_of(name, kit) / name)
                        watch("validation images", archive.offset, where.stat().st_size)
                watch("validation images", where.stat().st_size, where.stat().st_size)
            (folder / "new").rename(out)


def _bring_classes(where: Path, out: Path, watch: Watch) -> None:
    """Bring class folders that are not there yet; where they lie already, all are."""
    done = 0
    for source in (path for path in list_folder(where) if WNID.fullmatch(path.name)):
        if (out / source.name).is_dir():
            continue
        with temporary_folder(out, source.name) as folder:
            for path in list_folder(source):
                _link(path, folder / "new" / path.name)
                done += path.stat().st_size
            (folder / "new").rename(out / source.name)
        watch("images", done, None)


def _class_of(name: str, kit: Devkit) -> str:
    match = VAL_IMAGE.fullmatch(name)
    assert match is not None
    number = int(match[1])
    if not 1 <= number <= len(kit.truth):
        raise UserError(f"{name} has no label: {ARCHIVE} has {len(kit.truth):,}; fetch both again")
    return kit.truth[number - 1]


@contextmanager
def _open_tar(path: Path, file: IO[bytes] | None = None) -> Iterator[tarfile.TarFile]:
    """Open an archive, or with `file` one within it; damage names it."""
    try:
        with tarfile.open(path, "r:", file) as archive:
            yield archive
    except (tarfile.TarError, EOFError) as error:
        raise UserError(f"{path} is damaged ({error}); fetch it again") from error


def _classes(archive: tarfile.TarFile) -> Iterator[tuple[str, tarfile.TarInfo]]:
    """Yield the archives within the training archive, by class."""
    for member, name in _files(archive):
        if not WNID.fullmatch(name.removesuffix(".tar")) or not name.endswith(".tar"):
            raise UserError(f"{archive.name} holds '{name}', which is not a class of ILSVRC-2012; fetch it again")
        yield name.removesuffix(".tar"), member


def _images(archive: tarfile.TarFile, pattern: re.Pattern[str]) -> Iterator[tuple[str, IO[bytes]]]:
    for member, name in _files(archive):
        image = archive.extractfile(member) if pattern.fullmatch(name) else None
        if image is None:
            raise UserError(f"{archive.name} holds '{name}', which is not an image of ILSVRC-2012; fetch it again")
        yield name, image


def _files(archive: tarfile.TarFile) -> Iterator[tuple[tarfile.TarInfo, str]]:
    """Yield what is no folder, with its name; links and devices have none that a pattern knows."""
    for member in archive:
        if not member.isdir():
            yield member, member.name.removeprefix("./") if member.isfile() else f"{member.name} (no plain file)"


def _flat_images(folder: Path) -> list[Path]:
    return [path for path in list_folder(folder) if VAL_IMAGE.fullmatch(path.name)]


def _write(image: IO[bytes], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        shutil.copyfileobj(image, file)


def _move(path: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    path.rename(target)


def _link(path: Path, target: Path) -> None:
    """Give a file a second place; a copy where the disk is another."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(path, target)
    except OSError:
        shutil.copyfile(path, target)
