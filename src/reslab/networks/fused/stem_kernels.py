"""The stem's kernels: images two by two; normalization, ReLU and the 3x3 maximum of every other pixel in one (Triton).

The map before the pool, the network's largest, is never written: its winners are kept instead, by their place in the
window and by their responses. Going back, whoever won gets the gradient, folded as `normalization_kernels` says.
"""

# ruff: noqa: N803
# pyright: reportGeneralTypeIssues=false

import triton
import triton.language as tl
from triton.language import constexpr

from reslab.networks.fused.kernels import CONSTANT, GRADIENT, RESPONSE, SCALE, SHIFT
from reslab.networks.fused.normalization_kernels import _row, _tile


@triton.jit
def gather_quads(
    images, target, quads,
    HEIGHT: constexpr,  # of an image
    LENGTH: constexpr,
    BEFORE: constexpr,  # zero rows and columns around it, on this side
    QUAD_HEIGHT: constexpr, QUAD_LENGTH: constexpr, CHANNELS: constexpr,
    ROOM: constexpr,  # of one row of a quad, its two pixels and zeros
    ROWS: constexpr,
):  # fmt: skip
    """Write two by two pixels as the channels of one: first those of the upper row, pixel by pixel, then the lower."""
    quad = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    real = quad < quads
    channel = tl.arange(0, 2 * ROOM)
    column, row = quad % QUAD_LENGTH * 2 - BEFORE, (quad // QUAD_LENGTH) % QUAD_HEIGHT * 2 - BEFORE
    image = quad // (QUAD_LENGTH * QUAD_HEIGHT)
    y, x = row[:, None] + channel[None, :] // ROOM, column[:, None] + channel[None, :] % ROOM // CHANNELS
    inside = real[:, None] & (y >= 0) & (y < HEIGHT) & (x >= 0) & (x < LENGTH)
    inside = inside & (channel % ROOM < 2 * CHANNELS)[None, :]
    place = ((image[:, None] * HEIGHT + y) * LENGTH + column[:, None]).to(tl.int64) * CHANNELS
    value = tl.load(images + place + (channel % ROOM)[None, :], mask=inside, other=0.0)
    here = quad.to(tl.int64)[:, None] * (2 * ROOM) + channel[None, :]
    tl.store(target + here, value.to(target.dtype.element_ty), mask=real[:, None])


@triton.jit
def activate_pool(
    response, affine, output, winner, winning, pooled_pixels, width,
    HEIGHT: constexpr,  # of the responses' map
    LENGTH: constexpr,  # of its rows
    POOLED_HEIGHT: constexpr, POOLED_LENGTH: constexpr, PADDING: constexpr, ROWS: constexpr, BLOCK: constexpr,
):  # fmt: skip
    """Write the largest relu(normalized response) of every window, which of the nine it is, and its response."""
    tile, channel = _tile(tl.program_id(0), width, BLOCK)
    pixel = tile * ROWS + tl.arange(0, ROWS)
    real = pixel < pooled_pixels
    left, top = pixel % POOLED_LENGTH * 2 - PADDING, (pixel // POOLED_LENGTH) % POOLED_HEIGHT * 2 - PADDING
    corner = (pixel // (POOLED_LENGTH * POOLED_HEIGHT) * HEIGHT + top) * LENGTH + left
    source = response + corner.to(tl.int64)[:, None] * width + channel[None, :]
    scale, shift = _row(affine, SCALE, width, channel), _row(affine, SHIFT, width, channel)
    sign = tl.where(scale < 0, -1.0, 1.0)  # with a negative scale the least response is the largest output
    best = tl.full([ROWS, BLOCK], float("-inf"), tl.float32)
    best_tap = tl.zeros([ROWS, BLOCK], tl.int32)
    for tap in tl.static_range(9):
        y, x = top + tap // 3, left + tap % 3
        inside = (real & (y >= 0) & (y < HEIGHT) & (x >= 0) & (x < LENGTH))[:, None]
        z = tl.load(source + (tap // 3 * LENGTH + tap % 3) * width, mask=inside, other=0.0).to(tl.float32) * sign
        # The first of equals, as torch has it; what is no number is not lost.
        better = inside & ~(z <= best)
        best = tl.where(better, z, best)
        best_tap = tl.where(better, tap, best_tap)
    best *= sign
    value = best * scale + shift
    here = pixel.to(tl.int64)[:, None] * width + channel[None, :]
    tl.store(output + here, tl.where(value < 0, 0.0, value).to(output.dtype.element_ty), mask=real[:, None])
    tl.store(winning + here, best.to(winning.dtype.element_ty), mask=real[:, None])
    tl.store(winner + here, best_tap.to(tl.int8), mask=real[:, None])


@triton.jit
def _window(passed, winner, image, row, column, real, width, channel, HEIGHT: constexpr, LENGTH: constexpr):
    """Return which pixel won a window, and the window's gradient."""
    inside = (real & (row >= 0) & (row < HEIGHT) & (column >= 0) & (column < LENGTH))[:, None]
    place = ((image * HEIGHT + row) * LENGTH + column).to(tl.int64)[:, None] * width + channel[None, :]
    tap = tl.load(winner + place, mask=inside, other=-1).to(tl.int32)
    return tap, tl.load(passed + place, mask=inside, other=0.0).to(tl.float32)


@triton.jit
def fold_pooled_gradients(
    passed, winner, response, fold, target, quads, width,
    HEIGHT: constexpr, LENGTH: constexpr, POOLED_HEIGHT: constexpr, POOLED_LENGTH: constexpr, PADDING: constexpr,
    ROWS: constexpr, BLOCK: constexpr,
):  # fmt: skip
    """Write the gradient of all responses, given that of the pooled ones (already through ReLU).

    By quads, the two by two pixels at which a window begins: they are in that window and in the three before it.
    """
    tile, channel = _tile(tl.program_id(0), width, BLOCK)
    quad = tile * ROWS + tl.arange(0, ROWS)
    real = quad < quads
    quad_height: constexpr = (HEIGHT + PADDING + 1) // 2
    quad_length: constexpr = (LENGTH + PADDING + 1) // 2
    column, row = quad % quad_length, (quad // quad_length) % quad_height
    image = quad // (quad_length * quad_height)
    here_tap, here = _window(passed, winner, image, row, column, real, width, channel, POOLED_HEIGHT, POOLED_LENGTH)
    above_tap, above = _window(
        passed, winner, image, row - 1, column, real, width, channel, POOLED_HEIGHT, POOLED_LENGTH
    )
    left_tap, left = _window(passed, winner, image, row, column - 1, real, width, channel, POOLED_HEIGHT, POOLED_LENGTH)
    both_tap, both = _window(
        passed, winner, image, row - 1, column - 1, real, width, channel, POOLED_HEIGHT, POOLED_LENGTH
    )
    of_gradient, of_response = _row(fold, GRADIENT, width, channel), _row(fold, RESPONSE, width, channel)
    constant = _row(fold, CONSTANT, width, channel)
    for down in tl.static_range(2):
        for right in tl.static_range(2):
            g = tl.where(here_tap == down * 3 + right, here, 0.0)
            if down == 0:
                g += tl.where(above_tap == 6 + right, above, 0.0)
            if right == 0:
                g += tl.where(left_tap == down * 3 + 2, left, 0.0)
            if down + right == 0:
                g += tl.where(both_tap == 8, both, 0.0)
            y, x = row * 2 + down - PADDING, column * 2 + right - PADDING
            inside = (real & (y >= 0) & (y < HEIGHT) & (x >= 0) & (x < LENGTH))[:, None]
            place = ((image * HEIGHT + y) * LENGTH + x).to(tl.int64)[:, None] * width + channel[None, :]
            z = tl.load(response + place, mask=inside, other=0.0).to(tl.float32)
            d = of_gradient * g + of_response * z + constant
            tl.store(target + place, d.to(target.dtype.element_ty), mask=inside)
