"""ILSVRC-2012 from its publisher's files to ``train/<wnid>/`` and ``val/<wnid>/``, as `read_folder` takes it.

A class's training images appear whole or not at all, and so do all validation images: what was killed goes on where it
was. No name in an archive is trusted; what a validation image shows, the development kit says. 1000 classes, 1,281,167
training and 50,000 validation images make it whole.
"""

import io
import os
import re
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from reslab.data.photos.folder import read_folder
from reslab.data.words import write_words
from reslab.errors import UserError
from reslab.files import Watch, data_root, is_folder, list_folder, real_path, refuse_full_disk, temporary_folder

TRAIN_TAR, VAL_TAR = "ILSVRC2012_img_train.tar", "ILSVRC2012_img_val.tar"
FOLDER = "ILSVRC2012_devkit_t12"
ARCHIVE = f"{FOLDER}.tar.gz"
META, TRUTH = "data/meta.mat", "data/ILSVRC2012_validation_ground_truth.txt"
WHOLE = (1000, 1_281_167, 50_000)
WNID = re.compile(r"n\d{8}")
CLASS_TAR = re.compile(r"n\d{8}\.tar")
TRAIN_IMAGE = re.compile(r"n\d{8}_\d+\.JPEG")
VAL_IMAGE = re.compile(r"ILSVRC2012_val_\d{8}\.JPEG")  # their numbers are places in the truth, from 1 on
ROOM = 1.02  # files take more on a disk than in an archive


@dataclass(frozen=True)
class Devkit:
    """The words of each class, and the class of each validation image in order; classes go by their WordNet id."""

    words: dict[str, str]
    truth: tuple[str, ...]


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


@dataclass(frozen=True)
class Unpacking:
    """Where the parts lie that are to be brought, the development kit, and the bytes of disk that they will take."""

    kit: Devkit
    train: Path | None
    val: Path | None
    disk_bytes: int


def plan_imagenet(source: Path, out: Path) -> Unpacking | None:
    """Return what of `source` is to be brought into `out`, for which there is room; None where it is unpacked."""
    if not is_folder(source):
        raise UserError(f"there is no folder {source}; give the one with {TRAIN_TAR}, {VAL_TAR} and {ARCHIVE}")
    by_class = all(_list_named(source / part, WNID) for part in ("train", "val"))
    if by_class and not _list_named(source / "val", VAL_IMAGE):
        if real_path(out) != real_path(source):
            raise UserError(f"{source} is already unpacked; use it directly, without --out")
        return None
    kit = read_devkit(source)
    train, val = _find(source, "train", TRAIN_TAR), _find(source, "val", VAL_TAR)
    found = {
        TRAIN_TAR: train or _list_named(out / "train", WNID),
        VAL_TAR: val or _list_named(out / "val", WNID),
        ARCHIVE: kit,
    }
    missing = [name for name, there in found.items() if not there]
    if missing or kit is None:
        raise UserError(
            f"{source} has no {' and no '.join(missing)}; download ILSVRC-2012 from image-net.org, which needs "
            f"an account, and put {TRAIN_TAR}, {VAL_TAR} and {ARCHIVE} into one folder"
        )
    needed = _count_bytes(train, val, out)
    refuse_full_disk(out, needed * ROOM, remedy="give --out on another disk")
    return Unpacking(kit, train, val, needed)


def prepare_imagenet(source: Path, out: Path, *, watch: Watch = lambda what, done, total: None) -> Prepared:
    """Bring what lies in `source`, packed or not, into `out`; both may be the same folder."""
    plan = plan_imagenet(source, out)
    if plan is None:
        return Prepared(source, _count(source), as_found=True)
    try:
        if plan.train is not None:
            _bring_train(plan.train, out / "train", plan.kit, watch)
        if plan.val is not None:
            _bring_val(plan.val, out / "val", plan.kit, watch)
    except OSError as error:
        raise UserError(
            f"cannot write {out}: {error.strerror}; correct this, then repeat the command to resume"
        ) from error
    write_words(out, plan.kit.words)
    return Prepared(out, _count(out))


def choose_place(source: Path) -> Path:
    """Return the default place for `source`: under the data root, or `source` if its training images are unpacked."""
    return source if _list_named(source / "train", WNID) else data_root() / "imagenet"


def read_devkit(source: Path) -> Devkit | None:
    """Read the development kit in `source`, packed or unpacked; None if it is not there."""
    path = source / ARCHIVE if (source / ARCHIVE).is_file() else source / FOLDER
    if not path.exists():
        return None
    try:
        return _join_kit(*(_read_kit(path, member) for member in (META, TRUTH)))
    except (OSError, EOFError, ValueError, LookupError, TypeError, tarfile.TarError, zlib.error) as error:
        raise UserError(f"{path} cannot be read as a development kit ({error}); fetch it again") from error


def _read_kit(path: Path, member: str) -> bytes:
    if path.is_dir():
        return (path / member).read_bytes()
    with tarfile.open(path, "r:gz") as archive:
        wanted = (info for info in archive if info.isfile() and info.name.removeprefix("./") == f"{FOLDER}/{member}")
        file = archive.extractfile(next(wanted, member))
        return file.read() if file is not None else b""


def _join_kit(meta: bytes, truth: bytes) -> Devkit:
    """Join `meta.mat`, which numbers all synsets, with the truth, which has a number a line.

    The classes are the leaves of the hierarchy (1 to 1000).
    """
    from scipy.io import loadmat

    synsets = loadmat(io.BytesIO(meta), squeeze_me=True)["synsets"]
    leaves = synsets[synsets["num_children"] == 0]
    wnids = {int(number): str(wnid) for number, wnid in zip(leaves["ILSVRC2012_ID"], leaves["WNID"], strict=True)}
    words = {str(wnid): str(word) for wnid, word in zip(leaves["WNID"], leaves["words"], strict=True)}
    return Devkit(words, tuple(wnids[int(line)] for line in truth.decode("ascii").split()))


def _list_named(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    """Return what a folder, which need not be there, has under such names: classes, or images in none."""
    return [path for path in list_folder(folder) if pattern.fullmatch(path.name)] if is_folder(folder) else []


def _find(source: Path, part: str, tar: str) -> Path | None:
    """Return where a part's images lie: in an archive, or in a folder, by class or, to be sorted, in none."""
    if (source / tar).is_file():
        return source / tar
    folders = [source / part, source / tar.removesuffix(".tar")]
    patterns = [WNID, VAL_IMAGE] if part == "val" else [WNID]
    return next((folder for folder in folders if any(_list_named(folder, pattern) for pattern in patterns)), None)


def _count(root: Path) -> tuple[int, int, int]:
    dataset = read_folder(root)
    return len(dataset.class_names), len(dataset.train), len(dataset.test)


def _count_bytes(train: Path | None, val: Path | None, out: Path) -> int:
    """Return the disk that parts will take: links on the same disk take none."""
    place = next(path for path in (out.absolute(), *out.absolute().parents) if path.exists())
    needed = 0
    if train is not None and train.is_file():
        with _open_tar(train) as archive:
            for name, member, _ in _members(archive, CLASS_TAR, "a class"):
                needed += 0 if (out / "train" / name.removesuffix(".tar")).is_dir() else member.size
    if val is not None and val.is_file() and not _list_named(out / "val", WNID):
        needed += val.stat().st_size
    for folder in (train, val):
        if folder is not None and folder.is_dir() and folder.stat().st_dev != place.stat().st_dev:
            needed += sum(path.stat().st_size for path in folder.rglob("*.JPEG"))
    return needed


def _bring_train(where: Path, out: Path, kit: Devkit, watch: Watch) -> None:
    if where.is_dir():
        _bring_classes(where, out, watch)
        return
    with _open_tar(where) as archive:
        for name, member, file in _members(archive, CLASS_TAR, "a class"):
            watch("training images", member.offset, where.stat().st_size)
            wnid = name.removesuffix(".tar")
            if wnid not in kit.words:
                raise UserError(f"{where} has the class {wnid}, but {ARCHIVE} does not; fetch both again")
            if (out / wnid).is_dir():
                continue
            with temporary_folder(out, wnid) as folder, _open_tar(where, file) as inner:
                for image, _, content in _members(inner, TRAIN_IMAGE, "an image"):
                    _write(content, folder / "new" / image)
                (folder / "new").rename(out / wnid)
    watch("training images", where.stat().st_size, where.stat().st_size)


def _bring_val(where: Path, out: Path, kit: Devkit, watch: Watch) -> None:
    """Sort validation images by class; those that lie in their place already are moved, one by one."""
    if misplaced := _list_named(out, VAL_IMAGE):
        for path in misplaced:
            path.rename(_make_room(out / _class_of(path.name, kit) / path.name))
    elif where.is_dir() and not _list_named(where, VAL_IMAGE):
        _bring_classes(where, out, watch)
    elif not _list_named(out, WNID):
        with temporary_folder(out.parent, out.name) as folder:
            for path in _list_named(where, VAL_IMAGE):
                _link(path, folder / "new" / _class_of(path.name, kit) / path.name)
            if where.is_file():
                with _open_tar(where) as archive:
                    for name, _, content in _members(archive, VAL_IMAGE, "an image"):
                        _write(content, folder / "new" / _class_of(name, kit) / name)
                        watch("validation images", archive.offset, where.stat().st_size)
                watch("validation images", where.stat().st_size, where.stat().st_size)
            (folder / "new").rename(out)


def _bring_classes(where: Path, out: Path, watch: Watch) -> None:
    """Bring class folders that are not there yet; where they lie already, all are."""
    done = 0
    for source in _list_named(where, WNID):
        if (out / source.name).is_dir():
            continue
        with temporary_folder(out, source.name) as folder:
            for path in list_folder(source):
                _link(path, folder / "new" / path.name)
                done += path.stat().st_size
            (folder / "new").rename(out / source.name)
        watch("images", done, None)


def _class_of(name: str, kit: Devkit) -> str:
    number = int(name.removesuffix(".JPEG")[-8:])  # by VAL_IMAGE
    if not 1 <= number <= len(kit.truth):
        raise UserError(f"{name} has no label: {ARCHIVE} has labels for {len(kit.truth):,} images; fetch both again")
    return kit.truth[number - 1]


@contextmanager
def _open_tar(path: Path, file: IO[bytes] | None = None) -> Iterator[tarfile.TarFile]:
    """Open an archive, or with `file` one within it; damage names it."""
    try:
        with tarfile.open(path, "r:", file) as archive:
            yield archive
    except (tarfile.TarError, EOFError) as error:
        raise UserError(f"{path} is damaged ({error}); fetch it again") from error


def _members(
    archive: tarfile.TarFile, pattern: re.Pattern[str], what: str
) -> Iterator[tuple[str, tarfile.TarInfo, IO[bytes]]]:
    """Yield the files of an archive, which are all `what` and so have names that the pattern knows; folders may be."""
    for member in archive:
        if member.isdir():
            continue
        name = member.name.removeprefix("./") if member.isfile() else f"{member.name} (not a regular file)"
        file = archive.extractfile(member) if pattern.fullmatch(name) else None
        if file is None:
            raise UserError(f"{archive.name} holds '{name}', which is not {what} of ILSVRC-2012; fetch it again")
        yield name, member, file


def _write(image: IO[bytes], path: Path) -> None:
    with _make_room(path).open("xb") as file:
        shutil.copyfileobj(image, file)


def _link(path: Path, target: Path) -> None:
    """Give a file a second place; a copy where the disk is another."""
    _make_room(target)
    try:
        os.link(path, target)
    except OSError:
        shutil.copyfile(path, target)


def _make_room(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
