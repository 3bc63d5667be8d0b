"""What pages show of shortcuts: the branch's share in what is added; no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from reslab.analysis.catalogue import InstrumentPanel, Mark, View
from reslab.spec.codec import decode_known


@dataclass(frozen=True, kw_only=True)
class Sum:
    """One addition: the branch's share in the energy of both terms, and its interval."""

    name: str
    branch_share: float
    branch_share_error: float


@dataclass(frozen=True, kw_only=True)
class Shortcuts(InstrumentPanel):
    """What the shortcuts of one network carry."""

    title = "Shortcut and branch"
    note = (
        "At each addition, the branch’s share in the energy (the mean square) of both terms: at 0 % the block is its "
        "shortcut alone, at 50 % both carry as much. With a gate T the terms are F·T and shortcut·(1−T)."
    )
    quantity = "The branch’s share at the addition (%)"
    words = "Share of the branch in the energy at each addition"
    axis = "branch (%)"
    printed_axis = "branch (%)"
    views = (
        View(key="original", title="In the network's order", axis="blocks", printed_axis="block"),
        View(key="sorted", title="Sorted by size", axis="blocks, by size", printed_axis="block (sorted)", by_size=True),
    )

    additions: tuple[Sum, ...]

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Self:
        """Read it off what is stored, addition by addition."""
        return super().read({**found, "additions": tuple(decode_known(Sum, row) for row in found["additions"])})

    @property
    def marks(self) -> list[Mark]:
        """The percentages."""
        return [
            Mark(row.name, *(100 * (row.branch_share + sign * row.branch_share_error) for sign in (0, -1, 1)))
            for row in self.additions
        ]


PANEL = Shortcuts
