"""What pages show of how far blocks are from the identity; no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from reslab.analysis.catalogue import InstrumentPanel, Mark, View
from reslab.spec.codec import decode_known


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One block: how long what it changes is, relative to what it is given, and its interval."""

    name: str
    change: float
    change_error: float


@dataclass(frozen=True, kw_only=True)
class Identity(InstrumentPanel):
    """How far the blocks of one network are from the identity."""

    title = "Distance from the identity"
    note = (
        "How long what a block changes is, relative to what it would give without its branch; 0 is exactly the "
        "identity. Where dimensions change, the shortcut takes the identity's place, and in plain networks an average "
        "pool. Plain networks are dashed."
    )
    quantity = "Length of the change relative to the input"
    words = "Relative length of what each block changes"
    axis = "relative change"
    printed_axis = "relative change"
    views = (
        View(key="original", title="In the network's order", axis="blocks", printed_axis="block"),
        View(key="sorted", title="Sorted by size", axis="blocks, by size", printed_axis="block (sorted)", by_size=True),
    )

    blocks: tuple[Compared, ...]

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Self:
        """Read it off what is stored, block by block."""
        return super().read({**found, "blocks": tuple(decode_known(Compared, row) for row in found["blocks"])})

    @property
    def marks(self) -> list[Mark]:
        """The relative changes."""
        return [
            Mark(row.name, row.change, row.change - row.change_error, row.change + row.change_error)
            for row in self.blocks
        ]


PANEL = Identity
