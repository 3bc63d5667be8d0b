"""Do gradients vanish, shatter or stay healthy with batch norm? At the initialization, and trained."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tools.questions.asked import NETWORKS, Asked, Later
from tools.questions.question import Answer, Material, Question, draw_views, panel_title, say_images, tabulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEEDS = (0, 1, 2)


def _ends(found: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return the norms of the first layer and of the last convolution, and the cosine of neighbours at the logits."""
    path = [layer for layer in found["layers"] if not layer["beside"]]
    return path[0]["norm"]["value"], path[-2]["norm"]["value"], found["depths"][-1]["neighbours"]["value"]


def _tell(material: Material) -> Answer:
    *drawn, trained = material.read
    ends = {network: [_ends(found[network]) for found in drawn] for network in NETWORKS}
    ratios = {network: statistics.mean(first / last for first, last, _ in ends[network]) for network in NETWORKS}
    cosines = {network: [cosine for *_, cosine in ends[network]] for network in NETWORKS}
    rows = {
        network: (
            " ".join(f"{first:.3g}" for first, *_ in ends[network]),
            " ".join(f"{last:.3g}" for _, last, _ in ends[network]),
            " ".join(f"{cosine:.2f}" for cosine in cosines[network]),
            *[f"{value:.3g}" for value in _ends(trained[network])[:2]],
            f"{_ends(trained[network])[2]:.2f}",
        )
        for network in NETWORKS
    }
    heads = ["first layer", "last convolution", "neighbours"]
    return Answer(
        found=(
            "**They do not vanish; in deep plain nets they explode towards the input and shatter.** At the "
            f"initialization the gradient of the first layer of plain-56 is {ratios['plain-56']:,.0f} times as long as "
            f"that of its last convolution (plain-20: {ratios['plain-20']:.1f}, ResNet-56: {ratios['resnet-56']:.1f}), "
            "and gradients with respect to neighbouring inputs have a cosine of "
            f"{statistics.mean(cosines['plain-56']):.2f} at the logits of plain-56, of "
            f"{statistics.mean(cosines['resnet-56']):.2f} in ResNet-56."
        ),
        sure=(
            f"{say_images(trained)} in {trained['plain-20']['batches']} batches, batch norm with the statistics of each; "
            f"{len(SEEDS)} draws of the initialization, each in the table, but one trained network each."
        ),
        table=tabulate([*(f"{head}, begun" for head in heads), *(f"{head}, trained" for head in heads)], rows),
    )


def _draw(material: Material) -> Figure:
    return draw_views(material.read[0], "gradients", ("norm", "neighbours"))


QUESTION = Question(
    name="gradients",
    title=panel_title("gradients"),
    tell=_tell,
    draw=_draw,
    figure="says-gradients",
    caption="Norms by layer and cosines of neighbouring inputs by depth, at the initialization of seed 0",
    asked=(
        *(
            Asked(instrument="gradients", settings={"at": "initialization", "images": 512, "seed": seed})
            for seed in SEEDS
        ),
        Asked(instrument="gradients", settings={"images": 512}),
    ),
    later=(
        Later(
            "along the training",
            (
                "reslab train data=cifar10 network=plain-56 --snapshots 0.01,0.1,0.5",
                "reslab analyze gradients RUN@640 RUN@6400 RUN@32000",
            ),
            "cifar10/*/analysis/gradients*@*.json",
        ),
    ),
)
