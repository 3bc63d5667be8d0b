"""What is told of the curves of one run."""

from __future__ import annotations

import numpy as np
import pytest

from reslab.analysis.convergence.fitting import fit_phases
from reslab.analysis.convergence.settings import Convergence

SETTINGS = Convergence(resamples=60)


def make_log(floor: float = 5.0, per_thousand: float = 0.2, *, noise: float = 0.05) -> list[dict[str, float]]:
    """32 tests of an exponential decay, then 16 of another at a tenth of the rate."""
    numbers = np.random.default_rng(0)
    log = []
    for n in range(48):
        rate, since, bottom = (0.1, n + 0.5, floor) if n < 32 else (0.01, n - 31.5, floor / 4)
        value = bottom + 30 * np.exp(-per_thousand * since) + numbers.normal(0, noise)
        log.append({"step": 1000 * (n + 1), "learning_rate": rate, "train_loss": value})
    return log


def test_phases_have_their_rates_and_floors() -> None:
    """In 1,000 iterations, within their intervals."""
    first, second = fit_phases(make_log(), "train_loss", SETTINGS)
    assert (first["from_step"], first["to_step"], second["to_step"]) == (0, 32000, 48000)
    assert first["better"] == second["better"] == "exponential"
    for found, floor in ((first, 5), (second, 1.25)):
        law = found["laws"]["exponential"]
        assert law["rate_low"] < law["rate"] < law["rate_high"] and law["rate"] == pytest.approx(0.2, rel=0.05)
        assert law["floor_low"] < law["floor"] < law["floor_high"] and law["floor"] == pytest.approx(floor, abs=0.3)
        assert law["residual"] < 0.1 and law["determined"]
        assert "reach" not in law
    assert first["last"] == pytest.approx(5.1, abs=0.1)


def test_what_is_not_reached_is_said() -> None:
    """Above the floor, when; below it, None, and in how many resamples it is reached."""
    above, _ = fit_phases(make_log(), "train_loss", SETTINGS, target=lambda phase: 6.0)
    reach = above["laws"]["exponential"]["reach"]
    assert reach["low"] < reach["iterations"] < reach["high"] and reach["reached_share"] == 1
    assert reach["iterations"] == pytest.approx(1000 * np.log(30) / 0.2, rel=0.02)
    below, other = fit_phases(
        make_log(), "train_loss", SETTINGS, target=lambda phase: 4.0 if phase.learning_rate == 0.1 else None
    )
    reach = below["laws"]["exponential"]["reach"]
    assert reach["iterations"] is reach["high"] is None and reach["reached_share"] == 0
    assert "reach" not in other["laws"]["power"]


def test_too_few_tests_are_not_fitted() -> None:
    """A law of three constants goes through any three points."""
    log = make_log()[:9]
    (found,) = fit_phases(log, "train_loss", Convergence(skip=0.6))
    assert found["laws"] == {} and found["better"] is None and found["tests"] == 4
    assert fit_phases(log, "train_loss", Convergence(least=10)) == []
