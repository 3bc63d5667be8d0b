"""Files are whole or absent."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.closed import close, umask
from tests.renames import fail_rename

from reslab.errors import UserError
from reslab.files import (
    LOCK,
    atomic_write,
    is_file,
    is_folder,
    is_locked,
    list_folder,
    lock,
    refuse_closed_place,
    refuse_foreign,
    refuse_full_disk,
    remove_abandoned,
    replace_folder,
    slug,
    temporary_folder,
    write_text,
)
from reslab.runtime.sealed import write_tensors


@pytest.mark.parametrize(
    ("text", "kept", "name"),
    [
        ("resnet-20 shortcut=B", {}, "resnet-20-shortcut-B"),
        ("/résumé: v1.5 (2)/", {}, "r-sum-v1.5-2"),
        ("my_photos v1.5", {"keep": "a-z0-9"}, "my-photos-v1-5"),
        ("my_run--2.tmp", {"keep": "A-Za-z0-9._-"}, "my_run--2.tmp"),
        ("../../etc", {"keep": "A-Za-z0-9._-"}, "..-..-etc"),
        ("resnet-20 input_size=8", {"longest": 10}, "resnet-20"),
    ],
)
def test_any_text_can_be_part_of_a_name(text: str, kept: dict[str, Any], name: str) -> None:
    """What is not kept becomes dashes, none at the ends, where it is cut off neither; no separator of paths is left."""
    assert slug(text, **kept) == name


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    """If the body raises, the old content stays and no temporary file is left."""
    path = tmp_path / "notes.txt"
    write_text(path, "old")
    with pytest.raises(RuntimeError), atomic_write(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_the_umask_says_who_may_read(mask: int, mode: int, tmp_path: Path) -> None:
    """Of text, and of tensors too, for which safetensors makes a file of its own."""
    with umask(mask):
        write_text(tmp_path / "notes.txt", "new")
        write_tensors(tmp_path / "x.safetensors", {"x": torch.zeros(1)}, {})
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {mode}


def test_folders_are_made(tmp_path: Path) -> None:
    """A write into a new folder makes the folder."""
    write_text(tmp_path / "a" / "b.txt", "ä")
    assert (tmp_path / "a" / "b.txt").read_bytes() == "ä".encode()


def test_an_unwritable_place_is_named(tmp_path: Path) -> None:
    """A file where a folder should be gives one sentence with the path."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot write .*b\.txt"):
        write_text(tmp_path / "file" / "b.txt", "x")


def test_a_place_is_looked_at_before_the_work(tmp_path: Path) -> None:
    """A file or a folder may be new, and folders above it; what is there of the other kind is refused; none is made."""
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    refuse_closed_place(tmp_path / "file")
    refuse_closed_place(tmp_path / "new" / "file")
    refuse_closed_place(tmp_path / "folder", folder=True)
    refuse_closed_place(tmp_path / "new" / "folder", folder=True)
    with pytest.raises(UserError, match=r"cannot write .*folder: Is a directory; choose a writable place"):
        refuse_closed_place(tmp_path / "folder")
    for place in (tmp_path / "file", tmp_path / "file" / "folder"):
        with pytest.raises(UserError, match="Not a directory"):
            refuse_closed_place(place, folder=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_full_disk_is_told_and_the_old_file_kept(tmp_path: Path) -> None:
    """ENOSPC in the body becomes a sentence; the old content stays."""
    path = tmp_path / "notes.txt"
    write_text(path, "old")
    with pytest.raises(UserError, match="No space left"), atomic_write(path):
        raise OSError(28, "No space left on device")
    assert path.read_text() == "old"


def test_a_temporary_folder_goes_away(tmp_path: Path) -> None:
    """Whatever happens inside; what happened is passed on."""
    with pytest.raises(FileNotFoundError, match="inside"), temporary_folder(tmp_path / "new", "x") as folder:
        (folder / "file").write_text("")
        raise FileNotFoundError("inside")
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_a_folder_that_cannot_be_replaced_comes_back(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the disk fails between the two renames or the user interrupts."""
    old, new = tmp_path / "place", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
        (folder / folder.name).write_text("")
    fail_rename(monkeypatch, 2, error)
    with pytest.raises(type(error)):
        replace_folder(old, new)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "place"]
    assert (old / "place").exists()
    replace_folder(old, new)
    assert (old / "new").exists()


def test_what_a_killed_maker_left_goes_next_time(tmp_path: Path) -> None:
    """Not what a living one holds, nor what others named."""
    script = (
        "import sys, time, pathlib\nfrom reslab.files import temporary_folder\n"
        "with temporary_folder(pathlib.Path(sys.argv[1]), 'x') as folder:\n"
        "    (folder / 'file').write_text('')\n    print(folder, flush=True)\n    time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as maker:
        assert maker.stdout is not None
        left = Path(maker.stdout.readline().strip())
        (tmp_path / ".x.mine").mkdir()
        with temporary_folder(tmp_path, "x") as folder:
            assert left.exists()
            assert folder != left
        maker.kill()
    assert left.exists()
    with temporary_folder(tmp_path, "x"):
        assert not left.exists()
    assert [path.name for path in tmp_path.iterdir()] == [".x.mine"]


def make_leftover(folder: Path) -> Path:
    """Make what a killed maker leaves."""
    (folder / "new").mkdir(parents=True)
    (folder / LOCK).touch()
    return folder


def test_abandoned_folders_go_and_nothing_else(tmp_path: Path) -> None:
    """Those that have a lock that nobody holds; files, and folders of others, stay, however they are called."""
    make_leftover(tmp_path / ".fetching.a1b2c3d4.partial")
    (tmp_path / ".theirs.a1b2c3d4.partial" / "inside").mkdir(parents=True)
    (tmp_path / ".notes.a1b2c3d4.partial").touch()
    make_leftover(tmp_path / ".mine.partial")
    with temporary_folder(tmp_path, "held") as held:
        remove_abandoned(tmp_path)
        assert held.exists()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [".mine.partial", ".notes.a1b2c3d4.partial", ".theirs.a1b2c3d4.partial"]
    remove_abandoned(tmp_path / "nowhere")


@pytest.mark.parametrize("taken", [False, True])
def test_what_was_aside_comes_back(taken: bool, tmp_path: Path) -> None:
    """Where a process died between the two renames, and its place is still empty."""
    left = make_leftover(tmp_path / ".report v1.2.a1b2c3d4.partial")
    write_text(left / "old" / "file", "old")
    if taken:
        write_text(tmp_path / "report v1.2" / "file", "new")
    remove_abandoned(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report v1.2"]
    assert (tmp_path / "report v1.2" / "file").read_text() == ("new" if taken else "old")


def test_what_is_still_aside_comes_back_too(tmp_path: Path) -> None:
    """Where neither the new folder nor the old one could be renamed to its place."""
    with pytest.raises(OSError, match="twice"), temporary_folder(tmp_path, "report") as folder:
        (folder / "old").mkdir()
        raise OSError(5, "twice")
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_looking_whether_it_is_held_keeps_nobody_from_holding(tmp_path: Path) -> None:
    """One who looks has it for an instant, as `is_locked` does; one who holds it is not waited for."""
    path = tmp_path / "lock"
    looker = path.open("w")
    fcntl.flock(looker, fcntl.LOCK_SH)
    threading.Timer(0.03, looker.close).start()
    with lock(path, "another has it"):
        assert is_locked(path)
        with pytest.raises(UserError, match="another has it"), lock(path, "another has it"):
            pass
    assert not is_locked(path)


def test_what_may_not_be_looked_at_is_neither_there_nor_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said; what is not there, or is no path, is just absent."""
    (tmp_path / "closed").mkdir()
    write_text(tmp_path / "file", "")
    close(tmp_path / "closed", monkeypatch)
    assert [is_folder(tmp_path / name) for name in ("closed", "file", "none", "x" * 300, "\0")] == [True, *[False] * 4]
    assert [is_file(tmp_path / name) for name in ("closed", "file", "none", "x" * 300, "\0")] == [
        False,
        True,
        *[False] * 3,
    ]
    for look in (is_folder, is_file, list_folder):
        with pytest.raises(UserError, match=r"closed/x cannot be read: Permission denied; check its permissions"):
            look(tmp_path / "closed" / "x")
    with pytest.raises(UserError, match=r"closed cannot be read: Permission denied; check its permissions"):
        list_folder(tmp_path / "closed")


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the disk of the nearest folder there is."""
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: usage._replace(free=3 * 2**20) if path == tmp_path else usage
    )
    refuse_full_disk(tmp_path / "a" / "b", 3 * 2**20, remedy="pray")
    with pytest.raises(
        UserError, match=r"b needs 4\.0 MiB of disk space, but 3\.0 MiB are free; free some space or pray"
    ):
        refuse_full_disk(tmp_path / "a" / "b", 4 * 2**20, remedy="pray")


def test_only_files_of_our_making_are_replaced(tmp_path: Path) -> None:
    """Others may be all there is."""
    ours, theirs = tmp_path / "ours.txt", tmp_path / "theirs.txt"
    ours.write_text("made by us, once")
    theirs.write_text("precious")
    for path in (ours, tmp_path / "new.txt"):
        refuse_foreign(path, b"made by us")
    with pytest.raises(UserError, match=r"theirs\.txt exists, and reslab did not write it; name another file"):
        refuse_foreign(theirs, b"made by us")
