"""Networks known only as modules, followed on the meta device: Highway networks, LeNet-5 and torchvision's.

Sequences are opened until what is left is truly a chain; whatever branches inside (inception modules, dense
blocks, MBConv, encoder blocks) is one box under its class's name. A normalization or activation belongs to the
weight layer it follows and shows only where it follows none.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import fx, nn
from torch.nn import functional as F

from reslab.drawing.captions import write_convolution, write_extent, write_map_size, write_pool, write_stride
from reslab.drawing.parts import Shortcut, Step
from reslab.networks.build import build
from reslab.networks.comparators import HighwayLayer
from reslab.spec import TorchvisionSpec
from reslab.spec.comparators import ImageSpec

SILENT = (nn.Dropout, nn.Identity, nn.Flatten)
WEIGHTS = (nn.Conv2d, nn.Linear)
# What some networks call as functions, by the module that does the same.
FUNCTIONS: dict[Any, type[nn.Module]] = {F.relu: nn.ReLU, F.adaptive_avg_pool2d: nn.AdaptiveAvgPool2d}
# Normalizations and activations, by the words for them.
WORDS: dict[type[nn.Module], str] = {
    nn.BatchNorm2d: "BN",
    nn.LayerNorm: "LN",
    nn.ReLU: "ReLU",
    nn.SiLU: "SiLU",
    nn.Tanh: "tanh",
}


@dataclass(frozen=True, kw_only=True)
class Link:
    """One link of the chain: what it is, and the shapes before and after it."""

    operator: type[nn.Module]
    module: nn.Module | None
    before: tuple[int, ...]
    after: tuple[int, ...]


def follow_chain(spec: ImageSpec) -> list[Step]:
    """Return the steps of a network from its modules and the shapes that pass between them."""
    network = build(spec, device="meta").eval()
    containers: tuple[type[nn.Module], ...] = (nn.Sequential,)
    if isinstance(spec, TorchvisionSpec):
        from torchvision.models.vision_transformer import Encoder  # torchvision is slow to import

        network, containers = network.get_submodule("model"), (nn.Sequential, Encoder)
    runner = _Runner(fx.GraphModule(network, _Tracer(containers).trace(network)))
    with torch.no_grad():
        runner.run(torch.empty(1, *spec.input_shape, device="meta"))
    return _join(runner.links)


class _Tracer(fx.Tracer):
    """Traces a network without looking into anything but its containers."""

    def __init__(self, containers: tuple[type[nn.Module], ...]) -> None:
        super().__init__()
        self.containers = containers

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return not isinstance(m, self.containers)


class _Runner(fx.Interpreter):
    """Runs a trace and keeps its links."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.links: list[Link] = []

    def run_node(self, n: fx.Node) -> Any:
        result = super().run_node(n)
        module = self.fetch_attr(str(n.target)) if n.op == "call_module" else None
        operator = FUNCTIONS.get(n.target) if module is None else type(module)
        if operator is not None:
            before = tuple(self.env[n.all_input_nodes[0]].shape)
            self.links.append(Link(operator=operator, module=module, before=before, after=tuple(result.shape)))
        return result


def _join(links: Iterable[Link]) -> list[Step]:
    """Make a step of each link that is drawn; normalizations and activations join what stands before them."""
    steps: list[Step] = []
    loose = False
    for link in links:
        word = WORDS.get(link.operator)
        if word is None:
            step = _make_step(link)
            steps += [step] if step else []
            loose = loose and step is None
        elif loose:
            box = steps[-1].boxes[0]
            steps[-1] = replace(steps[-1], boxes=(replace(box, text=f"{box.text}, {word}"),))
        elif not steps[-1].boxes[0].layers:
            steps.append(_single(link, word))
            loose = True
    return steps


def _make_step(link: Link) -> Step | None:
    """Make the step of one link, or None for what changes no number at test time."""
    weights = [m for m in link.module.modules() if isinstance(m, WEIGHTS)] if link.module is not None else []
    match link.module:
        case nn.MaxPool2d() | nn.AvgPool2d() as pool:
            name = "max-pool" if isinstance(pool, nn.MaxPool2d) else "avg-pool"
            return _single(link, write_pool(name, _pair(pool.kernel_size), _pair(pool.stride)[0]))
        case HighwayLayer() as layer:
            return replace(_weight(link, layer.transform), shortcut=Shortcut(kind="identity", gated=True))
        case _ if issubclass(link.operator, SILENT):
            return None
        case _ if issubclass(link.operator, nn.AdaptiveAvgPool2d):
            extent = link.after[2:]
            text = "avg pool" if set(extent) == {1} else f"avg pool to {write_extent(extent)}"
            return _single(link, text) if link.after != link.before else None
        case _ if len(weights) == 1:
            return _weight(link, weights[0])
    stride = link.before[-1] // link.after[-1] if len(link.after) == 4 else 1
    name = f"{link.operator.__name__.lstrip('_')}, {_width(link.after)}{write_stride(stride)}"
    return _single(link, name, width=_width(link.after))


def _weight(link: Link, weight: nn.Module) -> Step:
    if isinstance(weight, nn.Linear):
        return _single(link, write_convolution((), weight.out_features), layers=1)
    assert isinstance(weight, nn.Conv2d)
    text = write_convolution(weight.kernel_size, weight.out_channels, weight.stride[0])
    return _single(link, text, width=weight.out_channels, layers=1)


def _single(link: Link, text: str, *, width: int = 0, layers: int = 0) -> Step:
    size = f"{link.after[1]} tokens" if len(link.after) == 3 else write_map_size(link.after[2:] or [1])
    return Step.single(text, size=size, width=width, layers=layers)


def _width(shape: Sequence[int]) -> int:
    return shape[2] if len(shape) == 3 else shape[1]


def _pair(value: int | tuple[int, int]) -> tuple[int, int]:
    return value if isinstance(value, tuple) else (value, value)
