"""A plain or residual CIFAR network as a chain of fused layers, forward and backward by hand.

Two kernels a layer on the way forward, three on the way back; the gradients of weights, on which nothing waits, go
beside the others on a stream of their own.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from reslab.networks.fused import kernels as typed_kernels
from reslab.networks.fused.lanes import Lane, Lanes
from reslab.networks.fused.layout import lay_out, layers_alike
from reslab.networks.resnet import ResidualNetwork

kernels: Any = typed_kernels  # what Triton's decorator returns has no signature a type checker could follow
SHORTCUTS = {
    "none": kernels.NO_SHORTCUT,
    "identity": kernels.IDENTITY,
    "zero-padding": kernels.ZERO_PADDING,
    "projection": kernels.PROJECTION,
    "sum": kernels.IDENTITY,
}
LOADS = 3  # under way while the tensor cores work


@dataclass(frozen=True, kw_only=True)
class Tile:
    """How many pixels one program takes on, by the layer's width; the fastest of those tried on an H200, batch 128.

    `block` is of convolutions, `pixel_block` of what goes pixel by pixel. Gradients of weights take `weights_span`
    pixels a program, `weights_block` at a time, for one tap of the kernel or (as 4) for a row of it.
    """

    block: int
    warps: int
    pixel_block: int
    weights_block: int
    weights_span: int
    weights_taps: int


TILES = {
    16: Tile(block=512, warps=4, pixel_block=128, weights_block=128, weights_span=1024, weights_taps=4),
    32: Tile(block=256, warps=4, pixel_block=32, weights_block=64, weights_span=512, weights_taps=4),
    64: Tile(block=64, warps=4, pixel_block=32, weights_block=64, weights_span=512, weights_taps=1),
}


@dataclass
class Pass:
    """What a pass leaves behind, by layer: responses, how they are normalized, outputs; on the way back, gradients."""

    count: int  # of images
    lane: Lane
    weights: list[Tensor]
    affines: list[Tensor]
    responses: dict[int, Tensor] = field(default_factory=dict)
    outputs: dict[int, Tensor] = field(default_factory=dict)  # the images are that of layer -1
    # Of the way back: how normalizations fold gradients, and gradients of parameters, responses, projections' inputs.
    folds: list[Tensor] = field(default_factory=list)
    gammas: list[Tensor] = field(default_factory=list)
    betas: list[Tensor] = field(default_factory=list)
    weight_gradients: dict[int, Tensor] = field(default_factory=dict)
    gradients: dict[int, Tensor] = field(default_factory=dict)
    sums: dict[int, Tensor] = field(default_factory=dict)  # gradients of responses that a shortcut joined
    projected: dict[int, Tensor] = field(default_factory=dict)
    parts: dict[int, Tensor] = field(default_factory=dict)  # of weights' gradients, by the first of layers alike


class FusedChain:
    """The fused form of a network: it uses the network's own parameters and statistics.

    A batch goes through it in as many equal parts as there are `lanes`, side by side.
    """

    def __init__(self, network: ResidualNetwork, *, dtype: torch.dtype, lanes: int = 1) -> None:
        self.dtype = dtype
        self.layers = lay_out(network)
        self.alike = layers_alike(self.layers)
        # Which layer the shortcut from a block's input ends at, by the layer that begins the block.
        self.ends = {layer.reads: number for number, layer in enumerate(self.layers) if layer.shortcut != "none"}
        # And which one a layer's responses go to as they are.
        self.sums = {layer.arrives: number for number, layer in enumerate(self.layers) if layer.shortcut == "sum"}
        self.parameters = [p for layer in self.layers for p in (layer.conv.weight, layer.norm.weight, layer.norm.bias)]
        counts = [layer.norm.num_batches_tracked for layer in self.layers]
        self.counts = [count for count in counts if count is not None]
        self.device = self.parameters[0].device
        self.lanes = Lanes([layer.norm for layer in self.layers], count=lanes, device=self.device)

    def features(self, images: Tensor) -> Tensor:
        """Return the average-pooled output of the last block, in train mode."""
        return _Features.apply(images, self, *self.parameters)  # pyright: ignore[reportReturnType]

    def forward(self, images: Tensor) -> tuple[Tensor, list[Pass]]:
        """Run all layers; return the pooled features and what the backward pass needs, by lane."""
        assert images.shape[-1] == self.layers[0].side
        weights, pooled, passes = self._narrow_weights(), [], []
        with self.lanes.sharing_averages():
            for lane, part in zip(self.lanes.all, images.chunk(len(self.lanes)), strict=True):
                with lane.entered():
                    passes.append(Pass(len(part), lane, weights, self._rows_of_layers(4)))
                    pooled.append(self._run_layers(part, passes[-1]))
            self.lanes.join()
        torch._foreach_add_(self.counts, len(self.lanes))  # pyright: ignore[reportPrivateImportUsage]
        return pooled[0] if len(pooled) == 1 else torch.cat(pooled), passes

    def _run_layers(self, images: Tensor, kept: Pass) -> Tensor:
        kept.outputs[-1] = images.permute(0, 2, 3, 1).to(self.dtype)
        for number, layer in enumerate(self.layers):
            kept.responses[number] = self._convolve(number, kept)
            if not layer.projects:
                kept.outputs[number] = self._activate(number, kept)
        last = kept.outputs[len(self.layers) - 1]
        return last.unflatten(0, (len(images), -1)).mean(1, dtype=torch.float32)

    def backward(self, passes: list[Pass], pooled_gradient: Tensor) -> list[Tensor]:
        """Return the gradients of the parameters, in their order."""
        found = []
        for kept, part in zip(passes, pooled_gradient.chunk(len(passes)), strict=True):
            with kept.lane.entered():
                found.append(self._run_back(kept, part))
        self.lanes.join()
        for other in found[1:]:
            torch._foreach_add_(found[0], other)  # pyright: ignore[reportPrivateImportUsage]
        return found[0]

    def _run_back(self, kept: Pass, pooled_gradient: Tensor) -> list[Tensor]:
        kept.folds, kept.gammas, kept.betas = (self._rows_of_layers(rows) for rows in (3, 1, 1))
        last = len(self.layers) - 1
        kept.gradients[last] = self._unpool(last, kept, pooled_gradient)
        for number in range(last, -1, -1):
            layer = self.layers[number]
            if layer.projects:
                kept.gradients[number] = self._pass_to_projection(number, kept)
            gradient = self._unfold(number, kept)
            if layer.joins_before:
                kept.sums[number] = gradient
            if layer.shortcut == "none" or layer.joins_before:
                del kept.gradients[number]  # else that of a block's end is still wanted where the block begins
            with kept.lane.beside(gradient):
                self._correlate(number, kept, gradient)
            if layer.projects:
                kept.projected[number] = self._project_back(number, kept, gradient)
            elif number:
                kept.gradients[layer.reads] = self._convolve_back(number, kept, gradient)
                kept.gradients.pop(self.ends.get(number, -1), None)
        if kept.lane.aside is not None:
            torch.cuda.current_stream().wait_stream(kept.lane.aside)
        ordered = []
        for number, layer in enumerate(self.layers):
            weight = layer.conv.weight
            ordered.append(kept.weight_gradients[number].as_strided(weight.shape, weight.stride()))
            ordered += [kept.gammas[number], kept.betas[number]]
        return ordered

    def _convolve(self, number: int, kept: Pass) -> Tensor:
        layer = self.layers[number]
        norm, width = layer.norm, layer.conv.out_channels
        pixels = kept.count * layer.target_side**2
        response = torch.empty(pixels, width, dtype=self.dtype, device=self.device)
        parts, shares = self._divide(pixels, width)
        shortcut = layer.shortcut if layer.joins_before else "none"
        kernels.convolve[(shares["PROGRAMS"],)](
            kept.outputs[layer.reads], kept.weights[number], self._arriving(number, kept, shortcut), response,
            norm.weight, norm.bias, kept.lane.means[number], kept.lane.variances[number], kept.affines[number],
            parts, kept.lane.counter, pixels, norm.momentum, norm.eps, **layer.shape,
            KIND=SHORTCUTS[shortcut], BEFORE=layer.zeros_before, LOADS=LOADS, **shares, num_warps=TILES[width].warps,
        )  # fmt: skip
        return response

    def _activate(self, number: int, kept: Pass) -> Tensor:
        layer, response = self.layers[number], kept.responses[number]
        pixels, width = response.shape
        target = torch.empty_like(response)
        block = TILES[width].pixel_block
        shortcut = "none" if layer.joins_before else layer.shortcut
        kernels.activate[(-(-pixels // block),)](
            response, kept.affines[number], self._arriving(number, kept, shortcut),
            kept.affines[layer.arrives] if shortcut == "projection" else None, target, pixels,
            SIDE=layer.target_side, WIDTH=width, KIND=SHORTCUTS[shortcut], BEFORE=layer.zeros_before, BLOCK=block,
        )  # fmt: skip
        return target

    def _arriving(self, number: int, kept: Pass, shortcut: str) -> Tensor | None:
        arrives = self.layers[number].arrives
        if shortcut == "none":
            return None
        return (kept.responses if shortcut in ("projection", "sum") else kept.outputs)[arrives]

    def _unpool(self, number: int, kept: Pass, pooled_gradient: Tensor) -> Tensor:
        response = kept.responses[number]
        pixels, width = response.shape
        target = torch.empty_like(response)
        parts, shares = self._divide(pixels, width)
        kernels.unpool[(shares["PROGRAMS"],)](
            pooled_gradient.contiguous(), kept.outputs[number], *self._norm_of(number, kept), target,
            *self._found_of(number, kept), parts, kept.lane.counter, pixels,
            AREA=pixels // kept.count, WIDTH=width, **shares,
        )  # fmt: skip
        return target

    def _pass_to_projection(self, number: int, kept: Pass) -> Tensor:
        """Return the gradient of a projection's normalized responses: that of its block's end, the next layer."""
        gradient = kept.gradients[number + 1]
        pixels, width = gradient.shape
        parts, shares = self._divide(pixels, width)
        kernels.pass_to_projection[(shares["PROGRAMS"],)](
            gradient, *self._norm_of(number, kept), *self._found_of(number, kept), parts, kept.lane.counter, pixels,
            WIDTH=width, **shares,
        )  # fmt: skip
        return gradient

    def _unfold(self, number: int, kept: Pass) -> Tensor:
        response = kept.responses[number]
        pixels, width = response.shape
        target, block = torch.empty_like(response), TILES[width].pixel_block
        beside = kept.sums.pop(self.sums[number]) if number in self.sums else None
        kernels.unfold[(-(-pixels // block),)](
            kept.gradients[number], response, kept.folds[number], beside, target, pixels,
            WIDTH=width, KIND=SHORTCUTS["none" if beside is None else "identity"], BLOCK=block,
        )  # fmt: skip
        return target

    def _convolve_back(self, number: int, kept: Pass, gradient: Tensor) -> Tensor:
        layer = self.layers[number]
        before = layer.reads
        response = kept.responses[before]
        pixels, width = response.shape
        target = torch.empty_like(response)
        parts, shares = self._divide(pixels, width)
        kind, of_shortcut, zeros_before = self._leaving(number, kept)
        kernels.convolve_back[(shares["PROGRAMS"],)](
            gradient, kept.weights[number], kept.outputs[before], of_shortcut, *self._norm_of(before, kept), target,
            *self._found_of(before, kept), parts, kept.lane.counter, pixels,
            SIDE=layer.side, STRIDE=layer.conv.stride[0], IN=layer.conv.in_channels, OUT=layer.conv.out_channels,
            KIND=kind, BEFORE=zeros_before, LOADS=LOADS, **shares, num_warps=TILES[width].warps,
        )  # fmt: skip
        return target

    def _leaving(self, number: int, kept: Pass) -> tuple[Any, Tensor | None, int]:
        """Return what the shortcut beside a layer brings back to its input: kind, gradient, zero channels."""
        last = self.ends.get(number)
        if last is None or self.layers[last].shortcut == "sum":
            return SHORTCUTS["none"], None, 0
        end = self.layers[last]
        if end.shortcut == "projection":
            return SHORTCUTS["identity"], kept.projected.pop(end.arrives), 0
        gradient = kept.sums.pop(last) if end.joins_before else kept.gradients[last]
        return SHORTCUTS[end.shortcut], gradient, end.zeros_before

    def _project_back(self, number: int, kept: Pass, gradient: Tensor) -> Tensor:
        layer = self.layers[number]
        target = torch.empty_like(kept.responses[layer.reads])
        pixels, width = target.shape
        block = TILES[width].block
        kernels.project_back[(-(-pixels // block),)](
            gradient, kept.weights[number], target, pixels, SIDE=layer.side, STRIDE=layer.conv.stride[0],
            IN=width, OUT=layer.conv.out_channels, BLOCK=block,
        )  # fmt: skip
        return target

    def _correlate(self, number: int, kept: Pass, gradient: Tensor) -> None:
        """Find the gradient of a layer's weights in parts; with the last layer of its shape, add the parts of all."""
        layer, alike = self.layers[number], self.alike[number]
        pixels, width = gradient.shape
        tile, size = TILES[width], layer.conv.kernel_size[0]
        taps = tile.weights_taps if size > 1 else 1
        parts = -(-pixels // tile.weights_span)
        if number == alike[-1]:
            room = torch.empty(len(alike), parts, layer.conv.weight.numel(), device=self.device)
            kept.parts[alike[0]] = room
        kernels.correlate[(parts, size if taps > 1 else size * size)](
            gradient, kept.outputs[layer.reads], kept.parts[alike[0]][alike.index(number)], pixels, **layer.shape,
            TAPS=taps, BLOCK=tile.weights_block, SPAN=tile.weights_span, LOADS=LOADS,
            num_warps=tile.warps,
        )  # fmt: skip
        if number == alike[0]:
            kept.weight_gradients |= dict(zip(alike, kept.parts.pop(number).sum(1), strict=True))

    def _norm_of(self, number: int, kept: Pass) -> tuple[Tensor, Tensor, Tensor]:
        return kept.responses[number], kept.affines[number], self.layers[number].norm.weight

    def _found_of(self, number: int, kept: Pass) -> tuple[Tensor, Tensor, Tensor]:
        return kept.folds[number], kept.gammas[number], kept.betas[number]

    def _narrow_weights(self) -> list[Tensor]:
        weights = [layer.conv.weight for layer in self.layers]
        flat = torch.cat([weight.as_strided((weight.numel(),), (1,)) for weight in weights]).to(self.dtype)
        return list(flat.split([weight.numel() for weight in weights]))

    def _rows_of_layers(self, rows: int) -> list[Tensor]:
        """Return room for so many numbers a channel of every layer."""
        sizes = [rows * layer.conv.out_channels for layer in self.layers]
        return list(torch.empty(sum(sizes), device=self.device).split(sizes))

    def _divide(self, pixels: int, width: int) -> tuple[Tensor, dict[str, int]]:
        """Return room for the sums that programs write, each its part, and how they share pixels and add the parts."""
        block = TILES[width].block
        programs = -(-pixels // block)
        rows = min(1 << (programs - 1).bit_length(), 8192 // width)
        parts = torch.empty(programs, 2, width, device=self.device)
        return parts, {"BLOCK": block, "PROGRAMS": programs, "ROWS": rows}


class _Features(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, images: Tensor, chain: FusedChain, *parameters: Tensor) -> Tensor:
        del parameters  # named so that autograd knows them; the chain has them
        pooled, ctx.passes = chain.forward(images)
        ctx.chain = chain
        return pooled

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        passes, ctx.passes = ctx.passes, None  # a loss may live on; the maps need not
        return None, None, *ctx.chain.backward(passes, gradients[0])
