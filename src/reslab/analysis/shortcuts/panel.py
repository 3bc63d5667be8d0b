"""What pages show of shortcuts: the branch's share in what is added and in what comes back, and gates; no torch."""

from dataclasses import dataclass

from reslab.analysis.catalogue import InstrumentPanel, Mark, View


@dataclass(frozen=True, kw_only=True)
class Sum:
    """One addition: the branch's shares and the cosine of both terms, with their intervals; its gate, if it has one."""

    name: str
    branch_share: float
    branch_share_error: float
    cosine: float
    cosine_error: float
    gradient_branch_share: float
    gradient_branch_share_error: float
    gate_mean: float | None = None
    gate_mean_error: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ShortcutsPanel(InstrumentPanel):
    """What the shortcuts of one network carry."""

    title = "Shortcut and branch"
    question = "What do shortcuts and branches carry, and are gates open?"
    note = (
        "At each addition, the branch’s share in the energy (the mean square) of both terms: at 0 % the block is its "
        "shortcut alone, at 50 % both carry as much. Then the cosine of both terms, the branch’s share in what comes "
        "back to the block’s input, and how far gates are open. With a gate T the terms are F·T and shortcut·(1−T)."
    )
    quantity = "The branch’s share at the addition (%)"
    words = "Share of the branch in the energy at each addition"
    axis = "branch (%)"
    printed_axis = "branch (%)"
    views = (
        View(key="forward", title="Forward", axis="blocks", printed_axis="block"),
        View(key="cosine", title="Cosine of both terms", axis="blocks", printed_axis="block", quantity="cosine"),
        View(key="backward", title="Backward", axis="blocks", printed_axis="block", quantity="branch (%)"),
        View(key="gates", title="Gates", axis="blocks", printed_axis="block", quantity="mean of the gate"),
    )

    additions: tuple[Sum, ...]

    @property
    def marks(self) -> list[Mark]:
        """The percentages forward."""
        return [Mark.around(row.name, 100 * row.branch_share, 100 * row.branch_share_error) for row in self.additions]

    def marks_in(self, view: View) -> list[Mark]:
        """Return what a view shows of every addition, or of those with gates."""
        match view.key:
            case "cosine":
                return [Mark.around(row.name, row.cosine, row.cosine_error) for row in self.additions]
            case "backward":
                shares = [(row, row.gradient_branch_share, row.gradient_branch_share_error) for row in self.additions]
                return [Mark.around(row.name, 100 * share, 100 * off) for row, share, off in shares]
            case "gates":
                gates = [(row, row.gate_mean) for row in self.additions]
                return [Mark.around(row.name, mean, row.gate_mean_error) for row, mean in gates if mean is not None]
            case _:
                return self.marks


PANEL = ShortcutsPanel
