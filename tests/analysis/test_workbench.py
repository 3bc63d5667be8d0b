"""Parts of a measurement outlive whoever is killed, and belong to that measurement alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reslab.analysis.workbench import Workbench

KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from reslab.analysis.workbench import Workbench
bench = Workbench(place=Path(sys.argv[1]), about={"settings": {"seed": 1}})
bench.keep("first", {"sums": np.arange(3.0), "done": np.array(2)})
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_part_outlives_a_killed_process(tmp_path: Path) -> None:
    """It is read as it was written, by whoever measures the same."""
    place = tmp_path / "run" / "analysis" / "curvature"
    done = subprocess.run([sys.executable, "-c", KILLED, str(place)], env=os.environ, check=False)
    assert done.returncode == -signal.SIGKILL
    part = Workbench(place=place, about={"settings": {"seed": 1}}).resume("first")
    assert part is not None
    assert part["sums"].tolist() == [0, 1, 2]
    assert int(part["done"]) == 2
    assert Workbench(place=place, about={"settings": {"seed": 1}}).resume("second") is None


def test_parts_of_another_measurement_are_thrown_away(tmp_path: Path) -> None:
    """As soon as there is a part of this one; they are never taken for its own."""
    one, other = (Workbench(place=tmp_path / "curvature", about={"subject": name}) for name in "ab")
    one.keep("first", {"sums": np.ones(2)})
    one.keep("second", {"sums": np.ones(2)})
    assert other.resume("first") is None
    other.keep("first", {"sums": np.zeros(2)})
    assert one.resume("first") is one.resume("second") is None
    assert other.resume("second") is None


def test_a_damaged_part_is_none(tmp_path: Path) -> None:
    """It is measured again."""
    bench = Workbench(place=tmp_path / "curvature")
    bench.keep("first", {"sums": np.ones(2)})
    assert bench.parts is not None
    (bench.parts / "first.npz").write_bytes(b"PK")
    assert bench.resume("first") is None


def test_arrays_are_stored_and_parts_removed(tmp_path: Path) -> None:
    """The same arrays are the same bytes; no array holds objects."""
    bench = Workbench(place=tmp_path / "surface-1f0e")
    bench.keep("first", {"sums": np.ones(2)})
    bench.store({"losses": np.arange(4.0).reshape(2, 2)})
    before = (tmp_path / "surface-1f0e.npz").read_bytes()
    bench.store({"losses": np.arange(4.0).reshape(2, 2)})
    assert (tmp_path / "surface-1f0e.npz").read_bytes() == before
    with np.load(tmp_path / "surface-1f0e.npz", allow_pickle=False) as stored:
        assert stored["losses"].tolist() == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        bench.store({"names": np.array([None])})
    bench.clear()
    assert [path.name for path in tmp_path.iterdir()] == ["surface-1f0e.npz"]


def test_without_a_place_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same code measures weights that belong to no run."""
    monkeypatch.chdir(tmp_path)
    bench = Workbench()
    bench.keep("first", {"sums": np.ones(2)})
    bench.store({"sums": np.ones(2)})
    bench.clear()
    assert bench.resume("first") is None
    assert not list(tmp_path.iterdir())
