"""Schedules."""

from __future__ import annotations

import pytest

from reslab.errors import UserError
from reslab.spec.recipe import find_recipe
from reslab.training.schedule import is_warm, learning_rate, read_snapshots


def test_the_trace_of_110_layers() -> None:
    """0.01 until the error falls below 80 %, then 0.1 to 32k, 0.01 to 48k, 0.001 to 64k."""
    recipe = find_recipe("cifar-paper-110")
    warmed_at = 400
    trace = [learning_rate(recipe, step, warmed_at=warmed_at if step >= warmed_at else None) for step in range(64_000)]
    changes = [0, *[step for step in range(1, 64_000) if trace[step] != trace[step - 1]]]
    assert changes == [0, 400, 32_000, 48_000]
    assert [trace[step] for step in changes] == pytest.approx([0.01, 0.1, 0.01, 0.001])


def test_warm_up_waits_for_a_whole_window() -> None:
    """So many iterations below 80 % on average, and not one less."""
    recipe = find_recipe("cifar-paper-110", {"warmup.window": 50})
    assert not is_warm(recipe, [10.0] * 49)
    assert not is_warm(recipe, [80.0] * 50)
    assert is_warm(recipe, [90.0] * 500 + [79.9] * 50)
    assert is_warm(find_recipe("cifar-paper"), [])


def test_a_late_warm_up_joins_the_schedule() -> None:
    """If it ends after a drop, the rate is the dropped one."""
    recipe = find_recipe("cifar-paper-110", {"iterations": 100})
    assert learning_rate(recipe, 60, warmed_at=None) == 0.01
    assert learning_rate(recipe, 60, warmed_at=55) == pytest.approx(0.01)
    assert learning_rate(recipe, 80, warmed_at=55) == pytest.approx(0.001)


@pytest.mark.parametrize("kind", ["steps", "cosine", "constant", "one-cycle"])
def test_a_warm_up_by_iterations_rises_to_the_rate_of_any_schedule(kind: str) -> None:
    """In a straight line from its fraction; from its last iteration on the rate is the schedule's."""
    schedule = {"iterations": 100, "schedule.kind": kind}
    plain = find_recipe("cifar-paper", schedule)
    warming = find_recipe("cifar-paper", schedule | {"warmup.iterations": 10, "warmup.initial": 0.2})
    shares = [
        learning_rate(warming, step, warmed_at=None) / learning_rate(plain, step, warmed_at=None) for step in range(100)
    ]
    assert shares[:11] == pytest.approx([0.2 + 0.08 * step for step in range(11)])
    assert set(shares[10:]) == {1.0}


def test_cosine_and_constant() -> None:
    """From the full rate to none or the final one, and not at all."""
    cosine = find_recipe("cifar-paper", {"schedule.kind": "cosine"})
    assert learning_rate(cosine, 0, warmed_at=None) == pytest.approx(0.1)
    assert learning_rate(cosine, 32_000, warmed_at=None) == pytest.approx(0.05)
    higher = find_recipe("cifar-paper", {"schedule.kind": "cosine", "schedule.final": 0.1})
    assert learning_rate(higher, 32_000, warmed_at=None) == pytest.approx(0.055)
    assert learning_rate(higher, 63_999, warmed_at=None) == pytest.approx(0.01)
    assert learning_rate(find_recipe("cifar-paper", {"schedule.kind": "constant"}), 63_999, warmed_at=None) == 0.1


def one_cycle(**fields: object) -> list[float]:
    changes = {"iterations": 100, "schedule.kind": "one-cycle"}
    recipe = find_recipe("cifar-paper", changes | {f"schedule.{name}": value for name, value in fields.items()})
    return [learning_rate(recipe, step, warmed_at=None) for step in range(100)]


def test_one_cycle_rises_and_falls_in_straight_lines() -> None:
    """Up for a fifth, down for the rest, at the middle of each iteration; no iteration is without a rate."""
    rates = one_cycle()
    assert rates[:20] == pytest.approx([0.1 * (step + 0.5) / 20 for step in range(20)])
    assert rates[20:] == pytest.approx([0.1 * (99.5 - step) / 80 for step in range(20, 100)])
    assert min(rates) > 0


@pytest.mark.parametrize("fall", ["linear", "cosine"])
def test_one_cycle_ends_where_it_is_told(fall: str) -> None:
    """Near the full rate after the rise, half way down in the middle of the fall, near the final one at the end."""
    rates = one_cycle(fall=fall, final=0.2, rise=0.0)
    assert rates[0] == pytest.approx(0.1, rel=0.01)
    assert rates[49] + rates[50] == pytest.approx(0.1 * (1 + 0.2))
    assert rates[-1] == pytest.approx(0.02, rel=0.05)
    assert rates == sorted(rates, reverse=True)
    linear_first_quarter = 0.1 * (1 - 0.8 * 0.255)
    assert (rates[25] > linear_first_quarter + 0.005) == (fall == "cosine")


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("1000,2000", {1000, 2000}),
        ("1", {1}),
        ("0,100", {0, 100}),
        (" 7 , 64000", {7, 64_000}),
        ("0.1,0.5,1", {6400, 32_000, 64_000}),
        ("1.0", {64_000}),
        (".25,0.25", {16_000}),
    ],
)
def test_snapshots_are_steps_or_parts_of_the_run(text: str, steps: set[int]) -> None:
    """A dot anywhere makes parts of all of them."""
    assert read_snapshots(text, 64_000) == steps


@pytest.mark.parametrize("text", ["", "64001", "1.5", "0.5,1000", "-1", "every:10", "1e3", "1,,2", "nan", "."])
def test_other_snapshots_are_refused(text: str) -> None:
    """What is no number, and what no iteration is."""
    with pytest.raises(UserError, match=r"snapshots are .* give steps from 0 to 64000"):
        read_snapshots(text, 64_000)
