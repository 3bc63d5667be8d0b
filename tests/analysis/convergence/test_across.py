"""Runs side by side: rates against depth, and how long plain networks need."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import linregress
from tests.analysis.convergence.test_fitting import make_log

from reslab.analysis.convergence.across import Training, compare_trainings, fit_slope
from reslab.analysis.convergence.settings import Convergence

SETTINGS = Convergence(resamples=20)


def trainings() -> list[Training]:
    """Plain networks that are slower, and residual ones that are faster, the deeper they are."""
    made = []
    for depth in (20, 32, 44):
        for seed in (0, 1):
            plain = make_log(depth / 4, 0.3 * 0.9 ** (depth / 10), noise=0.01 + seed / 100)
            residual = make_log(2.0, 0.2 * 1.1 ** (depth / 10), noise=0.01 + seed / 100)
            made.append(Training(network=f"plain-{depth}", depth=depth, residual=False, log=plain))
            made.append(Training(network=f"resnet-{depth}", depth=depth, residual=True, log=residual))
    return made


def test_rates_fall_or_rise_with_depth() -> None:
    """By the factors that the curves were made with, in both phases."""
    first, second = compare_trainings(trainings(), "train_loss", SETTINGS)
    assert (first["learning_rate"], second["learning_rate"]) == (0.1, 0.01)
    for found in (first, second):
        assert found["law"] == "exponential"
        assert found["slopes"]["plain"]["factor_per_ten_layers"] == pytest.approx(0.9, rel=0.03)
        assert found["slopes"]["residual"]["factor_per_ten_layers"] == pytest.approx(1.1, rel=0.03)
        assert [row["network"] for row in found["networks"]][:3] == ["plain-20", "plain-32", "plain-44"]
        assert all(row["runs"] == row["with_rate"] == 2 for row in found["networks"])
    assert first["networks"][0]["floor"] == pytest.approx(5, abs=0.1)


def test_a_floor_above_the_twin_is_never_passed() -> None:
    """Each plain network against the residual one of its depth, by each law."""
    first, _ = compare_trainings(trainings(), "train_loss", SETTINGS)
    waits = {(wait["network"], wait["law"]): wait for wait in first["waits"]}
    assert set(waits) == {(f"plain-{depth}", law) for depth in (20, 32, 44) for law in ("exponential", "power")}
    never = waits["plain-44", "exponential"]
    assert never["iterations"] is None and never["runs_reaching"] == 0 and never["reached_share"] == 0
    assert never["phase_iterations"] == 32000


def test_a_plain_network_that_only_needs_longer_gets_there() -> None:
    """In as many iterations as its law says."""
    plain = Training(network="plain-20", depth=20, residual=False, log=make_log(0.0, 0.05, noise=0.01))
    twin = Training(network="resnet-20", depth=20, residual=True, log=make_log(2.0, 0.3, noise=0.01))
    first, _ = compare_trainings([plain, twin], "train_loss", SETTINGS)
    wait = next(wait for wait in first["waits"] if wait["law"] == "exponential")
    assert wait["iterations"] == pytest.approx(1000 * math.log(30 / wait["target"]) / 0.05, rel=0.02)
    assert wait["low"] <= wait["iterations"] <= wait["high"] and wait["reached_share"] == 1
    assert first["slopes"] == {}


def test_the_same_rate_after_another_is_another_phase() -> None:
    """What began with 0.01 is not compared with what came down to it; rounding makes no difference."""
    slow = [entry | {"learning_rate": 0.1 * 0.1} for entry in make_log()[:32]]
    began = Training(network="plain-20", depth=20, residual=False, log=slow)
    found = compare_trainings([*trainings()[:2], began], "train_loss", SETTINGS)
    told = [(phase["began_with"], phase["learning_rate"], len(phase["networks"])) for phase in found]
    assert told == [(0.1, 0.1, 2), (0.1, 0.01, 2), (pytest.approx(0.01), pytest.approx(0.01), 1)]


def test_slopes_are_scipys() -> None:
    """Student's interval; without three runs, or with one depth, there is none."""
    depths = [20, 20, 32, 44, 56]
    rates = np.exp(np.array([0.1, -0.1, 0.3, 0.2, 0.5])).tolist()
    found, theirs = fit_slope(depths, rates, confidence=0.95), linregress(depths, np.log(rates))
    assert found is not None
    assert found["factor_per_ten_layers"] == pytest.approx(math.exp(10 * theirs.slope))  # pyright: ignore[reportAttributeAccessIssue]
    width = 3.182446 * theirs.stderr  # pyright: ignore[reportAttributeAccessIssue]
    assert math.log(found["high"] / found["low"]) == pytest.approx(20 * width, rel=1e-5)
    assert fit_slope([20, 32], [1, 2], confidence=0.95) is None
    assert fit_slope([20, 20, 20], [1, 2, 3], confidence=0.95) is None
