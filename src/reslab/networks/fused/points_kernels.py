"""The kernel of a network at many weights at once: a layer with all that is behind it, each point by its own (Triton).

Maps are point by point, image by image, pixel by pixel, channels innermost.
"""

# Constants are upper case, as Triton's users write them.
# ruff: noqa: N803
# pyright: reportGeneralTypeIssues=false

import triton
import triton.language as tl
from triton.language import constexpr

from reslab.networks.fused.kernels import NO_SHORTCUT, OUTSIDE, arrive, within


@triton.jit
def convolve_points(
    source, weight, scale, shift, shortcut, response, target, pixels,
    source_step, affine_step, shortcut_step,  # from one point's to the next one's: 0 where points share them
    SIDE: constexpr,  # of the source's map
    STRIDE: constexpr, KERNEL: constexpr, IN: constexpr, OUT: constexpr,
    INNER: constexpr,  # IN, or the least the tensor cores take
    KIND: constexpr,  # of the shortcut that ends here
    BEFORE: constexpr,  # the zero channels of option A before the block's input
    JOINS_BEFORE: constexpr,  # whether it is added before the normalization
    KEEPS: constexpr,  # whether the sum before the normalization is wanted too
    ACTIVATES: constexpr, PRECISION: constexpr, BLOCK: constexpr, LOADS: constexpr,
):  # fmt: skip
    """Write relu(scale * convolve(source) + shift + shortcut), or the same with the shortcut before the normalization.

    Programs are blocks of pixels by points; pixels are those of one point.
    """
    point = tl.program_id(1).to(tl.int64)
    side: constexpr = SIDE // STRIDE
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y, image = pixel % side * STRIDE, (pixel // side) % side * STRIDE, pixel // (side * side)
    k, out = tl.arange(0, INNER), tl.arange(0, OUT)
    centre = source + point * source_step + ((image * SIDE + y) * SIDE + x)[:, None] * IN + k[None, :]
    taps: constexpr = KERNEL * KERNEL
    kernel = weight + point * (OUT * taps * IN) + out[None, :] * taps * IN + k[:, None]
    y = tl.where(pixel < pixels, y, OUTSIDE)
    total = tl.zeros([BLOCK, OUT], tl.float32)
    for tap in tl.range(taps, num_stages=LOADS):
        down, right = tap // KERNEL - KERNEL // 2, tap % KERNEL - KERNEL // 2
        wanted = within(y + down, x + right, SIDE)[:, None]
        if INNER == IN:
            w = tl.load(kernel + tap * IN)
        else:
            wanted = wanted & (k < IN)[None, :]
            w = tl.load(kernel + tap * IN, mask=(k < IN)[:, None], other=0.0)
        a = tl.load(centre + (down * SIDE + right) * IN, mask=wanted, other=0.0)
        total = tl.dot(a, w, total, input_precision=PRECISION)
    real = (pixel < pixels)[:, None]
    here = point * pixels * OUT + pixel[:, None] * OUT + out[None, :]
    shortcut += point * shortcut_step
    if KIND != NO_SHORTCUT and JOINS_BEFORE:
        total += arrive(shortcut, pixel[:, None], out[None, :], real, side, OUT, KIND, BEFORE)
    if KEEPS:
        tl.store(response + here, total.to(response.dtype.element_ty), mask=real)
    total = total * tl.load(scale + point * affine_step + out)[None, :]
    total += tl.load(shift + point * affine_step + out)[None, :]
    if KIND != NO_SHORTCUT and not JOINS_BEFORE:
        total += arrive(shortcut, pixel[:, None], out[None, :], real, side, OUT, KIND, BEFORE)
    if ACTIVATES:
        total = tl.maximum(total, 0.0)
    tl.store(target + here, total.to(target.dtype.element_ty), mask=real)
