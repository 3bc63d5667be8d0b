"""How long threads wait for a core is counted; what cannot be counted is no waiting."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reslab.runtime import cores
from reslab.runtime.cores import Waiting, measure_waiting


@pytest.fixture
def busy_core() -> Iterator[None]:
    """Another process computes on the one core that this thread may use."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    other = subprocess.Popen([sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None
        other.stdout.readline()  # it is on its way
        yield
    finally:
        other.kill()
        other.communicate()
        os.sched_setaffinity(0, allowed)


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this kernel does not count")
def test_a_core_that_is_shared_is_waited_for(busy_core: None) -> None:
    """Half of the time, of which a tenth of a second shows enough."""
    assert 0.25 < measure_waiting() < 1.5


def test_nothing_is_known_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without Linux's counts, or with none that can be read, nobody waits."""
    monkeypatch.setattr(cores, "THREADS", tmp_path / "none")
    assert measure_waiting(0.001) == 0.0
    monkeypatch.setattr(cores, "THREADS", tmp_path)
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "schedstat").write_text("")
    assert Waiting().share == 0.0


def test_the_thread_that_waited_longest_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All wait for that one; threads that began since count from nothing."""
    monkeypatch.setattr(cores, "THREADS", tmp_path)
    now = 10.0
    monkeypatch.setattr(cores.time, "monotonic", lambda: now)

    def wait(thread: str, nanoseconds: int) -> None:
        (tmp_path / thread).mkdir(exist_ok=True)
        (tmp_path / thread / "schedstat").write_text(f"5 {nanoseconds} 7\n")

    wait("1", 1_000_000_000)
    waiting = Waiting()
    now = 14.0
    wait("1", 2_000_000_000)
    wait("2", 3_000_000_000)
    assert waiting.share == 0.75
