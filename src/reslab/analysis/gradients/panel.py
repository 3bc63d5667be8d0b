"""What pages show of gradients: norms, ratios and cosines by layer, neighbouring inputs by depth; no torch."""

from dataclasses import astuple, dataclass

from reslab.analysis.catalogue import InstrumentPanel, Mark, View


@dataclass(frozen=True)
class Estimate:
    """A mean, and the bounds of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class LayerGradients:
    """The gradient of one layer's weights, its ratio to them, and the variances of its signals forward and back.

    Of all parameters together there is no one signal. `beside` the path are projections, gates and the like.
    """

    name: str
    stage: str
    beside: bool
    norm: Estimate
    ratio: Estimate
    forward: Estimate | None
    backward: Estimate | None
    cosine: Estimate


@dataclass(frozen=True, kw_only=True)
class Depth:
    """How gradients with respect to neighbouring inputs agree after a part of the network.

    `cosines` are by how many steps inputs are apart, `length` is after which part of the line they fall to 1/e.
    """

    name: str
    neighbours: Estimate
    cosines: tuple[float, ...]
    length: float | None
    pixels: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class GradientsPanel(InstrumentPanel):
    """The gradients of one network's layers."""

    title = "Gradients"
    question = "Do gradients vanish, shatter or stay healthy with batch norm?"
    note = (
        "The gradient of the mean loss of a batch, by layer: its norm, its norm as a fraction of that of the weights, "
        "and the cosine of those of different batches. Last, the cosine of the gradients with respect to two "
        "neighbouring inputs, by how much of the network lies before: it is near zero where gradients are shattered. "
        "Projections and gates are left out. Plain networks are dashed."
    )
    quantity = "Gradients of the loss, means over batches"
    words = "Gradients of the loss"
    axis = "norm"
    printed_axis = "norm"
    views = (
        View(key="norm", title="Norm", axis="layers", printed_axis="layer index", log=True),
        View(
            key="ratio",
            title="Ratio to the weights",
            axis="layers",
            printed_axis="layer index",
            quantity="norm / norm of weights",
            log=True,
        ),
        View(key="cosine", title="Between batches", axis="layers", printed_axis="layer index", quantity="cosine"),
        View(
            key="neighbours",
            title="Between neighbouring inputs",
            axis="depths, from the input",
            printed_axis="depth index",
            quantity="cosine",
        ),
    )

    layers: tuple[LayerGradients, ...]
    depths: tuple[Depth, ...]

    @property
    def marks(self) -> list[Mark]:
        """The norms of the layers on the path."""
        return self._mark("norm")

    def marks_in(self, view: View) -> list[Mark]:
        """Return what a view shows: a quantity of every layer, or how neighbours agree at every depth."""
        if view.key == "neighbours":
            return [Mark(depth.name, *astuple(depth.neighbours)) for depth in self.depths]
        return self._mark(view.key)

    def _mark(self, quantity: str) -> list[Mark]:
        return [Mark(layer.name, *astuple(getattr(layer, quantity))) for layer in self.layers if not layer.beside]


PANEL = GradientsPanel
