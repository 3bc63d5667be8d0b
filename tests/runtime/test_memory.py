"""Free memory, as the system tells it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reslab.runtime import memory
from reslab.runtime.memory import forget_peak_memory, free_memory, peak_memory


def test_a_container_may_have_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is available, or what the container has left, if that is less."""
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:  4000 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CONTAINER", tmp_path)
    assert free_memory("cpu") == 4000 * 1024
    (tmp_path / "memory.current").write_text("1000\n")
    for limit, free in (("max", 4000 * 1024), ("1500", 500), ("900", 0), (str(2**40), 4000 * 1024)):
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        assert free_memory("cpu") == free


def test_files_that_were_read_do_not_fill_a_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their pages are counted as used, and given back when they are needed; nothing is added where that is not told."""
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:  4000 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CONTAINER", tmp_path)
    (tmp_path / "memory.max").write_text("9500\n")
    (tmp_path / "memory.current").write_text("9400\n")
    assert free_memory("cpu") == 100
    told = {"anon 700\nactive_file 300\n": 100, "inactive_file many\n": 100, "no pairs here\n": 100}
    for text, free in (told | {"anon 700\ninactive_file 8000\nactive_file 300\n": 8100}).items():
        (tmp_path / "memory.stat").write_text(text)
        assert free_memory("cpu") == free
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:  4 kB\n")
    assert free_memory("cpu") == 4096


def test_this_machine_has_some() -> None:
    """Whatever the system tells or does not tell."""
    assert free_memory("cpu") > 2**20


def test_a_peak_can_be_forgotten() -> None:
    """What was held and given back counts until then, and no longer."""
    forget_peak_memory("cpu")
    before = peak_memory("cpu")
    held = np.ones(2**28, dtype=np.uint8)
    del held
    assert peak_memory("cpu") > before + 2**27  # the kernel counts roughly
    forget_peak_memory("cpu")
    assert peak_memory("cpu") < before + 2**27
