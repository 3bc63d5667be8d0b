"""What pages show of layer responses, drawn like the paper's Fig. 7; no torch."""

from dataclasses import dataclass

from reslab.analysis.catalogue import InstrumentPanel, Mark, View


@dataclass(frozen=True)
class Layer:
    """The standard deviation of one layer's responses, and its confidence interval."""

    name: str
    std: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Responses(InstrumentPanel):
    """The responses of one network's layers."""

    title = "Layer responses"
    question = "Do shortcuts make responses smaller?"
    figure = "fig-7"
    note = (
        "As in the paper’s Fig. 7: the standard deviation of each layer’s response after its normalization, before the "
        "nonlinearity or the addition. Plain networks are dashed. The verdicts compare medians: a network’s median "
        "is the middle of its sorted line."
    )
    quantity = "Standard deviation after normalization, before the nonlinearity or the addition"
    words = "Standard deviations of layer responses"
    axis = "standard deviation"
    printed_axis = "std"
    views = (
        View(key="original", title="In the network's order", axis="layers", printed_axis="layer index (original)"),
        View(
            key="sorted",
            title="Sorted by size",
            axis="layers, by size",
            printed_axis="layer index (sorted by magnitude)",
            by_size=True,
        ),
    )

    layers: tuple[Layer, ...]

    @property
    def marks(self) -> list[Mark]:
        """The standard deviations."""
        return [Mark(layer.name, layer.std, layer.low, layer.high) for layer in self.layers]


PANEL = Responses
