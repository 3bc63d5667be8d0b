"""Paired differences, against scipy's own tests and by hand."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reslab.report.significance import pair

ERRORS = st.floats(0, 100).map(lambda error: round(error, 2))


@given(values=st.lists(st.tuples(ERRORS, ERRORS), min_size=2, max_size=8))
def test_the_tests_are_scipys(values: list[tuple[float, float]]) -> None:
    """Its paired t-test with its interval, and a sign-flip test that counts every flip."""
    one, other = ({seed: value[side] for seed, value in enumerate(values)} for side in (0, 1))
    found = pair(one, other)
    assert found is not None
    differences = [b - a for a, b in values]
    flipped = [
        abs(sum(sign * difference for sign, difference in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(values))
    ]
    assert found.sign_flip_p == sum(size >= abs(sum(differences)) - 1e-7 for size in flipped) / len(flipped)
    if max(differences) - min(differences) < 1e-6:
        assert found.interval is found.t_test_p is None
        return
    expected = stats.ttest_rel([b for _, b in values], [a for a, _ in values])
    assert found.t_test_p == pytest.approx(expected.pvalue, rel=1e-6, abs=1e-12)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval(0.95)), rel=1e-6, abs=1e-6)


def test_only_common_seeds_are_paired() -> None:
    """In their order; the mean is over them."""
    found = pair({1: 8.0, 2: 9.0, 3: 7.0}, {3: 6.0, 4: 1.0, 1: 7.5})
    assert found is not None
    assert (found.seeds, found.differences, found.mean) == ((1, 3), (-0.5, -1.0), -0.75)
    assert pair({1: 8.0}, {2: 7.0}) is None


def test_one_seed_has_no_significance() -> None:
    """A difference, and nothing else."""
    found = pair({1: 8.0}, {1: 7.0})
    assert found is not None
    assert (found.mean, found.interval, found.t_test_p, found.sign_flip_p) == (-1.0, None, None, None)


def test_rounding_does_not_tip_the_count() -> None:
    """Differences that add up to nothing but for rounding lie as far from zero as every flip of them."""
    found = pair({1: 0.0, 2: 0.0, 3: 0.0}, {1: 0.1, 2: 0.2, 3: -0.3})
    assert found is not None
    assert found.sign_flip_p == 1.0


def test_many_seeds_are_not_flipped() -> None:
    """Beyond sixteen the t-test stands alone."""
    found = pair(dict.fromkeys(range(17), 0.0), {seed: seed + 1.0 for seed in range(17)})
    assert found is not None
    assert found.sign_flip_p is None
    assert found.t_test_p is not None
