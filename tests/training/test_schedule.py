"""Schedules."""

from __future__ import annotations

import pytest

from reslab.spec.recipe import find_recipe
from reslab.training.schedule import is_warm, learning_rate


def test_the_trace_of_110_layers() -> None:
    """0.01 until the error falls below 80 %, then 0.1 to 32k, 0.01 to 48k, 0.001 to 64k."""
    recipe = find_recipe("cifar-paper-110")
    warmed_at = 400
    trace = [learning_rate(recipe, step, warmed_at=warmed_at if step >= warmed_at else None) for step in range(64_000)]
    changes = [0, *[step for step in range(1, 64_000) if trace[step] != trace[step - 1]]]
    assert changes == [0, 400, 32_000, 48_000]
    assert [trace[step] for step in changes] == pytest.approx([0.01, 0.1, 0.01, 0.001])


def test_warm_up_waits_for_a_whole_window() -> None:
    """A hundred iterations below 80 % on average, and not one less."""
    recipe = find_recipe("cifar-paper-110")
    assert not is_warm(recipe, [10.0] * 99)
    assert not is_warm(recipe, [80.0] * 100)
    assert is_warm(recipe, [90.0] * 500 + [79.9] * 100)
    assert is_warm(find_recipe("cifar-paper"), [])


def test_a_late_warm_up_joins_the_schedule() -> None:
    """If it ends after a drop, the rate is the dropped one."""
    recipe = find_recipe("cifar-paper-110", {"iterations": 100})
    assert learning_rate(recipe, 60, warmed_at=None) == 0.01
    assert learning_rate(recipe, 60, warmed_at=55) == pytest.approx(0.01)
    assert learning_rate(recipe, 80, warmed_at=55) == pytest.approx(0.001)


def test_cosine_and_constant() -> None:
    """From the full rate to none, and not at all."""
    cosine = find_recipe("cifar-paper", {"schedule.kind": "cosine"})
    assert learning_rate(cosine, 0, warmed_at=None) == pytest.approx(0.1)
    assert learning_rate(cosine, 32_000, warmed_at=None) == pytest.approx(0.05)
    assert learning_rate(find_recipe("cifar-paper", {"schedule.kind": "constant"}), 63_999, warmed_at=None) == 0.1
