"""Do gradients vanish, shatter or stay healthy with batch norm? At the initialization, and trained."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reslab.numbers import count
from tools.questions.asked import NETWORKS, Asked, Later
from tools.questions.question import Answer, Material, Question, draw_views, panel_title, say_images, tabulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEEDS = (0, 1, 2)


def find_ends(found: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return the norms of the first layer and of the last convolution, and the cosine of neighbours at the logits."""
    path = [layer for layer in found["layers"] if not layer["beside"]]
    return path[0]["norm"]["value"], path[-2]["norm"]["value"], found["depths"][-1]["neighbours"]["value"]


def _tell(material: Material) -> Answer:
    *drawn, trained = material.read
    ends = {network: [find_ends(found[network]) for found in drawn] for network in NETWORKS}
    ratios = {network: [first / last for first, last, _ in ends[network]] for network in NETWORKS}
    cosines = {network: statistics.mean(cosine for *_, cosine in ends[network]) for network in NETWORKS}
    after = {network: find_ends(trained[network]) for network in NETWORKS}
    rows = {
        network: (
            " ".join(f"{first:.2g}" for first, *_ in ends[network]),
            " ".join(f"{last:.2g}" for _, last, _ in ends[network]),
            " ".join(_write(cosine) for *_, cosine in ends[network]),
            *[f"{norm:.2g}" for norm in after[network][:2]],
            _write(after[network][2]),
        )
        for network in NETWORKS
    }
    heads = ["first layer", "last convolution", "neighbours"]
    first, last, cosine = after["plain-56"]
    return Answer(
        found=(
            "**They do not vanish. In a deep plain net they explode towards the input and shatter, where training "
            "begins.** At the initialization the gradient of the first layer is "
            f"{_range(ratios['plain-56'])} times as long as that of the last convolution in plain-56, "
            f"{_range(ratios['plain-20'])} times in plain-20 and {_range(ratios['resnet-56'])} times in ResNet-56; the "
            "gradients of neighbouring inputs have a cosine of "
            f"{_write(cosines['plain-56'])}, {_write(cosines['plain-20'])} and {_write(cosines['resnet-56'])} at the "
            f"logits. In the trained plain-56 it is {first / last:.1f} times, and the cosine {_write(cosine)}: "
            "training heals both."
        ),
        sure=(
            f"{say_images(trained)} in {trained['plain-20']['batches']} batches, batch norm with the statistics of "
            f"each. {len(SEEDS)} draws of the initialization, all in the table, but one trained network each."
        ),
        table=tabulate([*(f"{head}, begun" for head in heads), *(f"{head}, trained" for head in heads)], rows),
    )


def _range(values: Sequence[float]) -> str:
    return " to ".join(f"{value:.1f}" if value < 10 else count(value) for value in (min(values), max(values)))


def _write(cosine: float) -> str:
    return f"{cosine:.2f}".replace("-0.00", "0.00")


def _draw(material: Material) -> Figure:
    return draw_views(material.read[0], "gradients", ("neighbours", "norm"))


QUESTION = Question(
    name="gradients",
    title=panel_title("gradients"),
    tell=_tell,
    draw=_draw,
    figure="says-gradients",
    caption="Cosines of neighbouring inputs by depth and norms by layer, at the initialization of seed 0",
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
