"""Networks and blocks as SVG, in the manner of the paper's Figs. 2, 3 and 5.

`columns`, `chains` and `block_parts` say what is drawn, `network_page` and `block_page` where, `svg` how.
"""

from collections.abc import Sequence

from reslab.drawing.block_page import draw_block_page
from reslab.drawing.block_parts import list_blocks
from reslab.drawing.captions import write_order
from reslab.drawing.columns import make_column
from reslab.drawing.network_page import draw_network_page
from reslab.errors import UserError
from reslab.spec import NetworkSpec, Spec, depth_of, name_of

__all__ = ["draw_blocks", "draw_networks"]


def draw_networks(specs: Sequence[Spec]) -> str:
    """Draw whole networks side by side, a column each, as one SVG (the paper's Fig. 3)."""
    if not specs:
        raise UserError("there is nothing to draw; name at least one network")
    return draw_network_page([make_column(spec) for spec in specs])


def draw_blocks(spec: Spec) -> str:
    """Draw each distinct block of a plain or residual network once, as one SVG (the paper's Figs. 2 and 5)."""
    if not isinstance(spec, NetworkSpec):
        raise UserError(
            f"'{name_of(spec)}' has no plain or residual blocks; "
            "draw the whole network, or name a plain or residual one"
        )
    facts = f"{depth_of(spec)} layers, {write_order(spec)}"
    return draw_block_page(name_of(spec), list_blocks(spec), facts=facts)
