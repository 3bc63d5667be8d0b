"""What does the loss landscape look like? Along random lines; surfaces are for a GPU."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reslab.analysis.catalogue import Mark, View
from reslab.report.figures import draw_lines
from tools.questions.asked import NETWORKS, Asked, Later
from tools.questions.question import Answer, Material, Question, make_line, panel_title, say_images, tabulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEEDS = (0, 1)
SURFACE = Asked(instrument="landscape", settings={"precision": "bf16"}, networks=NETWORKS[:4])


def _radius(found: Mapping[str, Any]) -> float:
    """Return how far the loss is below twice that of the weights, to both sides; the whole span where it stays so."""
    known = [found["settings"]["span"] if radius is None else radius for radius in found["sharpness"].values()]
    return statistics.mean(known)


def _tell(material: Material) -> Answer:
    read = material.read
    radii = {network: [_radius(found[network]) for found in read] for network in NETWORKS}
    means = {network: statistics.mean(values) for network, values in radii.items()}
    bent = {network: [100 * found[network]["nonconvex_share"] for found in read] for network in NETWORKS}
    rows = {
        network: (
            f"{read[0][network]['centre']['loss']:.3f}",
            " ".join(f"{value:.2f}" for value in radii[network]),
            " ".join(f"{value:.0f}" for value in bent[network]),
            " ".join(f"{found[network]['loss']['maximum']['value']:.3g}" for found in read),
        )
        for network in NETWORKS
    }
    return Answer(
        found=(
            "**Around deep residual nets it is wider and more convex than around deep plain ones.** Along random lines "
            f"the loss doubles at {means['plain-56']:.2f} of the filters' length in plain-56, at "
            f"{means['resnet-56']:.2f} in ResNet-56 and {means['resnet-110']:.2f} in ResNet-110, and "
            f"{statistics.mean(bent['plain-56']):.0f}, {statistics.mean(bent['resnet-56']):.0f} and "
            f"{statistics.mean(bent['resnet-110']):.0f} % of the points are not convex; with 20 layers plain and "
            f"residual nets are alike ({means['plain-20']:.2f} and {means['resnet-20']:.2f})."
        ),
        sure=(
            f"{say_images(read[0])}, {len(read)} random directions each, both in the table, of one trained network "
            "each; batch norm's statistics fixed. Few lines see little of a surface."
        ),
        table=tabulate(("loss of the weights", "radius of twice the loss", "not convex %", "largest loss"), rows),
    )


def _draw(material: Material) -> Figure:
    views = [
        View(
            key=f"seed-{seed}",
            title=f"Direction of seed {seed}",
            axis="",
            printed_axis="lengths of the filters",
            quantity="loss",
            log=True,
        )
        for seed in SEEDS
    ]
    arrays = {network: [one.read_arrays(network) for one in material.asked] for network in NETWORKS}
    lines = [
        make_line(
            network,
            [[Mark("", *[float(loss)] * 3) for loss in one["loss"]] for one in stored],
            stored[0]["axis_1"].tolist(),
        )
        for network, stored in arrays.items()
    ]
    return draw_lines(lines, views, usual="loss")


QUESTION = Question(
    name="landscape",
    title=panel_title("landscape"),
    tell=_tell,
    draw=_draw,
    figure="says-landscape",
    caption="Loss along random lines through the trained weights",
    asked=tuple(
        Asked(instrument="landscape", settings={"dimensions": 1, "points": 21, "images": 500, "seed": seed})
        for seed in SEEDS
    ),
    later=(
        Later("surfaces of 51×51 points", (SURFACE.command,), SURFACE.pattern),
        Later(
            "the path of a training",
            (
                "reslab train data=cifar10 network=resnet-56 --snapshots 0.05,0.1,0.2,0.4,0.6,0.8",
                "reslab analyze landscape RUN directions=pca norms=anew",
            ),
            "cifar10/*/analysis/landscape*.json",
        ),
    ),
)
