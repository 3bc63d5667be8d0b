"""Files that are either whole or absent, temporary folders that are cleaned up, locks that end with their process.

A path that may not be read is told in a sentence; Python itself calls it absent, or raises.
"""

import contextlib
import errno
import fcntl
import glob
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from reslab.errors import UserError
from reslab.numbers import write_size

PARTIAL = ".partial"
MKDTEMP_DRAWS = 8  # characters, for the name of a temporary folder
LOCK, ASIDE = ".reslab-lock", "old"  # in a temporary folder; a file can be locked across machines too, a folder not
ATTEMPTS = 10
HEAD_BYTES = 4096
Watch = Callable[[str, int, int | None], None]  # is told what is done, how much of it, and of how much


@contextlib.contextmanager
def telling(cannot: str, remedy: str) -> Iterator[None]:
    """Tell an OSError in a sentence: what cannot be done, why, and the remedy."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{cannot}: {error.strerror}; {remedy}") from error


def is_folder(path: Path) -> bool:
    """Whether there is a folder at `path`; where that may not be known, it is said."""
    return stat.S_ISDIR(_find_mode(path))


def is_file(path: Path) -> bool:
    """Whether there is a file at `path`; where that may not be known, it is said."""
    return stat.S_ISREG(_find_mode(path))


def exists(path: Path) -> bool:
    """Whether there is anything at `path`; where that may not be known, it is said."""
    return bool(_find_mode(path))


def _find_mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except PermissionError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror}; check its permissions, and those of the folders above it"
        ) from error
    except (OSError, ValueError):  # not there; or no path: too long, or with a zero in it
        return 0


def real_path(path: Path) -> Path:
    """Return where `path` leads; of links that lead in a circle, which writing there tells, as far as they do."""
    return Path(os.path.realpath(path))


def data_root() -> Path:
    """Return where data and weights that are fetched lie: ``RESLAB_DATA``, or ``reslab`` in the user's data folder."""
    if os.environ.get("RESLAB_DATA"):
        return Path(os.environ["RESLAB_DATA"]).expanduser()
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "reslab"


def refuse_place(place: Path, error: OSError) -> UserError:
    """Return the refusal of a place under the data root that cannot be written to."""
    remedy = "free some space, or set RESLAB_DATA to another" if is_full(error) else "set RESLAB_DATA to a writable"
    return UserError(f"cannot write {place}: {error.strerror}; {remedy} place")


def slug(text: str, *, keep: str = "A-Za-z0-9.", longest: int | None = None) -> str:
    """Return `text` as part of a file's name: of other characters than those to `keep`, a dash for each row of them."""
    return re.sub(f"[^{keep}]+", "-", text)[:longest].strip("-")


def list_folder(folder: Path) -> list[Path]:
    """Return what a folder has, by name."""
    with telling(f"{folder} cannot be read", "check its permissions"):
        return enter_folder(folder)


def enter_folder(folder: Path) -> list[Path]:
    """Return what a folder has, by name; OSErrors are the caller's to tell."""
    (folder / "..").stat()  # what may be listed may still not be entered
    return sorted(Path(entry.path) for entry in os.scandir(folder))


def is_full(error: BaseException) -> bool:
    """Whether an error says that a disk, or a user's share of it, is full."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def refuse_full_disk(path: Path, needed: float, *, remedy: str) -> None:
    """Refuse to write `needed` bytes at `path`, which need not be there yet, where its disk has no room for them."""
    place = next(folder for folder in (path, *path.absolute().parents) if folder.is_dir())
    if needed > (free := shutil.disk_usage(place).free):
        raise UserError(
            f"{path} needs {write_size(needed)} of disk space, but {write_size(free)} are free; "
            f"free some space or {remedy}"
        )


def refuse_closed_place(path: Path, *, folder: bool = False) -> None:
    """Refuse a place where a file, or a folder of files, cannot be written, before the work for it is done."""
    place = next(above for above in ([path] if folder else []) + [*path.absolute().parents] if _find_mode(above))
    with telling(f"cannot write {path}", "choose a writable place"):
        if not folder and is_folder(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with tempfile.TemporaryFile(dir=place):
            pass


def refuse_foreign(path: Path, mark: bytes) -> None:
    """Refuse to replace a file that has no `mark` near its beginning: reslab did not make it."""
    with telling(f"cannot write {path}", "choose another place"):
        if not is_file(path):
            return
        with path.open("rb") as file:
            if mark not in file.read(HEAD_BYTES):
                raise UserError(f"{path} exists, and reslab did not write it; name another file, or remove it")


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary neighbour of `path` that replaces it once written and synced to disk.

    If the body fails, `path` keeps its old content and no temporary file stays behind. Its permissions
    are the umask's, whatever the body writes with.
    """
    temporary = path.parent / f".{path.name}.{secrets.token_hex(4)}{PARTIAL}"
    with telling(f"cannot write {path}", "choose a writable place"):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(exist_ok=False)
        permissions = stat.S_IMODE(temporary.stat().st_mode)
    try:
        with telling(f"cannot write {path}", "free some space or choose another place"):
            yield temporary
            _sync(temporary)
            temporary.chmod(permissions)  # safetensors puts a file of its own there, for its owner alone
            temporary.replace(path)
            _sync(path.parent)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` atomically, as UTF-8."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def leftovers(folder: Path) -> list[Path]:
    """Return what writes that were killed left under `folder`; only its holder may remove them."""
    return sorted(folder.rglob(f".*{PARTIAL}"))


@contextlib.contextmanager
def temporary_folder(parent: Path, name: str) -> Iterator[Path]:
    """Yield a new hidden folder in `parent` that goes away whatever happens; what killed makers left goes first.

    OSErrors are the caller's to tell.
    """
    parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(parent, glob.escape(name))
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=PARTIAL, dir=parent))
        held = (folder / LOCK).open("x")
        if _hold(held.fileno(), folder / LOCK):
            break
        held.close()  # another took the folder for a leftover just now
    try:
        yield folder
    finally:
        with contextlib.suppress(OSError):
            _empty(folder)
        held.close()
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(parent: Path, name: str = "*") -> None:
    """Remove the temporary folders in `parent` whose makers were killed: a living one holds the lock in its folder."""
    for folder in parent.glob(f".{name}.{'?' * MKDTEMP_DRAWS}{PARTIAL}"):
        with contextlib.suppress(OSError):  # not ours, for it has no lock, or gone by now
            with (folder / LOCK).open("r+") as held:
                if not _hold(held.fileno(), folder / LOCK):
                    continue
                _empty(folder)
            shutil.rmtree(folder)


def _empty(folder: Path) -> None:
    """Remove all from a temporary folder but its lock, by which a leftover is known: over NFS an open file stays.

    What was aside to be replaced goes back where nothing took its place.
    """
    place = folder.with_name(folder.name[1 : -len(PARTIAL) - MKDTEMP_DRAWS - 1])
    if (folder / ASIDE).is_dir() and not place.exists():
        (folder / ASIDE).rename(place)
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != LOCK:
            path.unlink(missing_ok=True)


def replace_folder(place: Path, new: Path) -> None:
    """Rename `new`, in a temporary folder, to `place`; what was there goes aside, and comes back if that fails."""
    if not place.exists():
        new.rename(place)
        return
    aside = new.with_name(ASIDE)
    place.rename(aside)
    try:
        new.rename(place)
    except BaseException:  # an interrupt too: what is aside goes away with its maker
        aside.rename(place)
        raise


@contextlib.contextmanager
def lock(path: Path, refusal: str) -> Iterator[None]:
    """Hold `path` for this process alone, or raise `refusal`. The system drops the hold of a process that dies."""
    with telling(f"cannot write {path}", "choose a writable place"):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a")
    with file:
        # Who only looks whether it is held (`is_locked`) has it for an instant.
        if not _hold(file.fileno(), path, attempts=ATTEMPTS):
            raise UserError(refusal)
        yield


def _hold(descriptor: int, path: Path, *, attempts: int = 1) -> bool:
    """Hold what was opened at `path`, if nobody does and it still stands there: neither removed nor made anew."""
    for _ in range(attempts):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return os.path.samestat(os.fstat(descriptor), path.stat())
        except BlockingIOError:
            time.sleep(0.01)
        except FileNotFoundError:
            return False
    return False


def is_locked(path: Path) -> bool:
    """Whether a living process holds `path`; nothing is written to find out."""
    with telling(f"cannot read {path}", "choose a readable place"):
        try:
            file = path.open()
        except FileNotFoundError:
            return False
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
