"""The demonstration's trials and verdicts."""

from __future__ import annotations

from reslab.data.digits import load_digits
from reslab.experiments.degradation import degradation_trials, judge_degradation


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
