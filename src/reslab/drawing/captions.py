"""What is written into the pictures: the paper's short forms, as in "3x3 conv, 128, /2" and "64-d, 56x56"."""

import re
from collections.abc import Sequence

from reslab.spec.network import LayerPlan, NetworkSpec, Norm, Order

NORMS: dict[Norm, str] = {"batch": "BN", "group": "GN", "frozen": "frozen BN", "none": ""}
SHORT_FORMS = {
    "BN": "batch normalization",
    "frozen BN": "batch normalization with constant statistics and scale",
    "GN": "group normalization",
    "LN": "layer normalization",
    "SE": "squeeze-excitation",
}
ORDERS: dict[Order, str] = {
    "post": "ReLU after addition, the paper's order",
    "pre": "pre-activation",
    "bn-after-addition": "normalization after addition",
    "relu-before-addition": "ReLU before addition",
}
INPUTS = {0: "vector", 1: "sequence", 2: "image", 3: "volume"}


def write_extent(extent: Sequence[int]) -> str:
    """Write a kernel's or a map's extent: 3x3."""
    return "x".join(map(str, extent))


def write_stride(stride: int) -> str:
    """Write a stride where there is one: ", /2"."""
    return f", /{stride}" if stride > 1 else ""


def write_convolution(kernel: Sequence[int], width: int | str, stride: int = 1) -> str:
    """Write a convolution, or over no dimensions the fully-connected layer that it is."""
    if not kernel:
        return f"fc {width}"
    return f"{write_extent(kernel)} conv, {width}{write_stride(stride)}"


def write_layer(spec: NetworkSpec, plan: LayerPlan, *, pieces: int = 1) -> str:
    """Write one weight layer of a block; what feeds a maxout is so many pieces wide."""
    width = f"{pieces} x {plan.out_width}" if pieces > 1 else plan.out_width
    return write_convolution([plan.kernel] * spec.dimensions, width, plan.stride)


def write_order(spec: NetworkSpec) -> str:
    """Write where normalization and activation stand."""
    if spec.residual:
        return ORDERS[spec.order]
    return "without shortcuts" if spec.order == "post" else f"without shortcuts, {ORDERS[spec.order]}"


def write_pool(name: str, kernel: Sequence[int], stride: int) -> str:
    """Write a pool that slides: max-pool, 3x3, /2."""
    return f"{name}, {write_extent(kernel)}{write_stride(stride)}"


def write_shape(width: int, extent: Sequence[int]) -> str:
    """Write what flows between layers: 64-d, 56x56."""
    return ", ".join([f"{width}-d", *([write_extent(extent)] if extent else [])])


def write_map_size(extent: Sequence[int]) -> str:
    """Write the note that stands where the map changes its size."""
    return f"output size: {extent[0] if len(set(extent)) == 1 else write_extent(extent)}"


def explain(texts: Sequence[str]) -> str:
    """Say what the short forms in use stand for."""
    words = {word.strip() for text in texts for word in re.split(r"[,\n)]", text)}
    strides = sorted(int(word[1:]) for word in words if re.fullmatch(r"/\d+", word))
    meanings = [f"/{stride}: stride {stride}" for stride in strides]
    meanings += [f"{short}: {meaning}" for short, meaning in SHORT_FORMS.items() if short in words]
    return " · ".join(meanings)


def write_count(count: int) -> str:
    """Write a large count in three digits: 21.6M."""
    for power, letter in ((9, "G"), (6, "M"), (3, "k")):
        if count >= 10**power:
            value = count / 10**power
            return f"{value:.{max(0, 3 - len(str(int(value))))}f}{letter}"
    return str(count)
