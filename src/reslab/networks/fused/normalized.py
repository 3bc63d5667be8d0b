"""Networks whose convolutions are cuDNN's and the rest ours: which they are, and how one is run.

Nothing changes but how it is computed: the same parameters, statistics and results, to its precision's rounding.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from reslab.networks.blocks import Block
from reslab.networks.fused.fusing import HEEDED, is_canonical
from reslab.networks.layers import Layer
from reslab.networks.network import Network, StandIn
from reslab.networks.resnet import ResidualNetwork
from reslab.spec import Spec
from reslab.spec.network import NetworkSpec, StemSpec

CHANNELS = 16  # of which all widths are multiples: 32 bytes, the least that memory moves


def can_normalize(spec: Spec) -> bool:
    """Whether there are kernels for all that stands between a network's convolutions, on images of any size.

    Batch normalization and ReLU in the paper's order or before each convolution, in blocks of any kind, plain or with
    options A, B and C. It is the second choice, for what `can_fuse` refuses: there our kernels do the convolutions too.
    """
    if not isinstance(spec, NetworkSpec):
        return False
    stem = StemSpec(kernel=spec.stem.kernel, width=spec.stem.width, stride=spec.stem.stride)
    return (
        is_canonical(spec, stem=stem, heeded=(*HEEDED, "pool", "block"))
        and spec.order in ("post", "pre")
        and spec.shortcut in ("none", "A", "B", "C")
        and all(width % CHANNELS == 0 for width in (spec.stem.width, *[stage.width for stage in spec.stages]))
    )


def normalize(network: Network, dtype: torch.dtype) -> StandIn:
    """Return what stands in for the network's trunk while it trains in bfloat16 or float16."""
    assert isinstance(network, ResidualNetwork)
    return StandIn(NormalizedTrunk(network, dtype=dtype).features)


class NormalizedTrunk:
    """A network up to its classifier, in train mode: it uses the network's own parameters and statistics.

    An output goes to the next convolution and, under a second name, to the shortcut, so that autograd leaves the
    addition of their two gradients to the kernel that reads them.
    """

    def __init__(self, network: ResidualNetwork, *, dtype: torch.dtype) -> None:
        from reslab.networks.fused import normalization, stem  # they import Triton

        self.network, self.dtype, self.passes, self.stem = network, dtype, normalization, stem
        self.convolutions = [module for module in network.modules() if isinstance(module, nn.Conv2d)]
        norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
        self.counts = [norm.num_batches_tracked for norm in norms if norm.num_batches_tracked is not None]

    def features(self, images: Tensor) -> Tensor:
        """Return the average-pooled output of the last block, in float32 as the classifier's weights are."""
        network, convolutions = self.network, self.convolutions
        with torch.no_grad():
            torch._foreach_add_(self.counts, 1)  # pyright: ignore[reportPrivateImportUsage]
        weights = self.passes.narrow([conv.weight for conv in convolutions], self.dtype)
        narrowed = dict(zip(convolutions, weights, strict=True))
        first: Any = network.stem
        response = self.stem.respond(first.conv, images, narrowed[first.conv])
        if isinstance(network.pool, nn.MaxPool2d):
            x, beside = self.stem.activate_pool(response, first.norm, network.pool)
        else:
            x, beside = self.passes.activate(response, first.norm)
        run = self._run_preactivated if network.spec.order == "pre" else self._run
        for block in network.blocks.values():
            assert isinstance(block, Block)
            x, beside = run(block, x, beside, narrowed)
        if network.spec.order == "pre":
            x, _ = self.passes.activate(x, network.final.get_submodule("norm"))
        return network.average(x).float()

    def _run(self, block: Block, x: Tensor, beside: Tensor, weights: dict[nn.Conv2d, Tensor]) -> tuple[Tensor, Tensor]:
        layers: Any = block.layers
        for layer in layers[:-1]:
            x, _ = self.passes.activate(_respond(layer, x, weights), layer.norm)
        response, norm = _respond(layers[-1], x, weights), layers[-1].norm
        shortcut: Any = block.shortcut
        if shortcut is None:
            return self.passes.activate(response, norm)
        if isinstance(shortcut, Layer):
            return self.passes.activate(response, norm, _respond(shortcut, beside, weights), shortcut.norm)
        return self.passes.activate(response, norm, shortcut(beside))

    def _run_preactivated(
        self, block: Block, x: Tensor, beside: Tensor, weights: dict[nn.Conv2d, Tensor]
    ) -> tuple[Tensor, Tensor]:
        if block.preactivation is not None:
            x, beside = self.passes.activate(x, block.preactivation.get_submodule("norm"))
        layers: Any = block.layers
        for layer in layers:
            if "norm" in layer.operators:
                x, _ = self.passes.activate(x, layer.norm)
            x = _respond(layer, x, weights)
        shortcut = block.shortcut
        if shortcut is not None:
            x = x.add_(_respond(shortcut, beside, weights) if isinstance(shortcut, Layer) else shortcut(beside))
        return x, x


def _respond(layer: Any, x: Tensor, weights: dict[nn.Conv2d, Tensor]) -> Tensor:
    conv = layer.conv
    return F.conv2d(x, weights[conv], None, conv.stride, conv.padding)
