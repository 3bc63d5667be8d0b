"""The kernels: convolution with the statistics of its output, its two gradients, and what lies between (Triton).

Maps are pixel by pixel, channels innermost. A layer is ``z = convolve(x)``, then ``y = relu(scale * z + shift +
shortcut)``; pre-activated, ``z = convolve(x) + shortcut``, then ``y = relu(scale * z + shift)``. Going back, the
gradient g of what normalization put out (after the nonlinearity's mask) becomes ``a * g + b * z + c``, the gradient
of z. Sums over the batch go with the convolutions: each program writes its part, and the last one to finish adds the
parts in their order, so that the same input gives the same bits every time.
"""

# Constants are upper case, as Triton's users write them.
# ruff: noqa: N803
# pyright: reportGeneralTypeIssues=false

import triton
import triton.language as tl
from triton.language import constexpr

# Rows, a column per channel, of an affine, which normalizes responses, and of a fold, which takes gradients back.
MEAN, RSTD, SCALE, SHIFT = constexpr(0), constexpr(1), constexpr(2), constexpr(3)
GRADIENT, RESPONSE, CONSTANT = constexpr(0), constexpr(1), constexpr(2)
OUTSIDE = constexpr(-9)  # a row that is on no map, nor are its neighbours
NO_SHORTCUT, IDENTITY, ZERO_PADDING, PROJECTION = constexpr(0), constexpr(1), constexpr(2), constexpr(3)


@triton.jit
def write_fold(fold, gamma_gradient, beta_gradient, gamma, mean, rstd, total, products, pixels, width, channel):
    """Write the gradients of gamma and beta, and how normalization folds that of its output, by sums over the batch.

    The sums are of the gradient and of its products with the responses' distances from their mean.
    """
    products *= rstd
    tl.store(beta_gradient + channel, total)
    tl.store(gamma_gradient + channel, products)
    a = tl.load(gamma + channel) * rstd
    b = -a * rstd * products / pixels
    tl.store(fold + GRADIENT * width + channel, a)
    tl.store(fold + RESPONSE * width + channel, b)
    tl.store(fold + CONSTANT * width + channel, -a * total / pixels - b * mean)


@triton.jit
def _is_last(counter, PROGRAMS: constexpr):
    """Whether all other programs have written their parts; the counter is set back for the next launch."""
    tl.debug_barrier()
    last = tl.atomic_add(counter, 1, sem="acq_rel") == PROGRAMS - 1
    if last:
        tl.store(counter, 0)
    return last


@triton.jit
def within(y, x, SIDE: constexpr):
    """Whether a place is on the map; as unsigned numbers, negative ones are large."""
    return (y.to(tl.uint32) < SIDE) & (x.to(tl.uint32) < SIDE)


@triton.jit
def _write_parts(parts, first, second, WIDTH: constexpr):
    place = parts + tl.program_id(0) * 2 * WIDTH + tl.arange(0, WIDTH)
    tl.store(place, first)
    tl.store(place + WIDTH, second)


@triton.jit
def _add_parts(parts, PROGRAMS: constexpr, WIDTH: constexpr, ROWS: constexpr):
    """Return the sums of both parts over all programs."""
    channel = tl.arange(0, WIDTH)[None, :]
    first = tl.zeros([WIDTH], tl.float32)
    second = tl.zeros([WIDTH], tl.float32)
    for start in range(0, PROGRAMS, ROWS):
        row = (start + tl.arange(0, ROWS))[:, None]
        place = parts + row * 2 * WIDTH + channel
        first += tl.sum(tl.load(place, mask=row < PROGRAMS, other=0.0, cache_modifier=".cg"), 0)
        second += tl.sum(tl.load(place + WIDTH, mask=row < PROGRAMS, other=0.0, cache_modifier=".cg"), 0)
    return first, second


@triton.jit
def arrive(shortcut, pixel, channel, real, SIDE: constexpr, WIDTH: constexpr, KIND: constexpr, BEFORE: constexpr):
    """Load what an identity brings to these pixels, or option A: every other pixel, zero channels beside its own."""
    if KIND == IDENTITY:
        arriving = tl.load(shortcut + pixel * WIDTH + channel, mask=real, other=0.0)
    else:
        narrow: constexpr = WIDTH // 2
        column, row, image = pixel % SIDE, (pixel // SIDE) % SIDE, pixel // (SIDE * SIDE)
        place = ((image * 2 * SIDE + row * 2) * 2 * SIDE + column * 2) * narrow + channel - BEFORE
        held = real & (channel >= BEFORE) & (channel < BEFORE + narrow)
        arriving = tl.load(shortcut + place, mask=held, other=0.0)
    return arriving.to(tl.float32)


@triton.jit
def convolve(
    source, weight, shortcut, response,
    gamma, beta, running_mean, running_var, affine, parts, counter, pixels, momentum, epsilon,
    SIDE: constexpr,  # of the source's map
    STRIDE: constexpr, KERNEL: constexpr, IN: constexpr, OUT: constexpr,
    INNER: constexpr,  # IN, or the least the tensor cores take
    KIND: constexpr,  # of the shortcut that is added to the response
    BEFORE: constexpr,  # the zero channels of option A before the block's input
    BLOCK: constexpr, LOADS: constexpr, PROGRAMS: constexpr, ROWS: constexpr,
):  # fmt: skip
    """Convolve, add the shortcut if one ends here, and find the mean and deviation of every channel of the result."""
    side: constexpr = SIDE // STRIDE
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y, image = pixel % side * STRIDE, (pixel // side) % side * STRIDE, pixel // (side * side)
    k, out = tl.arange(0, INNER), tl.arange(0, OUT)
    centre = source + ((image * SIDE + y) * SIDE + x)[:, None] * IN + k[None, :]
    kernel = weight + out[None, :] * KERNEL * KERNEL * IN + k[:, None]
    y = tl.where(pixel < pixels, y, OUTSIDE)
    total = tl.zeros([BLOCK, OUT], tl.float32)
    for tap in tl.range(KERNEL * KERNEL, num_stages=LOADS):
        down, right = tap // KERNEL - KERNEL // 2, tap % KERNEL - KERNEL // 2
        wanted = within(y + down, x + right, SIDE)[:, None]
        if INNER == IN:
            w = tl.load(kernel + tap * IN)
        else:
            wanted = wanted & (k < IN)[None, :]
            w = tl.load(kernel + tap * IN, mask=(k < IN)[:, None], other=0.0)
        a = tl.load(centre + (down * SIDE + right) * IN, mask=wanted, other=0.0)
        total = tl.dot(a, w, total, input_precision="ieee")
    real = (pixel < pixels)[:, None]
    if KIND != NO_SHORTCUT:
        total += arrive(shortcut, pixel[:, None], out[None, :], real, side, OUT, KIND, BEFORE)
    z = total.to(response.dtype.element_ty)
    tl.store(response + pixel[:, None] * OUT + out[None, :], z, mask=real)
    # Sums of deviations from a value near the mean: sums of squares of large numbers would lose what is small.
    near = tl.load(running_mean + out)
    off = tl.where(real, z.to(tl.float32) - near[None, :], 0.0)
    _write_parts(parts, tl.sum(off, 0), tl.sum(off * off, 0), OUT)
    if _is_last(counter, PROGRAMS):
        first, second = _add_parts(parts, PROGRAMS, OUT, ROWS)
        off_mean = first / pixels
        mean = near + off_mean
        var = tl.maximum(second / pixels - off_mean * off_mean, 0.0)
        rstd = tl.rsqrt(var + epsilon)
        scale = tl.load(gamma + out) * rstd
        tl.store(affine + MEAN * OUT + out, mean)
        tl.store(affine + RSTD * OUT + out, rstd)
        tl.store(affine + SCALE * OUT + out, scale)
        tl.store(affine + SHIFT * OUT + out, tl.load(beta + out) - mean * scale)
        tl.store(running_mean + out, near + momentum * off_mean)
        old = tl.load(running_var + out)
        tl.store(running_var + out, old + momentum * (var * pixels / (pixels - 1) - old))


@triton.jit
def activate(
    response, affine, shortcut, shortcut_affine, target, pixels,
    SIDE: constexpr, WIDTH: constexpr, KIND: constexpr, BEFORE: constexpr, BLOCK: constexpr,
):  # fmt: skip
    """Write relu(normalized response + shortcut): the block's input, option A's strided one, or a projection of it."""
    pixel = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))[:, None]
    channel = tl.arange(0, WIDTH)[None, :]
    real = pixel < pixels
    here = pixel * WIDTH + channel
    y = tl.load(response + here, mask=real, other=0.0).to(tl.float32)
    y = y * tl.load(affine + SCALE * WIDTH + channel) + tl.load(affine + SHIFT * WIDTH + channel)
    if KIND == PROJECTION:
        s = tl.load(shortcut + here, mask=real, other=0.0).to(tl.float32)
        y += s * tl.load(shortcut_affine + SCALE * WIDTH + channel) + tl.load(shortcut_affine + SHIFT * WIDTH + channel)
    elif KIND != NO_SHORTCUT:
        y += arrive(shortcut, pixel, channel, real, SIDE, WIDTH, KIND, BEFORE)
    tl.store(target + here, tl.maximum(y, 0.0).to(target.dtype.element_ty), mask=real)


@triton.jit
def _pass_on(
    g, pixel, channel, real,
    response, affine, gamma, target, fold, gamma_gradient, beta_gradient, parts, counter, pixels,
    WIDTH: constexpr, PROGRAMS: constexpr, ROWS: constexpr,
):  # fmt: skip
    """Write the gradient g of a layer's normalized responses, and how batch normalization folds it."""
    place = pixel[:, None] * WIDTH + channel[None, :]
    g = g.to(target.dtype.element_ty)
    tl.store(target + place, g, mask=real)
    z = tl.load(response + place, mask=real, other=0.0).to(tl.float32)
    mean, rstd = tl.load(affine + MEAN * WIDTH + channel), tl.load(affine + RSTD * WIDTH + channel)
    g = g.to(tl.float32)
    _write_parts(parts, tl.sum(g, 0), tl.sum(g * (z - mean[None, :]), 0), WIDTH)
    if _is_last(counter, PROGRAMS):
        first, second = _add_parts(parts, PROGRAMS, WIDTH, ROWS)
        write_fold(fold, gamma_gradient, beta_gradient, gamma, mean, rstd, first, second, pixels, WIDTH, channel)


@triton.jit
def unpool(
    pooled_gradient, output,
    response, affine, gamma, target, fold, gamma_gradient, beta_gradient, parts, counter, pixels,
    AREA: constexpr, WIDTH: constexpr, BLOCK: constexpr, PROGRAMS: constexpr, ROWS: constexpr,
):  # fmt: skip
    """Take the gradient of the pooled features back to the last layer's normalized responses."""
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    channel = tl.arange(0, WIDTH)
    real = (pixel < pixels)[:, None]
    y = tl.load(output + pixel[:, None] * WIDTH + channel[None, :], mask=real, other=0.0)
    image = pixel // AREA
    g = tl.load(pooled_gradient + image[:, None] * WIDTH + channel[None, :], mask=real, other=0.0) / AREA
    _pass_on(
        tl.where(y > 0, g, 0.0), pixel, channel, real, response, affine, gamma, target, fold, gamma_gradient,
        beta_gradient, parts, counter, pixels, WIDTH, PROGRAMS, ROWS,
    )  # fmt: skip


@triton.jit
def pass_to_projection(
    gradient,
    response, affine, gamma, fold, gamma_gradient, beta_gradient, parts, counter, pixels,
    WIDTH: constexpr, BLOCK: constexpr, PROGRAMS: constexpr, ROWS: constexpr,
):  # fmt: skip
    """Find how a projection's normalization folds the gradient of its block's end, which is its own too."""
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    channel = tl.arange(0, WIDTH)
    real = (pixel < pixels)[:, None]
    g = tl.load(gradient + pixel[:, None] * WIDTH + channel[None, :], mask=real, other=0.0)
    _pass_on(
        g, pixel, channel, real, response, affine, gamma, gradient, fold, gamma_gradient, beta_gradient, parts, counter,
        pixels, WIDTH, PROGRAMS, ROWS,
    )  # fmt: skip


@triton.jit
def project_back(
    gradient, weight, target, pixels,
    SIDE: constexpr,  # of the projection's input, as are the pixels
    STRIDE: constexpr, IN: constexpr, OUT: constexpr, BLOCK: constexpr,
):  # fmt: skip
    """Take the gradient of a projection's responses back to its block's input."""
    side: constexpr = SIDE // STRIDE
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column, row, image = pixel % SIDE, (pixel // SIDE) % SIDE, pixel // (SIDE * SIDE)
    channel, k = tl.arange(0, IN), tl.arange(0, OUT)
    seen = (pixel < pixels) & (row % STRIDE == 0) & (column % STRIDE == 0)
    place = ((image * side + row // STRIDE) * side + column // STRIDE)[:, None] * OUT + k[None, :]
    d = tl.load(gradient + place, mask=seen[:, None], other=0.0)
    w = tl.load(weight + k[:, None] * IN + channel[None, :])
    total = tl.dot(d, w, input_precision="ieee")
    here = pixel[:, None] * IN + channel[None, :]
    tl.store(target + here, total.to(target.dtype.element_ty), mask=(pixel < pixels)[:, None])


@triton.jit
def unfold(gradient, response, fold, beside, target, pixels, WIDTH: constexpr, KIND: constexpr, BLOCK: constexpr):
    """Take the gradient of normalized responses back to the responses, and add what they get by an identity."""
    pixel = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))[:, None]
    channel = tl.arange(0, WIDTH)[None, :]
    real = pixel < pixels
    here = pixel * WIDTH + channel
    g = tl.load(gradient + here, mask=real, other=0.0).to(tl.float32)
    z = tl.load(response + here, mask=real, other=0.0).to(tl.float32)
    a, b = tl.load(fold + GRADIENT * WIDTH + channel), tl.load(fold + RESPONSE * WIDTH + channel)
    d = a * g + b * z + tl.load(fold + CONSTANT * WIDTH + channel)
    if KIND == IDENTITY:
        d += tl.load(beside + here, mask=real, other=0.0).to(tl.float32)
    tl.store(target + here, d.to(target.dtype.element_ty), mask=real)


@triton.jit
def convolve_back(
    gradient, weight, output, shortcut_gradient,
    response, affine, gamma, target, fold, gamma_gradient, beta_gradient, parts, counter, pixels,
    SIDE: constexpr,  # of the layer's input, as are the pixels
    STRIDE: constexpr, IN: constexpr, OUT: constexpr,
    KIND: constexpr,  # of the shortcut that left from there
    BEFORE: constexpr, BLOCK: constexpr, LOADS: constexpr, PROGRAMS: constexpr, ROWS: constexpr,
):  # fmt: skip
    """Take the gradient of a layer's responses back to the normalized responses of the layer before."""
    side: constexpr = SIDE // STRIDE
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column, row, image = pixel % SIDE, (pixel // SIDE) % SIDE, pixel // (SIDE * SIDE)
    channel, k = tl.arange(0, IN), tl.arange(0, OUT)
    real = (pixel < pixels)[:, None]
    centre = gradient + pixel[:, None] * OUT + k[None, :]
    bounded_row = tl.where(pixel < pixels, row, OUTSIDE)
    total = tl.zeros([BLOCK, IN], tl.float32)
    for tap in tl.range(9, num_stages=LOADS):
        down, right = 1 - tap // 3, 1 - tap % 3
        y, x = bounded_row + down, column + right
        wanted = within(y, x, SIDE)
        if STRIDE == 1:
            d = tl.load(centre + (down * SIDE + right) * OUT, mask=wanted[:, None], other=0.0)
        else:
            wanted = wanted & (y % 2 == 0) & (x % 2 == 0)
            place = ((image * side + y // 2) * side + x // 2)[:, None] * OUT + k[None, :]
            d = tl.load(gradient + place, mask=wanted[:, None], other=0.0)
        w = tl.load(weight + (k[:, None] * 9 + tap) * IN + channel[None, :])
        total = tl.dot(d, w, total, input_precision="ieee")
    here = pixel[:, None] * IN + channel[None, :]
    if KIND == IDENTITY:
        total += tl.load(shortcut_gradient + here, mask=real, other=0.0).to(tl.float32)
    if KIND == ZERO_PADDING:
        on_grid = ((row % 2 == 0) & (column % 2 == 0) & (pixel < pixels))[:, None]
        place = ((image * side + row // 2) * side + column // 2)[:, None] * OUT + BEFORE + channel[None, :]
        total += tl.load(shortcut_gradient + place, mask=on_grid, other=0.0).to(tl.float32)
    lit = tl.load(output + here, mask=real, other=0.0) > 0
    _pass_on(
        tl.where(lit, total, 0.0), pixel, channel, real, response, affine, gamma, target, fold, gamma_gradient,
        beta_gradient, parts, counter, pixels, IN, PROGRAMS, ROWS,
    )  # fmt: skip


@triton.jit
def correlate(
    gradient, source, target, pixels,
    SIDE: constexpr,  # of the source's map; the pixels are the response's
    STRIDE: constexpr, KERNEL: constexpr, IN: constexpr, OUT: constexpr, INNER: constexpr,
    TAPS: constexpr,  # taken together: one, or a row of the kernel as four, the last one empty
    BLOCK: constexpr,
    SPAN: constexpr,  # pixels a program, a multiple of BLOCK
    LOADS: constexpr,
):  # fmt: skip
    """Write this part of the pixels' share in the gradient of a layer's weights: (parts, OUT, KERNEL, KERNEL, IN)."""
    part, group = tl.program_id(0), tl.program_id(1)
    side: constexpr = SIDE // STRIDE
    j = tl.arange(0, TAPS * INNER)
    k = j % INNER
    if TAPS == 1:
        y_tap, x_tap = group // KERNEL, group % KERNEL + j * 0
    else:
        y_tap, x_tap = group, j // INNER
    wanted = (k < IN) & (x_tap < KERNEL)
    down, right = y_tap - KERNEL // 2, x_tap - KERNEL // 2
    from_centre = (down * SIDE + right) * IN + k
    out = tl.arange(0, OUT)
    total = tl.zeros([TAPS * INNER, OUT], tl.float32)
    for start in tl.range(0, SPAN, BLOCK, num_stages=LOADS):
        pixel = part * SPAN + start + tl.arange(0, BLOCK)
        x, y, image = pixel % side * STRIDE, (pixel // side) % side * STRIDE, pixel // (side * side)
        centre = ((image * SIDE + y) * SIDE + x) * IN
        real = pixel < pixels
        d = tl.load(gradient + pixel[:, None] * OUT + out[None, :], mask=real[:, None], other=0.0)
        y = tl.where(real, y + down, OUTSIDE)
        inside = within(y[None, :], x[None, :] + right[:, None], SIDE) & wanted[:, None]
        a = tl.load(source + centre[None, :] + from_centre[:, None], mask=inside, other=0.0)
        total = tl.dot(a, d, total, input_precision="ieee")
    tap = (y_tap * KERNEL + x_tap)[:, None]
    place = ((part * OUT + out[None, :]) * KERNEL * KERNEL + tap) * IN + k[:, None]
    tl.store(target + place, total, mask=wanted[:, None])
