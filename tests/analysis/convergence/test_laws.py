"""Laws fitted to curves whose constants are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import curve_fit

from reslab.analysis.convergence.laws import LAWS, LONGEST, Fit, LawName, fit_law, held_out_error, resample

TIMES = np.arange(500.0, 32000, 1000)


def curve(law: LawName, floor: float, amplitude: float, rate: float) -> np.ndarray:
    return floor + amplitude * LAWS[law].decay(np.array(rate), TIMES / TIMES[-1])


@pytest.mark.parametrize(("law", "most"), [("exponential", 6), ("power", 1.5)])
@settings(max_examples=20)
@given(st.floats(0, 10), st.floats(1, 50), st.floats(0.05, 1))
def test_known_constants_are_found(law: LawName, most: float, floor: float, amplitude: float, rate: float) -> None:
    """Without noise, to a hundredth, and the curve to a ten-thousandth of its height."""
    values = curve(law, floor, amplitude, rate * most)
    fit = fit_law(law, TIMES, values[None])
    assert fit.rate[0] == pytest.approx(rate * most, rel=0.01)
    assert fit.floor[0] == pytest.approx(floor, abs=0.01 * values[0])
    assert np.allclose(fit.values(TIMES)[0], values, atol=1e-4 * values[0], rtol=0)
    assert fit.determined[0]


@pytest.mark.parametrize("law", LAWS)
def test_noisy_curves_are_fitted_as_scipy_does(law: LawName) -> None:
    """The same least squares from a good start, or better."""
    noisy = curve(law, 5, 20, 1.5) + np.random.default_rng(1).normal(0, 0.2, len(TIMES))
    fit = fit_law(law, TIMES, noisy[None])
    known, time = LAWS[law], TIMES / TIMES[-1]
    found, _ = curve_fit(lambda t, c, a, r: c + a * known.decay(r, t), time, noisy, p0=(5, 20, 1.5))
    theirs = float(((found[0] + found[1] * known.decay(found[2], time) - noisy) ** 2).sum())
    ours = float(((fit.values(TIMES)[0] - noisy) ** 2).sum())
    assert ours == pytest.approx(theirs, rel=1e-4)
    assert (fit.floor[0], fit.amplitude[0], fit.rate[0]) == pytest.approx(tuple(found), rel=5e-3)


def test_no_floor_is_below_zero_and_no_curve_rises() -> None:
    """A curve that heads below zero has the floor zero; a rising one is flat at its mean, and tells no rate."""
    fit = fit_law("exponential", TIMES, np.stack([40 - TIMES / 1000, 1 + TIMES / 1000]))
    assert fit.floor[0] == 0 and fit.amplitude[0] > 0
    assert fit.amplitude[1] == 0 and fit.floor[1] == pytest.approx((1 + TIMES / 1000).mean())
    assert not fit.determined[1]


def test_when_a_value_is_reached() -> None:
    """As the law says it; never, where the floor is above, or it takes more than a billion iterations."""
    fit = fit_law("exponential", TIMES, curve("exponential", 5, 20, 4)[None])
    (time,) = fit.reaches(6)
    assert fit.values(np.array([time]))[0, 0] == pytest.approx(6)
    assert time == pytest.approx(TIMES[-1] * np.log(20) / 4, rel=1e-3)
    assert fit.reaches(4.9)[0] == np.inf and fit.reaches(100)[0] == 0
    one = np.ones(1)
    slow = Fit("power", 1000.0, floor=0 * one, amplitude=one, rate=0.1 * one)
    assert slow.reaches(0.5)[0] == pytest.approx(1000 * 2**10)
    assert slow.reaches(0.01)[0] == np.inf and LONGEST < 1000 * 100**10
    flat = Fit("power", 1000.0, floor=one, amplitude=0 * one, rate=one)
    assert flat.reaches(2)[0] == 0 and flat.reaches(0.5)[0] == np.inf


@pytest.mark.parametrize("block", [1, 4])
def test_intervals_hold_the_truth_about_as_often_as_they_say(block: int) -> None:
    """Of 60 noisy curves the 90 % interval of the rate holds the true one in most."""
    numbers, held = np.random.default_rng(0), 0
    for index in range(60):
        noisy = curve("exponential", 5, 20, 4) + numbers.normal(0, 0.3, len(TIMES))
        fit = fit_law("exponential", TIMES, noisy[None])
        again = resample(fit, TIMES, noisy, resamples=100, block=block, seed=index)
        low, high = np.quantile(again.rate, [0.05, 0.95])
        held += low < 4 < high
    assert 44 <= held <= 60


def test_resamples_are_the_same_for_the_same_seed() -> None:
    """And others for another."""
    noisy = curve("power", 5, 20, 1) + np.random.default_rng(0).normal(0, 0.3, len(TIMES))
    fit = fit_law("power", TIMES, noisy[None])
    one, same, other = (resample(fit, TIMES, noisy, resamples=20, block=4, seed=seed).rate for seed in (0, 0, 1))
    assert np.array_equal(one, same) and not np.array_equal(one, other)


def test_the_right_law_predicts_the_end() -> None:
    """The wrong one is far off, although it was fitted to the same beginning."""
    values = curve("power", 5, 20, 0.7)
    assert held_out_error("power", TIMES, values) < 0.01 < held_out_error("exponential", TIMES, values)
