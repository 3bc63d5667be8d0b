"""The model of docs/inside/scaling.md: bytes counted by hand, limits that must hold, and the page's own tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.scaling import (
    Cluster,
    all_reduce_seconds,
    bytes_table,
    efficiency,
    ring_seconds,
    step_bytes,
    time_table,
)

PAGE = Path(__file__).parent.parent / "docs" / "inside" / "scaling.md"


def test_the_bytes_are_those_of_gradients_and_statistics() -> None:
    """ResNet-50: 25,557,032 parameters, and 26,560 normalized channels of a mean and a variance each."""
    assert step_bytes("resnet-50") == 4 * 25_557_032 + 8 * (2 * 26_560 + 2)


def test_a_ring_tends_to_twice_the_bytes() -> None:
    """Alone nothing is sent; two send everything once; many send it twice."""
    assert ring_seconds(1e9, 1, bandwidth=1e9, latency=1) == 0
    assert ring_seconds(1e9, 2, bandwidth=1e9, latency=0) == pytest.approx(1)
    assert ring_seconds(1e9, 1_000, bandwidth=1e9, latency=0) == pytest.approx(2, rel=2e-3)


def test_machines_share_what_goes_between_them() -> None:
    """Inside one machine the slow links do not count; beyond, each GPU sends its share of the bytes by its own."""
    slow = Cluster(between=1.0)
    assert all_reduce_seconds(1e9, 8, slow) == all_reduce_seconds(1e9, 8, Cluster())
    still = Cluster(inside=1e30, inside_latency=0, between_latency=0)
    assert all_reduce_seconds(8e9, 16, still) == pytest.approx(1e9 / still.between)
    assert efficiency(1.0, 0.0, 8, still) == 1
    assert efficiency(1.0, 1e9, 512, Cluster()) < efficiency(1.0, 1e9, 64, Cluster()) < 1


def test_the_page_shows_what_the_script_prints() -> None:
    """Line by line."""
    lines = PAGE.read_text().splitlines()
    for table in (bytes_table(), time_table()):
        start = lines.index(table[0])
        assert lines[start : start + len(table)] == table
