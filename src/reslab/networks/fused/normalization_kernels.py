"""The kernels between convolutions: batch normalization with the ReLU and the addition that follow it (Triton).

Maps are [pixels, channels] in memory. A program takes a tile of `ROWS` pixels by `BLOCK` channels, or, where there are
sums over the batch, a part of `span` pixels, tile by tile: it writes its part of the sums, and a second, small kernel
joins the parts in their order, so that the same input gives the same bits every time. With z the response of a
convolution, ``y = relu(scale * z + shift + shortcut)``; going back, the gradient g of what ReLU was given becomes
``a * g + b * z + c``, the gradient of z.
"""

# Constants are upper case, as Triton's users write them.
# ruff: noqa: N803
# pyright: reportGeneralTypeIssues=false

import triton
import triton.language as tl
from triton.language import constexpr

from reslab.networks.fused.kernels import CONSTANT, GRADIENT, MEAN, RESPONSE, RSTD, SCALE, SHIFT, write_fold

# What is added before the ReLU: nothing, a map as it is, or the responses of a projection with their own affine.
NOTHING, MAP, PROJECTION = constexpr(0), constexpr(1), constexpr(2)


@triton.jit
def _tile(number, width, BLOCK: constexpr):
    """Return which tile of pixels a number stands for, and its channels: those of one pixel are close in time."""
    columns = width // BLOCK
    return number // columns, number % columns * BLOCK + tl.arange(0, BLOCK)


@triton.jit
def _places(pixels, width, ROWS: constexpr, BLOCK: constexpr):
    """Return a program's pixels and channels, which of the pixels there are, and where the values are in a map."""
    tile, channel = _tile(tl.program_id(0), width, BLOCK)
    first = tile.to(tl.int64) * ROWS
    row = tl.arange(0, ROWS)
    pixel = first + row
    return pixel, channel, (pixel < pixels)[:, None], first * width + (row[:, None] * width + channel[None, :])


@triton.jit
def _bytes(number, width, BLOCK: constexpr):
    """Return where the bits of a tile's channels are in their row, eight channels a byte."""
    return number % (width // BLOCK) * (BLOCK // 8) + tl.arange(0, BLOCK // 8)


@triton.jit
def _last_first():
    """Return the program's number counted from the end: what was written last is still in the cache."""
    return tl.num_programs(0) - 1 - tl.program_id(0)


@triton.jit
def _row(table, number, width, channel):
    """Return a row of an affine or a fold, to go with a tile of pixels."""
    return tl.load(table + number * width + channel[None, :])


@triton.jit
def sum_responses(response, parts, pixels, width, span, ROWS: constexpr, BLOCK: constexpr, LOADS: constexpr):
    """Write every part's mean, and the sum of its squared deviations from that, by channel."""
    part, channel = _tile(_last_first(), width, BLOCK)
    first = part.to(tl.int64) * span
    row = tl.arange(0, ROWS)
    source = response + first * width
    place = row[:, None] * width + channel[None, :]
    left = tl.minimum(pixels - first, span).to(tl.int32)
    # Deviations from some value of the part: sums of squares of large numbers would lose what is small.
    near = tl.load(source + channel[None, :]).to(tl.float32)
    total = tl.zeros([ROWS, BLOCK], tl.float32)
    squares = tl.zeros([ROWS, BLOCK], tl.float32)
    for start in tl.range(0, left, ROWS, num_stages=LOADS):
        real = (start + row < left)[:, None]
        z = tl.load(source + start * width + place, mask=real, other=0.0).to(tl.float32)
        off = tl.where(real, z - near, 0.0)
        total += off
        squares += off * off
    off_sum = tl.sum(total, 0)
    off_mean = off_sum / left
    target = parts + part * 2 * width + channel
    tl.store(target, tl.load(source + channel).to(tl.float32) + off_mean)
    tl.store(target + width, tl.sum(squares, 0) - off_sum * off_mean)


@triton.jit
def join_responses(
    parts, gamma, beta, running_mean, running_var, affine, num_parts, pixels, width, span, momentum, epsilon,
    PARTS: constexpr,  # the power of two that has room for all
    BLOCK: constexpr,
):  # fmt: skip
    """Join the means and deviations of all parts; say how responses are normalized, and move the running averages."""
    channel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.arange(0, PARTS)
    real = (part < num_parts)[:, None]
    place = parts + part[:, None] * 2 * width + channel[None, :]
    means = tl.load(place, mask=real, other=0.0)
    squares = tl.load(place + width, mask=real, other=0.0)
    counts = tl.where(part < num_parts, tl.minimum(pixels - part * span, span), 0).to(tl.float32)[:, None]
    mean = tl.sum(counts * means, 0) / pixels
    away = tl.where(real, means - mean[None, :], 0.0)
    var = tl.sum(squares + counts * away * away, 0) / pixels
    rstd = 1 / tl.sqrt(var + epsilon)
    scale = tl.load(gamma + channel) * rstd
    tl.store(affine + MEAN * width + channel, mean)
    tl.store(affine + RSTD * width + channel, rstd)
    tl.store(affine + SCALE * width + channel, scale)
    tl.store(affine + SHIFT * width + channel, tl.load(beta + channel) - mean * scale)
    old_mean, old_var = tl.load(running_mean + channel), tl.load(running_var + channel)
    tl.store(running_mean + channel, old_mean + momentum * (mean - old_mean))
    tl.store(running_var + channel, old_var + momentum * (var * (pixels / (pixels - 1)) - old_var))


@triton.jit
def activate(
    response, affine, shortcut, shortcut_affine, output, lit, pixels, width,
    ADDED: constexpr, ROWS: constexpr, BLOCK: constexpr,
):  # fmt: skip
    """Write relu(normalized responses + what is added), and in bits where it is not zero, if a map was added."""
    pixel, channel, real, here = _places(pixels, width, ROWS, BLOCK)
    z = tl.load(response + here, mask=real, other=0.0).to(tl.float32)
    y = z * _row(affine, SCALE, width, channel) + _row(affine, SHIFT, width, channel)
    if ADDED == MAP:
        y += tl.load(shortcut + here, mask=real, other=0.0).to(tl.float32)
    if ADDED == PROJECTION:
        s = tl.load(shortcut + here, mask=real, other=0.0).to(tl.float32)
        y += s * _row(shortcut_affine, SCALE, width, channel) + _row(shortcut_affine, SHIFT, width, channel)
    if ADDED == MAP:
        bits = (y > 0).to(tl.int32) << (channel % 8)[None, :]
        packed = tl.sum(tl.reshape(bits, [ROWS, BLOCK // 8, 8]), 2).to(tl.uint8)
        place = pixel[:, None] * (width // 8) + _bytes(tl.program_id(0), width, BLOCK)[None, :]
        tl.store(lit + place, packed, mask=real)
    # Not a maximum, which would swallow what is no number.
    tl.store(output + here, tl.where(y < 0, 0.0, y).to(output.dtype.element_ty), mask=real)


@triton.jit
def _add_gradients(gradient, other, here, real, TWO: constexpr):
    """Return the gradient of an output that was used once or twice."""
    g = tl.load(gradient + here, mask=real, other=0.0).to(tl.float32)
    if TWO:
        g += tl.load(other + here, mask=real, other=0.0).to(tl.float32)
    return g


@triton.jit
def sum_gradients(
    gradient, other, response, affine, lit, shortcut, shortcut_affine, passed, parts, pixels, width, span,
    TWO: constexpr,  # whether there is another gradient of the same output
    ADDED: constexpr,
    PASSES: constexpr,  # whether to write the gradient of what ReLU was given, which others want too
    ROWS: constexpr, BLOCK: constexpr, LOADS: constexpr,
):  # fmt: skip
    """Take the gradient back through ReLU; write every part's sums of it and of its products with the responses."""
    part, channel = _tile(_last_first(), width, BLOCK)
    first = part.to(tl.int64) * span
    row = tl.arange(0, ROWS)
    place, byte = row[:, None] * width + channel[None, :], _bytes(_last_first(), width, BLOCK)
    left = tl.minimum(pixels - first, span).to(tl.int32)
    mean = _row(affine, MEAN, width, channel)
    scale, shift = _row(affine, SCALE, width, channel), _row(affine, SHIFT, width, channel)
    shortcut_mean, shortcut_scale = mean, scale
    if ADDED == PROJECTION:
        shortcut_mean = _row(shortcut_affine, MEAN, width, channel)
        shortcut_scale = _row(shortcut_affine, SCALE, width, channel)
        shift += _row(shortcut_affine, SHIFT, width, channel)
    total = tl.zeros([ROWS, BLOCK], tl.float32)
    products = tl.zeros([ROWS, BLOCK], tl.float32)
    shortcut_products = tl.zeros([ROWS, BLOCK], tl.float32)
    for start in tl.range(0, left, ROWS, num_stages=LOADS):
        real = (start + row < left)[:, None]
        here = first * width + start * width + place
        g = _add_gradients(gradient, other, here, real, TWO)
        z = tl.load(response + here, mask=real, other=0.0).to(tl.float32)
        s = z
        # Whether ReLU let it pass: by the bits kept of it, unless that follows from what is read anyway.
        y = z * scale + shift
        if ADDED == MAP:
            packed = tl.load(lit + (first + start + row)[:, None] * (width // 8) + byte[None, :], mask=real, other=0)
            bits = tl.reshape(tl.broadcast_to(packed[:, :, None], [ROWS, BLOCK // 8, 8]), [ROWS, BLOCK]).to(tl.int32)
            y = ((bits >> (channel % 8)[None, :]) & 1).to(tl.float32)
        if ADDED == PROJECTION:
            s = tl.load(shortcut + here, mask=real, other=0.0).to(tl.float32)
            y += s * shortcut_scale
        g = tl.where(y > 0, g, 0.0)
        if PASSES:
            rounded = g.to(passed.dtype.element_ty)
            tl.store(passed + here, rounded, mask=real)
            g = rounded.to(tl.float32)
        total += g
        products += g * (z - mean)
        if ADDED == PROJECTION:
            shortcut_products += g * (s - shortcut_mean)
    sums = 3 if ADDED == PROJECTION else 2
    target = parts + part * sums * width + channel
    tl.store(target, tl.sum(total, 0))
    tl.store(target + width, tl.sum(products, 0))
    if ADDED == PROJECTION:
        tl.store(target + 2 * width, tl.sum(shortcut_products, 0))


@triton.jit
def join_gradients(
    parts, gamma, affine, fold, gamma_gradient, beta_gradient, num_parts, pixels, width,
    SUMS: constexpr,  # in a part
    WHICH: constexpr,  # of them is that of the products
    PARTS: constexpr, BLOCK: constexpr,
):  # fmt: skip
    """Add all parts: the gradients of gamma and beta, and how batch normalization folds that of its output."""
    channel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.arange(0, PARTS)[:, None]
    place = parts + part * SUMS * width + channel[None, :]
    total = tl.sum(tl.load(place, mask=part < num_parts, other=0.0), 0)
    products = tl.sum(tl.load(place + WHICH * width, mask=part < num_parts, other=0.0), 0)
    mean, rstd = tl.load(affine + MEAN * width + channel), tl.load(affine + RSTD * width + channel)
    write_fold(fold, gamma_gradient, beta_gradient, gamma, mean, rstd, total, products, pixels, width, channel)


@triton.jit
def _fold(g, z, fold, width, channel):
    """Return the gradient of responses."""
    of_gradient, of_response = _row(fold, GRADIENT, width, channel), _row(fold, RESPONSE, width, channel)
    return of_gradient * g + of_response * z + _row(fold, CONSTANT, width, channel)


@triton.jit
def fold_gradients(
    gradient, other, response, affine, fold, target, shortcut, shortcut_fold, shortcut_target, pixels, width,
    TWO: constexpr, ADDED: constexpr,
    PASSED: constexpr,  # whether the gradient is that of what ReLU was given already
    ROWS: constexpr, BLOCK: constexpr,
):  # fmt: skip
    """Write the gradient of the responses, and that of a projection's beside them."""
    _, channel, real, here = _places(pixels, width, ROWS, BLOCK)
    g = _add_gradients(gradient, other, here, real, TWO)
    z = tl.load(response + here, mask=real, other=0.0).to(tl.float32)
    if not PASSED:
        y = z * _row(affine, SCALE, width, channel) + _row(affine, SHIFT, width, channel)
        g = tl.where(y > 0, g, 0.0)
    tl.store(target + here, _fold(g, z, fold, width, channel).to(target.dtype.element_ty), mask=real)
    if ADDED == PROJECTION:
        s = tl.load(shortcut + here, mask=real, other=0.0).to(tl.float32)
        d = _fold(g, s, shortcut_fold, width, channel)
        tl.store(shortcut_target + here, d.to(shortcut_target.dtype.element_ty), mask=real)
