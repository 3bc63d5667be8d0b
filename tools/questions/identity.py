"""How far is each block from the identity? And how much of what it does is linear."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from tools.questions import constructed
from tools.questions.asked import Asked, Later
from tools.questions.question import Answer, Material, Question, draw_views, panel_title, say_images, tabulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _tell(material: Material) -> Answer:
    (found,) = material.read
    same = {
        network: [block for block in one["blocks"] if block["compared_with"] == "identity"]
        for network, one in found.items()
    }
    changes = {network: statistics.median(block["change"] for block in blocks) for network, blocks in same.items()}
    linear = {
        network: statistics.median(100 * block["output_linear_share"] for block in blocks)
        for network, blocks in same.items()
    }
    error = max(block["change_error"] for blocks in same.values() for block in blocks)
    exact = sum(block["change"] == 0 for blocks in same.values() for block in blocks)
    rows = {
        network: (
            str(len(blocks)),
            *[f"{value:.2f}" for value in (min(block["change"] for block in blocks), changes[network])],
            f"{max(block['change'] for block in blocks):.2f}",
            f"{statistics.median(block['cosine'] for block in blocks):.2f}",
            f"{linear[network]:.0f}",
        )
        for network, blocks in same.items()
    }
    return Answer(
        found=(
            "**Residual blocks are near the identity, the nearer the deeper the net; plain blocks are not.** The "
            f"median block changes its input by {changes['resnet-20']:.2f} of its length in ResNet-20, "
            f"{changes['resnet-56']:.2f} in ResNet-56 and {changes['resnet-110']:.2f} in ResNet-110, but by "
            f"{changes['plain-20']:.2f} in plain-20 and {changes['plain-56']:.2f} in plain-56; of the "
            f"{sum(map(len, same.values()))} blocks that keep dimensions {exact or 'none'} is exactly the identity."
        ),
        sure=(
            f"{say_images(found)}; 95 % intervals of the changes are at most ± {error:.3f}. One trained network each. "
            "A plain block may pass its input on in other channels, so the table has the share of its output that is "
            "linear in the input: even by that plain blocks are further away."
        ),
        table=tabulate(("blocks", "change: least", "median", "most", "cosine", "linear %"), rows),
    )


def _draw(material: Material) -> Figure:
    return draw_views(material.read[0], "identity", ("change", "linear"))


QUESTION = Question(
    name="identity",
    title=panel_title("identity"),
    tell=_tell,
    draw=_draw,
    figure="says-identity",
    caption="Relative length of what each block changes, and the share of its output that is linear in its input",
    asked=(Asked(instrument="identity", settings={"images": 500}),),
    beside=constructed.BESIDE,
    later=(
        Later(
            "SGD started at the constructed deep solution of CIFAR-10 "
            "([how](../how-to/identity.md#constructed-solutions))",
            (
                "reslab train data=cifar10 network=plain-56 weights=constructed-56.safetensors --snapshots 0,0.02,0.5",
                "reslab analyze identity RUN@1280 RUN@32000 since=0",
            ),
            "cifar10/*/analysis/identity*@*.json",
        ),
    ),
)
