"""Phases of a constant learning rate, as logs have them."""

from __future__ import annotations

import math

import numpy as np

from reslab.analysis.convergence.phases import find_phases

LOG = [{"step": 10 * n, "learning_rate": 0.1 if n <= 6 else 0.01, "train_loss": 1 / n} for n in range(1, 11)]


def test_phases_end_where_the_rate_changes() -> None:
    """Each begins with the last iteration of the one before; short ones are left out."""
    first, second = find_phases(LOG, least=4)
    assert (first.start, first.stop, first.iterations, len(first.entries)) == (0, 60, 60, 6)
    assert (second.start, second.stop, second.learning_rate) == (60, 100, 0.01)
    assert [phase.start for phase in find_phases(LOG, least=5)] == [0]
    assert find_phases([], least=1) == []


def test_rounding_is_no_change() -> None:
    """0.1 * 0.1 is not quite 0.01."""
    log = [*LOG[:6], *[entry | {"learning_rate": 0.1 * 0.1 if n % 2 else 0.01} for n, entry in enumerate(LOG[6:])]]
    assert len(find_phases(log, least=1)) == 2


def test_times_are_the_middle_of_what_was_averaged() -> None:
    """From the phase's beginning, whose first part is left out, and so is what is no number."""
    times, values = find_phases(LOG, least=1)[1].curve("train_loss", skip=0.2)
    assert times.tolist() == [15, 25, 35]
    assert np.allclose(values, [1 / 8, 1 / 9, 1 / 10])
    log = [entry | ({"train_loss": math.nan} if entry["step"] == 80 else {}) for entry in LOG]
    assert find_phases(log, least=1)[1].curve("train_loss", skip=0)[0].tolist() == [5, 25, 35]
    assert len(find_phases(log, least=1)[0].curve("other", skip=0)[0]) == 0
