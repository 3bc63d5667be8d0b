"""Degradation and its cure, small: plain and residual networks of three depths on the embedded digits.

The paper's Figs. 1, 6 and 7 in two minutes on a laptop: deeper plain networks train worse, deeper residual ones do
not, and respond less. A reduced setting by nature: of the paper's effects it shows what such small networks have.
"""

import itertools
from dataclasses import dataclass

from reslab.data.dataset import Dataset
from reslab.spec import find
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial

DEPTHS = (8, 20, 56)
# Percentage points that the training error must rise, or may at most rise, from the shallowest network to the deepest.
RISE, NO_RISE = 5.0, 1.0
# By how much two mean responses may differ and still count as equal.
NO_EXCESS_PERCENT = 1.0


@dataclass(frozen=True)
class Finding:
    """What was seen of one kind of network, in a sentence, and whether it is what the paper saw."""

    sentence: str
    as_in_the_paper: bool


def degradation_trials(digits: Dataset, *, seed: int = 0) -> dict[tuple[str, int], Trial]:
    """Return the six trials by kind (plain, resnet) and depth."""
    size = {"channels": 1, "input_size": digits.side, "classes": len(digits.class_names)}
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


def judge_degradation(training_errors: dict[tuple[str, int], float]) -> list[Finding]:
    """Compare training errors over depth: plain ones should rise, residual ones should not."""
    plain, residual = ([training_errors[kind, depth] for depth in DEPTHS] for kind in ("plain", "resnet"))
    rises, stays = plain[-1] - plain[0] > RISE, residual[-1] - residual[0] < NO_RISE
    shown = [" → ".join(f"{error:.2f}" for error in errors) for errors in (plain, residual)]
    return [
        Finding(f"plain: training error {shown[0]} %: {'rises' if rises else 'does not rise'} with depth", rises),
        Finding(f"residual: training error {shown[1]} %: {'does not rise' if stays else 'rises'} with depth", stays),
    ]


def judge_responses(mean_std: dict[tuple[str, int], float]) -> list[Finding]:
    """Compare mean layer responses: residual ones should be smaller than plain ones, and fall with depth (Fig. 7)."""
    plain, residual = ([mean_std[kind, depth] for depth in DEPTHS] for kind in ("plain", "resnet"))
    excess_percent = [100 * (ours / theirs - 1) for ours, theirs in zip(residual, plain, strict=True)]
    told = ", ".join(f"{excess:+.1f} % at {depth}" for depth, excess in zip(DEPTHS, excess_percent, strict=True))
    smaller = max(excess_percent) < NO_EXCESS_PERCENT and excess_percent[-1] < -NO_EXCESS_PERCENT
    falls = all(deep < shallow for shallow, deep in itertools.pairwise(residual))
    shown = " → ".join(f"{std:.3f}" for std in residual)
    return [
        Finding(f"residual against plain: mean response {told} layers", smaller),
        Finding(f"residual: mean response {shown}: {'falls' if falls else 'does not fall'} with depth", falls),
    ]
