"""Checkpoints: whole or absent, two kept, damage named."""

from __future__ import annotations

import errno
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from reslab.errors import UserError
from reslab.runtime.listener import DEAF, Listener
from reslab.runtime.sealed import write_sealed
from reslab.training.checkpoint import Checkpoint, load_newest, newest_step, save_checkpoint

STRICT = Listener(warn=pytest.fail)


def save(folder: Path, step: int) -> Path:
    return save_checkpoint(folder, Checkpoint(step, {"a": torch.full((50,), float(step))}, {"x": [step, None, 0.1]}))


def test_two_are_kept_and_the_newest_loaded(tmp_path: Path) -> None:
    """Values and tensors come back exactly."""
    for step in (10, 20, 30):
        save(tmp_path, step)
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["step-00000020", "step-00000030"]
    newest = load_newest(tmp_path, STRICT)
    assert newest is not None
    assert newest_step(tmp_path) == newest.step
    assert (newest.step, newest.values) == (30, {"x": [30, None, 0.1]})
    assert torch.equal(newest.tensors["a"], torch.full((50,), 30.0))


def test_anothers_is_refused(tmp_path: Path) -> None:
    """Weights of one shape fit any run of their network; a checkpoint of a version before does not say whose it is."""
    save_checkpoint(tmp_path, Checkpoint(1, {"a": torch.ones(1)}, {}, "resnet-8-digits-1"))
    newest = load_newest(tmp_path, STRICT, trial="resnet-8-digits-1")
    assert newest is not None
    assert newest.trial == "resnet-8-digits-1"
    with pytest.raises(UserError, match=r"is a checkpoint of resnet-8-digits-1, not of plain-8-digits-2; move it back"):
        load_newest(tmp_path, STRICT, trial="plain-8-digits-2")
    write_sealed(tmp_path / "step-00000002.safetensors", {"a": torch.ones(1)}, {"step": 2, "values": {}})
    newest = load_newest(tmp_path, STRICT, trial="plain-8-digits-2")
    assert newest is not None
    assert newest.step == 2


def test_none_is_none(tmp_path: Path) -> None:
    """An empty or missing folder has no checkpoint."""
    assert load_newest(tmp_path / "new", STRICT) is None
    assert newest_step(tmp_path / "new") == 0


def test_a_damaged_newest_is_named_and_the_previous_used(tmp_path: Path) -> None:
    """Two hundred bit flips and twenty truncations: none is accepted, each falls back."""
    save(tmp_path, 1)
    path = save(tmp_path, 2)
    content, chance = path.read_bytes(), random.Random(0)
    damages = []
    for _ in range(200):
        flipped = bytearray(content)
        place = chance.randrange(len(content) * 8)
        flipped[place // 8] ^= 1 << place % 8
        damages.append(bytes(flipped))
    damages += [content[: len(content) * part // 20] for part in range(20)]
    for damaged in damages:
        path.write_bytes(damaged)
        warnings: list[str] = []
        used = load_newest(tmp_path, Listener(warn=warnings.append))
        assert used is not None
        assert used.step == 1
        assert "step-00000002" in warnings[0]


def test_a_damaged_one_is_not_kept_in_place_of_a_whole_one(tmp_path: Path) -> None:
    """Going on from the one before it, the next save leaves two whole ones."""
    save(tmp_path, 50)
    save(tmp_path, 100).write_bytes(b"")
    save(tmp_path, 60)
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["step-00000050", "step-00000060"]


def test_no_whole_one_left_stops(tmp_path: Path) -> None:
    """Starting over in silence would lose the run."""
    save(tmp_path, 1).write_bytes(b"")
    with pytest.raises(UserError, match="all checkpoints in"):
        load_newest(tmp_path, DEAF)


FULL = """
import resource, signal, sys, torch
from pathlib import Path
from reslab.errors import UserError
from reslab.training.checkpoint import Checkpoint, save_checkpoint
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
save_checkpoint(Path(sys.argv[1]), Checkpoint(1, {"a": torch.ones(10)}, {}))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    save_checkpoint(Path(sys.argv[1]), Checkpoint(2, {"a": torch.ones(100_000)}, {}))
except UserError as error:
    print(error)
"""


def test_a_write_that_finds_no_room_is_told_and_the_old_one_stays(tmp_path: Path) -> None:
    """Half-way through the file, by a real limit of the system: one sentence, the old checkpoint, nothing else."""
    done = subprocess.run([sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"cannot write \S+step-00000002\S+ File too large .*; free some space .*\n", done.stdout)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001.safetensors"]
    assert load_newest(tmp_path, STRICT) is not None


def test_a_place_that_became_read_only_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, and the old checkpoint is there."""
    save(tmp_path, 1)

    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(UserError, match=r"cannot write .*step-00000002.*Read-only file system; choose"):
        save(tmp_path, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001.safetensors"]
