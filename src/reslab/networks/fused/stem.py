"""The stem's end, normalization with ReLU and the first pool, as autograd knows it: its full map is never written."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from reslab.networks.fused import normalization, stem_kernels
from reslab.networks.fused.normalization import Division, find_affine, join_gradients, lay_out, order, sum_gradients
from reslab.networks.fused.normalization_kernels import NOTHING

kernels: Any = stem_kernels


def activate_pool(response: Tensor, norm: nn.BatchNorm2d, pool: nn.MaxPool2d) -> tuple[Tensor, Tensor]:
    """Return the maxima of relu(norm(response)) over 3x3 windows at every other pixel, twice as `activate` does."""
    return _PooledActivation.apply(response, norm.weight, norm.bias, norm, pool)  # pyright: ignore[reportReturnType]


class _PooledActivation(torch.autograd.Function):
    @staticmethod
    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, response: Tensor, gamma: Tensor, beta: Tensor, norm: nn.BatchNorm2d, pool: nn.MaxPool2d
    ) -> tuple[Tensor, Tensor]:
        response = lay_out(response)
        affine = find_affine(response, norm)
        shape = pool(torch.empty(response.shape, device="meta")).shape
        output = torch.empty(shape, dtype=response.dtype, device=response.device, memory_format=torch.channels_last)
        winning, winner = torch.empty_like(output), torch.empty_like(output, dtype=torch.int8)
        division = Division.of(output, values=normalization.TILES.pooled)
        window = {
            "HEIGHT": response.shape[2],
            "LENGTH": response.shape[3],
            "POOLED_HEIGHT": shape[2],
            "POOLED_LENGTH": shape[3],
            "PADDING": pool.padding,
        }
        kernels.activate_pool[division.grid](
            response, affine, output, winner, winning, division.pixels, division.width, **window, **division.tile
        )
        ctx.window = window
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(response, affine, gamma, winner, winning)
        return output, output.detach()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        response, affine, gamma, winner, winning = ctx.saved_tensors
        passed = torch.empty_like(winning)
        parts, _ = sum_gradients(*order(gradients), winning, affine, passed=passed, added=NOTHING)
        pixels = response.numel() // response.shape[1]
        fold, *found = join_gradients(parts, gamma, affine, pixels=pixels, which=1)
        target = torch.empty_like(response)
        # Two by two pixels together, in every window's corner.
        height, length = ((side + ctx.window["PADDING"] + 1) // 2 for side in response.shape[2:])
        quads = response[:, :, :1, :1].expand(-1, -1, height, length)
        division = Division.of(quads, values=normalization.TILES.pooled)
        kernels.fold_pooled_gradients[division.grid](
            passed, winner, response, fold, target, division.pixels, division.width, **ctx.window, **division.tile
        )
        return target, *found, None, None
