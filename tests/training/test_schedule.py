"""Schedules."""

from __future__ import annotations

import pytest

from reslab.spec.recipe import find_recipe
from reslab.training.schedule import crop_side, crop_stages, is_warm, learning_rate


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


def test_crops_grow_in_stages_of_equal_length() -> None:
    """Of 224 pixels in four stages from a half: 128, 160, 192, 224; the last iteration is always whole."""
    recipe = find_recipe("imagenet-modern", {"iterations": 10})
    assert [crop_side(recipe, step, whole=224) for step in range(10)] == [128] * 2 + [160] * 3 + [192] * 2 + [224] * 3
    for iterations in (1, 2, 3):  # fewer than stages
        assert crop_side(find_recipe("imagenet-modern", {"iterations": iterations}), iterations - 1, whole=224) == 224
    two = find_recipe("imagenet-modern", {"iterations": 10, "resizing.stages": 2, "resizing.initial": 0.75})
    assert crop_stages(two, whole=224) == [(0, 160), (5, 224)]
    assert [crop_side(find_recipe("imagenet-modern"), step, whole=100) for step in (0, 125_113)] == [64, 100]


@pytest.mark.parametrize("whole", [8, 100, 224])
def test_crops_are_whole_unless_they_are_to_grow(whole: int) -> None:
    """Whatever the size; and what is small already does not grow."""
    assert crop_stages(find_recipe("photos"), whole=whole) == [(0, whole)]
    assert {side for _, side in crop_stages(find_recipe("imagenet-modern"), whole=32)} == {32}
