"""Which lesions are drawn."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from reslab.analysis.lesions.plans import intact, kendall_tau, pairs, several, shuffles, singles


def test_single_lesions_change_one_block_each() -> None:
    """In order, and nothing else."""
    assert intact(3).changed == ()
    deleted = list(singles(3, "single"))
    assert [lesion.changed for lesion in deleted] == [(0,), (1,), (2,)]
    assert [place.deed for place in deleted[1].row] == ["run", "skip", "run"]
    assert [place.deed for place in next(singles(3, "reset")).row] == ["reset", "run", "run"]


def test_pairs_are_all_or_drawn_without_repeats() -> None:
    """Fifteen of six blocks; the same ones for the same seed."""
    assert [lesion.changed for lesion in pairs(6, 20, seed=0)] == list(itertools.combinations(range(6), 2))
    drawn = [lesion.changed for lesion in pairs(20, 30, seed=1)]
    assert len(set(drawn)) == 30
    assert drawn == [lesion.changed for lesion in pairs(20, 30, seed=1)]
    assert drawn != [lesion.changed for lesion in pairs(20, 30, seed=2)]
    assert pairs(20, 0, seed=1) == []


def test_several_are_so_many_at_a_time() -> None:
    """Each number as often, and never more than there are."""
    drawn = list(several(4, 9, 3, seed=0))
    assert [len(lesion.changed) for lesion in drawn] == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]
    assert [lesion.amount for lesion in drawn] == [len(lesion.changed) for lesion in drawn]


def test_exchanges_stay_within_groups() -> None:
    """Blocks outside keep their place; without groups of two there are none."""
    drawn = list(shuffles([[0, 1], [3, 4, 5]], 7, 4, 5, seed=0))
    assert [lesion.amount for lesion in drawn] == [amount for amount in (1, 2, 3, 4) for _ in range(5)]
    for lesion in drawn:
        order = lesion.order
        assert {order[0], order[1]} == {0, 1} and set(order[3:6]) == {3, 4, 5}
        assert (order[2], order[6]) == (2, 6) and lesion.changed == ()
    assert all(sum(place != block for block, place in enumerate(lesion.order)) == 2 for lesion in drawn[:5])
    assert list(shuffles([[0], [3]], 7, 4, 5, seed=0)) == []


@given(st.permutations(list(range(9))))
def test_tau_is_scipys(order: list[int]) -> None:
    """Kendall's tau of a permutation."""
    assert kendall_tau(order) == pytest.approx(kendalltau(range(9), order).statistic)


def test_a_single_block_keeps_its_order() -> None:
    """There is nothing to invert."""
    assert kendall_tau([0]) == 1
