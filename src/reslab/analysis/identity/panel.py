"""What pages show of how far blocks are from the identity; no torch."""

from collections.abc import Iterable
from dataclasses import dataclass

from reslab.analysis.catalogue import InstrumentPanel, Mark, View


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One block beside the identity: the relative length of the change, the cosine, and what of its output is linear.

    The last may not be known, and nothing is of a block that is given zeros alone.
    """

    name: str
    change: float | None
    change_error: float | None
    cosine: float | None
    cosine_error: float | None
    output_linear_share: float | None


@dataclass(frozen=True, kw_only=True)
class IdentityPanel(InstrumentPanel):
    """How far the blocks of one network are from the identity."""

    title = "Distance from the identity"
    question = "How far is each block from the identity?"
    note = (
        "How long what a block changes is, relative to what it would give without its branch; 0 is exactly the "
        "identity. Where dimensions change, the shortcut takes the identity's place, and in plain networks an average "
        "pool. Then the cosine of both, and how much of the block's output a linear map of its input's channels "
        "explains. Plain networks are dashed."
    )
    quantity = "Length of the change relative to the input"
    words = "Relative length of what each block changes"
    axis = "relative change"
    printed_axis = "relative change"
    views = (
        View(key="change", title="Change", axis="blocks", printed_axis="block"),
        View(key="cosine", title="Cosine of input and output", axis="blocks", printed_axis="block", quantity="cosine"),
        View(key="linear", title="Linear part", axis="blocks", printed_axis="block", quantity="linear (%)"),
    )

    blocks: tuple[Compared, ...]

    @property
    def marks(self) -> list[Mark]:
        """The relative changes."""
        return _mark((row.name, row.change, row.change_error) for row in self.blocks)

    def marks_in(self, view: View) -> list[Mark]:
        """Return what a view shows of every block; linear parts have no interval."""
        if view.key == "cosine":
            return _mark((row.name, row.cosine, row.cosine_error) for row in self.blocks)
        if view.key == "linear":
            shares = [(row.name, row.output_linear_share) for row in self.blocks]
            return [Mark.around(name, 100 * share, 0.0) for name, share in shares if share is not None]
        return self.marks


def _mark(rows: Iterable[tuple[str, float | None, float | None]]) -> list[Mark]:
    return [Mark.around(name, value, off) for name, value, off in rows if value is not None and off is not None]


PANEL = IdentityPanel
