"""Batch normalization with the ReLU and the addition after it, as autograd knows them, in passes of our own.

Forward, responses are read once for their statistics and once to be normalized, shortcut and ReLU included; a
projection is normalized in that same pass. Backward, one pass sums and one writes; gradients of an output that was used
twice are added on the way. Maps are channels-last; statistics, sums and parameters are float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from reslab.networks.fused import normalization_kernels

kernels: Any = normalization_kernels  # what Triton's decorator returns has no signature a type checker could follow
JOINED = 8  # channels whose parts one program joins
MOST_PARTS = 1024


@dataclass(frozen=True, kw_only=True)
class Tiles:
    """How much one program takes on: `channels` at a time, and so many values of a map.

    Sums go in parts, as many as give every processor `programs` of them to run at once.
    """

    channels: int = 64
    written: int = 4096
    summed: int = 4096
    summed_gradients: int = 2048
    pooled: int = 1024
    programs: int = 4
    loads: int = 3


TILES = Tiles()


@dataclass(frozen=True)
class Division:
    """How a grid of programs shares a map: in `count` parts of `span` pixels, by a `tile` that kernels are made for."""

    pixels: int
    width: int
    count: int
    span: int
    grid: tuple[int]
    tile: dict[str, int]

    @classmethod
    def of(cls, maps: Tensor, *, values: int, in_parts: bool = False) -> Division:
        """Divide maps into tiles of so many values, or into parts of such tiles."""
        width = maps.shape[1]
        pixels = maps.numel() // width
        block = min(width & -width, TILES.channels)  # a power of two that divides the width
        rows = values // block
        span = rows
        if in_parts:
            parts = min(MOST_PARTS, max(1, TILES.programs * _num_processors(maps.device) * block // width))
            span = -(-pixels // (parts * rows)) * rows
        count = -(-pixels // span)
        return cls(pixels, width, count, span, (count * width // block,), {"ROWS": rows, "BLOCK": block})


@cache
def _num_processors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


def activate(
    response: Tensor, norm: nn.BatchNorm2d, shortcut: Tensor | None = None, shortcut_norm: nn.BatchNorm2d | None = None
) -> tuple[Tensor, Tensor]:
    """Return relu(norm(response) + shortcut), twice: whoever uses it twice gives two gradients, which are added here.

    A shortcut with a norm of its own is normalized by it. Statistics are the batch's, and move the running ones.
    """
    norms = [norm] if shortcut_norm is None else [norm, shortcut_norm]
    parameters = [parameter for each in norms for parameter in (each.weight, each.bias)]
    return _Activation.apply(response, shortcut, norms, *parameters)  # pyright: ignore[reportReturnType]


def narrow(weights: Sequence[Tensor], dtype: torch.dtype) -> list[Tensor]:
    """Return copies of kernels in another precision, made at once, as are their gradients."""
    return list(_Narrowing.apply(dtype, *weights))  # pyright: ignore[reportArgumentType]


class _Activation(torch.autograd.Function):
    @staticmethod
    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, response: Tensor, shortcut: Tensor | None, norms: Sequence[nn.BatchNorm2d], *parameters: Tensor
    ) -> tuple[Tensor, Tensor]:
        response, shortcut = lay_out(response), None if shortcut is None else lay_out(shortcut)
        affine, shortcut_affine, shortcut_gamma = find_affine(response, norms[0]), None, None
        added = kernels.NOTHING
        if shortcut is not None:
            assert shortcut.shape == response.shape
            added = kernels.MAP
            if len(norms) > 1:
                added, shortcut_affine = kernels.PROJECTION, find_affine(shortcut, norms[1])
                shortcut_gamma = parameters[2]
        output, division, lit = torch.empty_like(response), Division.of(response, values=TILES.written), None
        if added == kernels.MAP:
            lit = response.new_empty(division.pixels, division.width // 8, dtype=torch.uint8)
        kernels.activate[division.grid](
            response, affine, shortcut, shortcut_affine, output, lit, division.pixels, division.width,
            ADDED=added, **division.tile,
        )  # fmt: skip
        ctx.added = added
        ctx.set_materialize_grads(False)  # there is no second gradient where there was no second use
        ctx.save_for_backward(
            response, affine, parameters[0], lit,
            shortcut if added == kernels.PROJECTION else None, shortcut_affine, shortcut_gamma,
        )  # fmt: skip
        return output, output.detach()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        response, affine, gamma, lit, shortcut, shortcut_affine, shortcut_gamma = ctx.saved_tensors
        added = ctx.added
        gradient, other = order(gradients)
        joins = added != kernels.NOTHING
        passed = torch.empty_like(response) if joins else None
        parts, division = sum_gradients(
            gradient, other, response, affine, lit=lit, shortcut=shortcut, shortcut_affine=shortcut_affine,
            passed=passed, added=added,
        )  # fmt: skip
        fold, *found = join_gradients(parts, gamma, affine, pixels=division.pixels, which=1)
        shortcut_fold, shortcut_target = None, None
        if added == kernels.PROJECTION:
            shortcut_target = torch.empty_like(response)
            shortcut_fold, *more = join_gradients(
                parts, shortcut_gamma, shortcut_affine, pixels=division.pixels, which=2
            )
            found += more
        target, division = torch.empty_like(response), Division.of(response, values=TILES.written)
        kernels.fold_gradients[division.grid](
            passed if joins else gradient, None if joins else other, response, None if joins else affine, fold, target,
            shortcut, shortcut_fold, shortcut_target, division.pixels, division.width,
            TWO=not joins and other is not None, ADDED=added, PASSED=joins, **division.tile,
        )  # fmt: skip
        return target, passed if shortcut_target is None else shortcut_target, None, *found


class _Narrowing(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, *weights: Tensor) -> tuple[Tensor, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        narrowed = [torch.empty_like(weight, dtype=dtype) for weight in weights]
        torch._foreach_copy_(narrowed, list(weights))  # pyright: ignore[reportPrivateImportUsage]
        ctx.save_for_backward(*weights)
        frozen = [copy for copy, weight in zip(narrowed, weights, strict=True) if not weight.requires_grad]
        ctx.mark_non_differentiable(*frozen)
        return tuple(narrowed)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        needed, weights = ctx.needs_input_grad[1:], ctx.saved_tensors
        found = [torch.empty_like(weight) if need else None for weight, need in zip(weights, needed, strict=True)]
        torch._foreach_copy_(  # pyright: ignore[reportPrivateImportUsage]
            [target for target in found if target is not None],
            [_lay_out_like(*pair) for *pair, need in zip(gradients, weights, needed, strict=True) if need],
        )
        return None, *found


def find_affine(response: Tensor, norm: nn.BatchNorm2d) -> Tensor:
    """Return how a batch of responses is normalized, and move the running statistics."""
    division = Division.of(response, values=TILES.summed, in_parts=True)
    pixels, width, count, span = division.pixels, division.width, division.count, division.span
    if pixels == 1:
        raise ValueError(
            f"normalization needs more than one value per channel; the responses have shape {tuple(response.shape)}"
        )
    parts, affine = response.new_empty(count, 2, width, dtype=torch.float32), norm.weight.new_empty(4, width)
    kernels.sum_responses[division.grid](response, parts, pixels, width, span, **division.tile, LOADS=TILES.loads)
    kernels.join_responses[(width // JOINED,)](
        parts, norm.weight, norm.bias, norm.running_mean, norm.running_var, affine, count, pixels, width, span,
        norm.momentum, norm.eps, **_joining(count),
    )  # fmt: skip
    return affine


def sum_gradients(
    gradient: Tensor,
    other: Tensor | None,
    response: Tensor,
    affine: Tensor,
    *,
    added: Any,
    passed: Tensor | None,
    lit: Tensor | None = None,
    shortcut: Tensor | None = None,
    shortcut_affine: Tensor | None = None,
) -> tuple[Tensor, Division]:
    """Return the parts of the sums of what came through ReLU and of its products with the responses."""
    division = Division.of(response, values=TILES.summed_gradients, in_parts=True)
    parts = affine.new_empty(division.count, 2 if shortcut is None else 3, division.width)
    kernels.sum_gradients[division.grid](
        gradient, other, response, affine, lit, shortcut, shortcut_affine, passed, parts,
        division.pixels, division.width, division.span,
        TWO=other is not None, ADDED=added, PASSES=passed is not None, **division.tile, LOADS=TILES.loads,
    )  # fmt: skip
    return parts, division


def join_gradients(
    parts: Tensor, gamma: Tensor, affine: Tensor, *, pixels: int, which: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return how gradients of normalized responses are folded, and the gradients of gamma and beta."""
    count, sums, width = parts.shape
    fold, of_gamma, of_beta = gamma.new_empty(3, width), torch.empty_like(gamma), torch.empty_like(gamma)
    kernels.join_gradients[(width // JOINED,)](
        parts, gamma, affine, fold, of_gamma, of_beta, count, pixels, width,
        SUMS=sums, WHICH=which, **_joining(count),
    )  # fmt: skip
    return fold, of_gamma, of_beta


def _joining(count: int) -> dict[str, int]:
    """Return what kernels are made for that join so many parts."""
    return {"PARTS": 1 << (count - 1).bit_length(), "BLOCK": JOINED, "num_warps": 8}


def order(gradients: Sequence[Tensor | None]) -> tuple[Tensor, Tensor | None]:
    """Return the gradients there are of an output that was handed out twice."""
    first, *rest = (lay_out(gradient) for gradient in gradients if gradient is not None)
    return first, rest[0] if rest else None


def lay_out(maps: Tensor) -> Tensor:
    """Return maps as [pixels, channels] in memory, as they mostly are."""
    return maps.contiguous(memory_format=torch.channels_last)


def _lay_out_like(gradient: Tensor, weight: Tensor) -> Tensor:
    """Return a gradient in its weight's layout and with its strides: those of 1x1 kernels may be told in two ways."""
    last = weight.is_contiguous(memory_format=torch.channels_last)
    laid = gradient.contiguous(memory_format=torch.channels_last if last else torch.contiguous_format)
    return laid.as_strided(weight.shape, weight.stride())
