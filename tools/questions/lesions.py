"""What are single blocks worth? Deleted one by one, and several at once."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tools.questions import preactivation
from tools.questions.asked import Asked, Later
from tools.questions.question import Answer, Material, Question, draw_views, panel_title, say_images, tabulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AT_ONCE = 5  # blocks deleted together, in the table


def _wrong(rows: Sequence[Mapping[str, Any]], key: str = "wrong") -> list[float]:
    return [100 * row[key] for row in rows]


def _tell(material: Material) -> Answer:
    (found,) = material.read
    single = {network: _wrong(one["single"]) for network, one in found.items()}
    medians = {network: statistics.median(values) for network, values in single.items()}
    intact = {network: 100 * one["intact"]["wrong"] for network, one in found.items()}
    several = {
        network: next(100 * row["wrong"] for row in one["several"] if row["deleted"] == AT_ONCE)
        for network, one in found.items()
    }
    sure = {
        network: 100 * statistics.median(row["wrong_error"] for row in one["single"]) for network, one in found.items()
    }
    rows = {
        network: (
            str(one["blocks"]),
            *[f"{value:.1f}" for value in (intact[network], min(single[network]), medians[network])],
            *[f"{value:.1f}" for value in (max(single[network]), several[network])],
        )
        for network, one in found.items()
    }
    return Answer(
        found=(
            "**In deep residual nets one block is worth little, in plain nets nearly everything.** Without one block "
            f"the median error goes from {intact['resnet-110']:.1f} to {medians['resnet-110']:.1f} % in ResNet-110, "
            f"from {intact['resnet-56']:.1f} to {medians['resnet-56']:.1f} % in ResNet-56 and from "
            f"{intact['resnet-20']:.1f} to {medians['resnet-20']:.1f} % in ResNet-20, but from "
            f"{intact['plain-20']:.1f} to {medians['plain-20']:.1f} % in plain-20 and from {intact['plain-56']:.1f} to "
            f"{medians['plain-56']:.1f} % in plain-56."
        ),
        sure=(
            f"{say_images(found)}, the same with and without: the 95 % interval of a block's harm is ± "
            f"{min(sure.values()):.1f} to ± {max(sure.values()):.1f} points in the median. One trained network each, "
            "with batch norm's statistics fixed, which deletion makes unfit; several blocks are drawn five times."
        ),
        table=tabulate(
            ("blocks", "intact, wrong %", "without one: least", "median", "most", f"without {AT_ONCE}, mean"), rows
        ),
    )


def _draw(material: Material) -> Figure:
    return draw_views(material.read[0], "lesions", ("several", "single"))


QUESTION = Question(
    name="lesions",
    title=panel_title("lesions"),
    tell=_tell,
    draw=_draw,
    figure="says-lesions",
    caption="Wrong images without several blocks, by their number, and without one, by block",
    asked=(
        Asked(
            instrument="lesions",
            settings={"images": 1000, "pairs": 0, "several": 10, "draws": 5, "swaps": 0, "reset": False, "paths": 0},
        ),
    ),
    beside=preactivation.BESIDE,
    later=(
        Later(
            "pre-activation on CIFAR-10",
            (
                "reslab train data=cifar10 network=resnet-110 network.order=pre",
                "reslab analyze lesions RUN",
            ),
            "cifar10/resnet-110-*/analysis/lesions*.json",
        ),
        Later(
            "shortcuts removed after training, and fine-tuned "
            "([how](../how-to/shortcuts.md#can-shortcuts-be-removed-later))",
            (
                "reslab evaluate without.safetensors data=cifar10",
                "reslab train data=cifar10 network=plain-20 weights=without.safetensors "
                "recipe.optimizer.learning_rate=0.01",
            ),
        ),
    ),
)
