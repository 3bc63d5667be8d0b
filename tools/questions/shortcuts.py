"""What do shortcuts and branches carry, and are gates open? By the shipped networks, which have option A."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from tools.questions import gates
from tools.questions.asked import RESIDUAL, Asked, Later
from tools.questions.question import Answer, Material, Question, draw_views, panel_title, say_images, tabulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _tell(material: Material) -> Answer:
    (found,) = material.read

    def median(network: str, name: str, scale: float = 100) -> float:
        return scale * statistics.median(row[name] for row in found[network]["additions"])

    forward = {network: median(network, "branch_share") for network in found}
    backward = {network: median(network, "gradient_branch_share") for network in found}
    cosine = {network: median(network, "cosine", 1) for network in found}
    error = max(100 * row["branch_share_error"] for one in found.values() for row in one["additions"])
    rows = {
        network: (
            str(len(one["additions"])),
            f"{forward[network]:.1f}",
            f"{backward[network]:.1f}",
            f"{cosine[network]:.2f}",
        )
        for network, one in found.items()
    }
    return Answer(
        found=(
            "**Shortcuts carry more than half, and in deep nets nearly all, forward and backward.** In the median "
            f"block the branch has {forward['resnet-20']:.0f} % of the energy at the addition in ResNet-20, "
            f"{forward['resnet-56']:.0f} % in ResNet-56 and {forward['resnet-110']:.0f} % in ResNet-110, and of "
            f"that of the gradient that comes back {backward['resnet-20']:.0f}, {backward['resnet-56']:.0f} and "
            f"{backward['resnet-110']:.0f} %. Of gates there are small runs on digits alone, below."
        ),
        sure=(
            f"{say_images(found)}; 95 % intervals of the shares are at most ± {error:.1f} points. One trained network "
            "each, all with option A."
        ),
        table=tabulate(("additions", "branch %, forward", "branch %, backward", "cosine of both terms"), rows),
    )


def _draw(material: Material) -> Figure:
    return draw_views(material.read[0], "shortcuts", ("forward", "backward"))


QUESTION = Question(
    name="shortcuts",
    title=panel_title("shortcuts"),
    tell=_tell,
    draw=_draw,
    figure="says-shortcuts",
    caption="The branch's share in the energy at each addition, and in that of the gradient that comes back",
    asked=(Asked(instrument="shortcuts", settings={"images": 500}, networks=RESIDUAL),),
    beside=gates.BESIDE,
    later=(
        Later(
            "gates of Highway networks on CIFAR-10",
            ("reslab train data=cifar10 network=highway-19", "reslab analyze shortcuts RUN"),
            "cifar10/highway-*/analysis/shortcuts*.json",
        ),
        Later(
            "options B and C",
            ("reslab train data=cifar10 network=resnet-56 network.shortcut=B", "reslab analyze shortcuts RUN"),
            "cifar10/resnet-*/analysis/shortcuts*.json",
        ),
    ),
)
