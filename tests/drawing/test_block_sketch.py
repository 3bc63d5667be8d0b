"""The geometry of one block."""

from __future__ import annotations

from reslab.drawing.block_parts import list_blocks
from reslab.drawing.block_sketch import Sketch
from reslab.drawing.svg import Pen
from reslab.spec import NetworkSpec, find


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
