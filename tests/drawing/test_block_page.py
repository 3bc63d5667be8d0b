"""Pages of blocks: well-formed, within their page, and complete."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from tests.drawing.test_network_page import SVG, read_texts

from reslab.drawing import draw_blocks
from reslab.drawing.block_page import Sketch
from reslab.drawing.block_parts import list_blocks
from reslab.drawing.svg import Pen
from reslab.errors import UserError
from reslab.spec import NetworkSpec, find, list_models

RESIDUAL_AND_PLAIN = [name for name in list_models() if isinstance(find(name), NetworkSpec)]


@pytest.mark.parametrize("name", RESIDUAL_AND_PLAIN)
def test_the_blocks_of_every_network_draw(name: str) -> None:
    """Each name gives a well-formed picture whose boxes stay on the page, under the network's name."""
    svg = draw_blocks(find(name))
    page = ElementTree.fromstring(svg)
    for box in page.iter(f"{SVG}rect"):
        x, y, width, height = (float(box.get(key, "")) for key in ("x", "y", "width", "height"))
        assert x >= 0 <= y
        assert x + width <= float(page.get("width", ""))
        assert y + height <= float(page.get("height", ""))
    assert page.findtext(f"{SVG}title") == f"Blocks of {name}"
    assert read_texts(svg)[0] == name


def test_a_page_shows_operators_shapes_and_what_they_mean() -> None:
    """ResNet-50's page bears the shapes, the projection with its stride, the formula and the short forms."""
    texts = read_texts(draw_blocks(find("resnet-50")))
    for expected in (
        "50 layers, ReLU after addition, the paper's order",
        "x: 256-d, 56x56",
        "y: 512-d, 28x28",
        "conv3_1",
        "1x1 conv, 128, /2",
        "projection Ws:",
        "y = ReLU(F(x) + Ws x)",
        "64-d: 64 channels · /2: stride 2 · BN: batch normalization",
    ):
        assert expected in texts, expected
    assert texts.count("identity") == 4


def test_gated_blocks_show_what_weighs_what() -> None:
    """The branch is marked with T and the shortcut with 1 - T."""
    texts = read_texts(draw_blocks(find("gated-resnet-18")))
    assert texts.count("× T") == texts.count("× (1 − T)") == 7


def test_overridden_names_are_told_in_full() -> None:
    """A network that differs from its name says in what."""
    texts = read_texts(draw_blocks(find("resnet-20", {"order": "pre", "norm": "group"})))
    assert texts[0] == "resnet-20 order=pre norm=group"


def test_networks_without_blocks_are_refused() -> None:
    """A network that is no chain of plain or residual blocks is the user's mistake."""
    with pytest.raises(UserError, match="'highway-19' has no plain or residual blocks"):
        draw_blocks(find("highway-19"))


def sketch(name: str, **overrides: object) -> Sketch:
    """Return the sketch of a named network's first block."""
    spec = find(name, overrides)
    assert isinstance(spec, NetworkSpec)
    return Sketch(Pen(), list_blocks(spec)[0], narrowest=16)


def test_lanes_stand_side_by_side() -> None:
    """F, the gate and the shortcut follow each other from left to right, and a gate needs the more room."""
    residual, gated, plain = sketch("resnet-20"), sketch("gated-resnet-20"), sketch("plain-20")
    assert gated.branch_x < gated.gate_x < gated.shortcut_x < gated.width
    assert plain.width < residual.width < gated.width


def test_a_block_is_as_tall_as_its_tallest_lane() -> None:
    """More operators make a block taller, and so does a shortcut that needs more room than F."""
    heights = {
        name: sketch("resnet-20", **overrides).draw(0, 0)
        for name, overrides in {
            "bare": {"norm": "none"},
            "normalized": {},
            "one layer": {"block": "single", "norm": "none"},
            "one layer, projection": {"block": "single", "norm": "none", "shortcut": "C"},
            "one layer, projection, BN": {"block": "single", "norm": "batch", "shortcut": "C"},
        }.items()
    }
    assert heights["one layer"] < heights["bare"] < heights["normalized"]
    assert heights["one layer"] < heights["one layer, projection"] < heights["one layer, projection, BN"]


def test_drawing_moves_with_its_place() -> None:
    """The height of a block does not depend on where it stands."""
    one = sketch("gated-resnet-20")
    assert one.draw(300, 500) - 500 == one.draw(0, 0)
