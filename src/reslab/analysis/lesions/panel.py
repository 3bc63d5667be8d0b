"""What pages show of lesions: how many images are wrong without each block; no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from reslab.analysis.catalogue import InstrumentPanel, Mark, View
from reslab.spec.codec import decode_known


@dataclass(frozen=True, kw_only=True)
class Deleted:
    """One block, and what its loss costs: the share of images that are wrong, and how sure the difference is."""

    name: str
    wrong: float
    wrong_error: float


@dataclass(frozen=True, kw_only=True)
class Lesions(InstrumentPanel):
    """What one network loses with each of its blocks."""

    title = "Without one block"
    note = (
        "After Veit et al. (2016): the images that a trained network has wrong when one block is deleted and nothing "
        "is trained again. Of a residual block its shortcut remains; of a plain one the identity, or an average pool "
        "where dimensions change. Plain networks are dashed."
    )
    quantity = "Wrong without the block (%)"
    words = "Share of images that are wrong without each block"
    axis = "wrong (%)"
    printed_axis = "wrong (%)"
    views = (
        View(key="original", title="In the network's order", axis="blocks", printed_axis="deleted block"),
        View(
            key="sorted",
            title="Sorted by size",
            axis="blocks, by size",
            printed_axis="deleted block (sorted)",
            by_size=True,
        ),
    )

    single: tuple[Deleted, ...]

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Self:
        """Read it off what is stored, block by block."""
        return super().read({**found, "single": tuple(decode_known(Deleted, row) for row in found["single"])})

    @property
    def marks(self) -> list[Mark]:
        """The percentages, with the interval of what they are more than the intact network's."""
        return [
            Mark(row.name, *(100 * (row.wrong + sign * row.wrong_error) for sign in (0, -1, 1))) for row in self.single
        ]


PANEL = Lesions
