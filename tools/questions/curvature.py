"""What is the curvature of the loss? At least 4,096 images decide, which are for a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reslab.analysis.catalogue import find_printed
from tools.questions.asked import Asked, name_in_prose
from tools.questions.question import Answer, Material, Question, draw_views, panel_title, say_images

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _tell(material: Material) -> Answer:
    (found,) = material.read
    say = find_printed("curvature").sentence
    return Answer(
        found="\n".join(f"- {name_in_prose(network)}: {say(one)}." for network, one in found.items()),
        sure=f"{say_images(found)}; one trained network each.",
        table="",
    )


def _draw(material: Material) -> Figure:
    return draw_views(material.read[0], "curvature", ("largest", "as_is", "without"))


QUESTION = Question(
    name="curvature",
    title=panel_title("curvature"),
    tell=_tell,
    draw=_draw,
    figure="says-curvature",
    caption="Largest eigenvalues of the Hessian, and the condition of each block with and without its shortcut",
    asked=(Asked(instrument="curvature"),),
)
