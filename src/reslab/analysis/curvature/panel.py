"""What pages show of curvature: the largest eigenvalues, and the condition of each block; no torch."""

from dataclasses import dataclass

from reslab.analysis.catalogue import InstrumentPanel, Mark, View


@dataclass(frozen=True)
class Estimate:
    """A value and its bounds, where these are known: one probe alone has none, a mean near zero leaves one open."""

    value: float
    low: float | None
    high: float | None

    def mark(self, name: str) -> Mark:
        """Return it as it is drawn."""
        low, high = (self.value if bound is None else bound for bound in (self.low, self.high))
        return Mark(name, self.value, low, high)


@dataclass(frozen=True)
class Condition:
    """The condition of one matrix: its largest eigenvalue over the mean of all. The rank is the effective one."""

    largest: Estimate
    mean: Estimate
    condition: Estimate
    effective_rank: float


@dataclass(frozen=True)
class BlockCondition:
    """The condition of a block's Gauss-Newton matrix as the network is, and without the block's shortcut."""

    name: str
    parameters: int
    as_is: Condition
    without: Condition | None


@dataclass(frozen=True, kw_only=True)
class CurvaturePanel(InstrumentPanel):
    """The curvature of one network's loss."""

    title = "Curvature"
    question = "What is the curvature of the loss?"
    note = (
        "The largest eigenvalues of the Hessian of the mean loss. For each block the condition of its Gauss-Newton "
        "matrix, the largest eigenvalue over the mean one, as the network is and with the block’s shortcut removed. "
        "Bands around the eigenvalues of one network are their residuals. Plain networks are dashed."
    )
    quantity = "Largest eigenvalues and conditions of blocks"
    words = "Eigenvalues of the loss, and conditions of blocks"
    axis = "eigenvalue"
    printed_axis = "eigenvalue"
    views = (
        View(key="largest", title="Largest eigenvalues", axis="rank", printed_axis="rank", log=True),
        View(
            key="as_is",
            title="Condition of blocks",
            axis="blocks",
            printed_axis="block index",
            quantity="largest / mean eigenvalue",
            log=True,
        ),
        View(
            key="without",
            title="Without the block's shortcut",
            axis="blocks",
            printed_axis="block index",
            quantity="largest / mean eigenvalue",
            log=True,
        ),
    )

    largest: tuple[Estimate, ...]
    blocks: tuple[BlockCondition, ...]

    @property
    def marks(self) -> list[Mark]:
        """The largest eigenvalues, falling."""
        return [one.mark(str(rank)) for rank, one in enumerate(self.largest, start=1)]

    def marks_in(self, view: View) -> list[Mark]:
        """Return what a view shows: eigenvalues, or the conditions of blocks."""
        if view.key == "largest":
            return self.marks
        conditions = [(block.name, getattr(block, view.key)) for block in self.blocks]
        return [found.condition.mark(name) for name, found in conditions if found]


PANEL = CurvaturePanel
