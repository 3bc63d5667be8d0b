"""Do shortcuts make responses smaller? By the runs of Fig. 7, seeds and all."""

from __future__ import annotations

import statistics
from typing import Any

from reslab.numbers import count
from reslab.report.groups import Group, spread
from reslab.report.notation import spread_words
from tools.questions.asked import NETWORKS
from tools.questions.question import Answer, Material, Question, panel_title, tabulate


def list_medians(group: Group) -> list[float]:
    """Return each seed's median over its layers."""
    return [statistics.median(mark.value for mark in found.marks) for found in group.found("responses")]


def _tell(material: Material) -> Answer:
    medians = {network: list_medians(material.groups[network]) for network in NETWORKS}
    means = {network: statistics.mean(values) for network, values in medians.items()}
    (images,) = {found.images for network in NETWORKS for found in material.groups[network].found("responses")}
    rows = {
        network: (
            str(len(values)),
            spread_words(spread(values)),
            spread_words(spread([max(mark.value for mark in one.marks) for one in _found(material, network)])),
        )
        for network, values in medians.items()
    }
    return Answer(
        found=(
            "**Yes, and the deeper the residual net, the smaller.** The response of the median layer has a standard "
            f"deviation of {means['plain-20']:.2f} in plain-20 and {means['plain-56']:.2f} in plain-56, but of "
            f"{means['resnet-20']:.2f}, {means['resnet-56']:.2f} and {means['resnet-110']:.2f} in ResNet-20, 56, 110."
        ),
        sure=(
            f"All {count(images)} test images and {min(map(len, medians.values()))} to "
            f"{max(map(len, medians.values()))} seeds of each; no seed of ResNet-20 is above "
            f"{max(medians['resnet-20']):.2f} and none of plain-20 below {min(medians['plain-20']):.2f}, nor, with 56 "
            f"layers, above {max(medians['resnet-56']):.2f} and below {min(medians['plain-56']):.2f}. It holds of the "
            "median: the largest response grows with depth in both."
        ),
        table=tabulate(("seeds", "median layer, mean ± std", "largest layer, mean ± std"), rows),
    )


def _found(material: Material, network: str) -> list[Any]:
    return material.groups[network].found("responses")


QUESTION = Question(
    name="responses",
    title=panel_title("responses"),
    tell=_tell,
    figure="fig-7",
    caption="Standard deviations of responses, in the order of the layers and sorted, as in Fig. 7",
    commands=("reslab reproduce fig-7 --from results",),
    records=("The runs are listed in [Runs](runs.md), the verdicts in [Results](results.md#fig-7).",),
)
