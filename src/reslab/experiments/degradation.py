"""Degradation and its cure, small: plain and residual networks of three depths on the embedded digits.

The paper's Fig. 1 and Fig. 6 in two minutes on a laptop: deeper plain networks train worse, deeper residual ones do
not. A reduced setting by nature: it shows the effect, not the paper's numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from reslab.data.dataset import Dataset
from reslab.spec import find
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial

DEPTHS = (8, 20, 56)
# Percentage points that the training error must rise, or may at most rise, from the shallowest network to the deepest.
RISE, NO_RISE = 5.0, 1.0


@dataclass(frozen=True)
class Verdict:
    """What was seen of one kind of network, in a sentence, and whether it is what the paper saw."""

    sentence: str
    as_in_the_paper: bool


def degradation_trials(digits: Dataset, *, seed: int = 0) -> dict[tuple[str, int], Trial]:
    """Return the six trials by kind (plain, resnet) and depth."""
    size = {"channels": 1, "input_size": digits.train.images.shape[-1], "classes": len(digits.class_names)}
    return {
        (kind, depth): Trial(
            data=DataSpec(name=digits.name, fingerprint=digits.fingerprint),
            network=find(f"cifar-{kind}-{depth}", size),
            recipe=find_recipe("digits"),
            seed=seed,
        )
        for kind in ("plain", "resnet")
        for depth in DEPTHS
    }


def judge_degradation(train_error_percent: dict[tuple[str, int], float]) -> list[Verdict]:
    """Compare training errors over depth: plain ones should rise, residual ones should not."""
    plain, residual = ([train_error_percent[kind, depth] for depth in DEPTHS] for kind in ("plain", "resnet"))
    rises, stays = plain[-1] - plain[0] > RISE, residual[-1] - residual[0] < NO_RISE
    shown = [" → ".join(f"{error:.2f}" for error in errors) for errors in (plain, residual)]
    return [
        Verdict(f"plain: training error {shown[0]} %: {'rises' if rises else 'does not rise'} with depth", rises),
        Verdict(f"residual: training error {shown[1]} %: {'does not rise' if stays else 'rises'} with depth", stays),
    ]
