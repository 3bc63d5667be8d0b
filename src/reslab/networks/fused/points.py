"""A plain or residual CIFAR network at many weights at once: one kernel a layer, over all points and images together.

What every point computes is the network's output in tests, with statistics that are given. Nothing is folded: scales
and shifts of the normalizations are applied to sums in float32, as are the shortcuts.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from reslab.networks.fused import points_kernels as typed_kernels
from reslab.networks.fused.chain import LOADS, SHORTCUTS, TILES
from reslab.networks.fused.layout import lay_out
from reslab.networks.resnet import ResidualNetwork

kernels: Any = typed_kernels  # what Triton's decorator returns has no signature a type checker could follow
NORM = ("weight", "bias", "running_mean", "running_var")
# How tensor cores multiply float32: as three products of parts that they take, which lose next to nothing.
PRODUCTS = {torch.float32: "tf32x3"}


class PointsChain:
    """The fused form of a network for stacked weights, by the names of its own parameters and statistics."""

    def __init__(self, network: ResidualNetwork, *, dtype: torch.dtype) -> None:
        self.network, self.dtype = network, dtype
        self.layers = lay_out(network)
        names = {id(module): name for name, module in network.named_modules()}
        self.convs = [f"{names[id(layer.conv)]}.weight" for layer in self.layers]
        self.norms = [[f"{names[id(layer.norm)]}.{key}" for key in NORM] for layer in self.layers]
        self.own = {**dict(network.named_parameters()), **dict(network.named_buffers())}
        self.sums = {layer.arrives for layer in self.layers if layer.shortcut == "sum"}
        # The last layer that reads what a layer put out: after it that can go.
        self.last = {read: n for n, layer in enumerate(self.layers) for read in (layer.reads, layer.arrives)}

    def __call__(self, stacked: Mapping[str, Tensor], images: Tensor) -> Tensor:
        """Return the logits, (points, images, classes), at stacked parameters and statistics; the rest is its own."""
        features = self.features(stacked, images)
        weight, bias = (stacked.get(name, self.own[name]) for name in ("classifier.weight", "classifier.bias"))
        return features @ weight.transpose(-1, -2) + bias.unsqueeze(-2)

    def features(self, stacked: Mapping[str, Tensor], images: Tensor) -> Tensor:
        """Return the average of the last map in float32, (points, images, channels)."""
        points = len(next(iter(stacked.values())))
        shared = images.permute(0, 2, 3, 1).to(self.dtype).contiguous()
        maps: dict[int, Tensor] = {-1: shared[None].flatten(1, 3)}
        sums: dict[int, Tensor] = {}
        for number, layer in enumerate(self.layers):
            shape = points, len(images) * layer.target_side**2, layer.conv.out_channels
            maps[number] = torch.empty(shape, dtype=self.dtype, device=images.device)
            if number in self.sums:
                sums[number] = torch.empty_like(maps[number])
            arriving = (sums if layer.shortcut == "sum" else maps).get(layer.arrives)
            self._run(number, stacked, source=maps[layer.reads], arriving=arriving, target=maps[number], kept=sums)
            for read in [read for read in maps if self.last.get(read) == number]:
                del maps[read]
                sums.pop(read, None)
        last = maps[len(self.layers) - 1]
        return last.unflatten(1, (len(images), -1)).mean(2, dtype=torch.float32)

    def _run(
        self,
        number: int,
        stacked: Mapping[str, Tensor],
        *,
        source: Tensor,
        arriving: Tensor | None,
        target: Tensor,
        kept: Mapping[int, Tensor],
    ) -> None:
        layer = self.layers[number]
        points, pixels, width = target.shape
        scale, shift = self._affine(number, stacked)
        tile = TILES[width]
        block = tile.block * 2 // self.dtype.itemsize  # as many bytes of either type
        kind = layer.shortcut if layer.shortcut != "projection" else "identity"  # it comes normalized
        kernels.convolve_points[(-(-pixels // block), points)](
            source, self._weight(number, stacked, points), scale, shift,
            source if arriving is None else arriving, kept.get(number, target), target, pixels,
            _step(source), _step(scale), 0 if arriving is None else _step(arriving),
            **layer.shape, KIND=SHORTCUTS[kind], BEFORE=layer.zeros_before, JOINS_BEFORE=layer.joins_before,
            KEEPS=number in self.sums, ACTIVATES=not layer.projects, PRECISION=PRODUCTS.get(self.dtype, "ieee"),
            BLOCK=block, LOADS=LOADS, num_warps=tile.warps,
        )  # fmt: skip

    def _weight(self, number: int, stacked: Mapping[str, Tensor], points: int) -> Tensor:
        """Return a layer's kernels as (points, out, down, right, in)."""
        name = self.convs[number]
        weight = stacked[name] if name in stacked else self.own[name].expand(points, -1, -1, -1, -1)
        return weight.permute(0, 1, 3, 4, 2).to(self.dtype).contiguous()

    def _affine(self, number: int, stacked: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return what a normalization scales and shifts by: a row for every point, or one for all."""
        if stacked.keys().isdisjoint(self.norms[number]):
            return self._own_affines[number]
        return self._find_affine(number, stacked)

    @cached_property
    def _own_affines(self) -> list[tuple[Tensor, Tensor]]:
        """Those of the network itself: where nothing of them is stacked they are found once."""
        return [self._find_affine(number, {}) for number in range(len(self.layers))]

    def _find_affine(self, number: int, stacked: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        gain, shift, mean, variance = (stacked.get(name, self.own[name]).float() for name in self.norms[number])
        scale = gain * torch.rsqrt(variance + self.layers[number].norm.eps)
        scale, shifted = torch.broadcast_tensors(scale, shift - mean * scale)
        return torch.atleast_2d(scale).contiguous(), torch.atleast_2d(shifted).contiguous()


def _step(tensor: Tensor) -> int:
    """Return how far one point's values are from the next one's; 0 where all points share them."""
    return tensor.stride(0) if len(tensor) > 1 else 0
