"""The demonstration's trials and verdicts."""

from __future__ import annotations

from reslab.data.arrays.digits import load_digits
from reslab.experiments.degradation import degradation_trials, judge_degradation, judge_responses


def errors(plain: list[float], residual: list[float]) -> dict[tuple[str, int], float]:
    depths = (8, 20, 56)
    return {("plain", depth): error for depth, error in zip(depths, plain, strict=True)} | {
        ("resnet", depth): error for depth, error in zip(depths, residual, strict=True)
    }


def test_twins_differ_in_their_shortcuts_alone() -> None:
    """One recipe, one seed, equal parameters; only the shortcuts differ."""
    trials = degradation_trials(load_digits())
    assert len(trials) == 6
    for (kind, depth), trial in trials.items():
        assert trial.network.depth == depth
        twin = trials["resnet" if kind == "plain" else "plain", depth]
        assert (trial.recipe, trial.seed, trial.data) == (twin.recipe, twin.seed, twin.data)
        assert trials["resnet", depth].network.plain() == trials["plain", depth].network  # pyright: ignore[reportAttributeAccessIssue]


def test_verdicts_are_honest() -> None:
    """What rises rises, and what was not seen is not claimed."""
    seen = judge_degradation(errors([1.0, 5.0, 42.0], [1.0, 0.6, 0.5]))
    assert [verdict.as_in_the_paper for verdict in seen] == [True, True]
    assert "1.00 → 5.00 → 42.00 %: rises" in seen[0].sentence
    unseen = judge_degradation(errors([5.0, 5.0, 5.0], [1.0, 2.0, 30.0]))
    assert [verdict.as_in_the_paper for verdict in unseen] == [False, False]
    assert "does not rise" in unseen[0].sentence
    assert "rises" in unseen[1].sentence


def test_verdicts_on_responses_are_honest() -> None:
    """Smaller at the greatest depth and larger at none, a percent apart; falling with depth or not."""
    for plain, residual, words, as_in_the_paper in (
        ([1.1, 1.2, 1.3], [1.0, 0.9, 0.8], "-9.1 % at 8, -25.0 % at 20, -38.5 % at 56 layers", [True, True]),
        ([1.0, 1.2, 0.9], [1.005, 0.9, 0.8], "+0.5 % at 8,", [True, True]),
        ([1.1, 1.2, 0.905], [1.0, 0.95, 0.9], "-0.6 % at 56 layers", [False, True]),
        ([0.9, 1.2, 1.3], [1.0, 0.9, 0.95], "+11.1 % at 8,", [False, False]),
    ):
        seen = judge_responses(errors(plain, residual))
        assert words in seen[0].sentence
        assert [verdict.as_in_the_paper for verdict in seen] == as_in_the_paper
