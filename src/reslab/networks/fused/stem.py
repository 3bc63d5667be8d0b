"""The stem of networks for photographs: its convolution on pixels two by two, its end without its full map.

Tensor cores take channels by the eight, and images have three: most of what they multiply would be zeros. A 7x7 kernel
at every other pixel is a 4x4 one at every quad of pixels, whose channels are twelve, put into sixteen.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from reslab.networks.fused import normalization, stem_kernels
from reslab.networks.fused.normalization import Division, find_affine, join_gradients, lay_out, order, sum_gradients
from reslab.networks.fused.normalization_kernels import NOTHING

kernels: Any = stem_kernels
KERNEL, STRIDE, PADDING = (7, 7), (2, 2), (3, 3)
BEFORE, AFTER = 4, 2  # zeros around the image: a quad begins at an even pixel, so that the kernel gets a zero row first
ROOM = 8  # channels for one row of a quad


def respond(conv: nn.Conv2d, images: Tensor, weight: Tensor) -> Tensor:
    """Return the stem's responses to images; `weight` is its kernel, which says the precision."""
    height, length = images.shape[2:]
    shape = (conv.kernel_size, conv.stride, conv.padding)
    if shape != (KERNEL, STRIDE, PADDING) or height % 2 or length % 2 or 2 * conv.in_channels > ROOM:
        return F.conv2d(images.to(weight.dtype), weight, None, conv.stride, conv.padding)
    return F.conv2d(_gather_quads(images, weight.dtype), _in_quads(weight))


def _gather_quads(images: Tensor, dtype: torch.dtype) -> Tensor:
    """Return images with a quad of pixels in place of each: (count, 16, height / 2 + 3, length / 2 + 3)."""
    count, channels, height, length = images.shape
    quad_height, quad_length = ((side + BEFORE + AFTER) // 2 for side in (height, length))
    quads, rows = count * quad_height * quad_length, normalization.TILES.written // (2 * ROOM)
    shape = count, 2 * ROOM, quad_height, quad_length
    target = torch.empty(shape, dtype=dtype, device=images.device, memory_format=torch.channels_last)
    kernels.gather_quads[(-(-quads // rows),)](
        lay_out(images), target, quads, HEIGHT=height, LENGTH=length, BEFORE=BEFORE,
        QUAD_HEIGHT=quad_height, QUAD_LENGTH=quad_length, CHANNELS=channels, ROOM=ROOM, ROWS=rows,
    )  # fmt: skip
    return target


def _in_quads(weight: Tensor) -> Tensor:
    """Return a 7x7 kernel as the 4x4 one over quads: (width, 16, 4, 4)."""
    width, channels = weight.shape[:2]
    even = F.pad(weight, (1, 0, 1, 0)).reshape(width, channels, 4, 2, 4, 2)
    rows = even.permute(0, 3, 5, 1, 2, 4).reshape(width, 2, 2 * channels, 4, 4)
    quads = F.pad(rows, (0, 0, 0, 0, 0, ROOM - 2 * channels)).reshape(width, 2 * ROOM, 4, 4)
    return quads.contiguous(memory_format=torch.channels_last)


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
