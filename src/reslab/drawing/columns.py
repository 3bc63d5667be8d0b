"""A spec becomes one column of Fig. 3: a box for each weight layer, a line beside each block with a shortcut.

Plain and residual networks are read from their layout alone; the others are followed as modules (`chains.py`).
Long runs of like blocks are folded, so that 1,202 layers fit on a page.
"""

import itertools
from collections.abc import Iterable, Iterator

from reslab.drawing.captions import (
    INPUTS,
    NORMS,
    write_convolution,
    write_count,
    write_extent,
    write_layer,
    write_map_size,
    write_pool,
    write_shape,
    write_stride,
)
from reslab.drawing.chains import follow_chain
from reslab.drawing.maps import follow_map
from reslab.drawing.parts import Box, Column, Shortcut, Step
from reslab.networks.cost import measure_cost
from reslab.spec import BlockPlan, NetworkSpec, Spec, TorchvisionSpec, depth_of, name_of

LONGEST_RUN = 9


def make_column(spec: Spec) -> Column:
    """Make the column of any network, with its name, depth and cost at the head."""
    cost = measure_cost(spec)  # first, for it refuses inputs that do not pass through
    steps = list_steps(spec)
    depth = _count_depth(steps) if isinstance(spec, TorchvisionSpec) else depth_of(spec)
    return Column(
        name=name_of(spec),
        facts=(
            *([f"{depth} layers"] if depth else []),
            f"{write_count(cost.params)} parameters",
            f"{write_count(cost.multiply_adds)} multiply-adds",
        ),
        source=f"{INPUTS[len(spec.input_shape) - 1]}: {write_shape(spec.input_shape[0], spec.input_shape[1:])}",
        steps=tuple(steps),
    )


def list_steps(spec: Spec) -> list[Step]:
    """Return the blocks and single layers of a network from input to output, long runs folded."""
    return list(_fold(_follow_layout(spec) if isinstance(spec, NetworkSpec) else follow_chain(spec)))


def _follow_layout(spec: NetworkSpec) -> Iterator[Step]:
    maps = follow_map(spec)

    def size(pixels: int) -> str:
        return write_map_size([pixels] * spec.dimensions) if spec.dimensions else ""

    stem = write_convolution([spec.stem.kernel] * spec.dimensions, spec.stem.width, spec.stem.stride)
    if spec.maxout:
        stem += f", maxout {spec.maxout}"
    yield Step.single(stem, size=size(maps.stem), width=spec.stem.width, layers=1)
    if spec.pool != "none":
        yield Step.single(write_pool("max-pool", [3] * spec.dimensions, 2), size=size(maps.pool))
    for plan, pixels in zip(spec.layout(), maps.blocks, strict=True):
        yield Step(
            boxes=tuple(
                Box(text=text, size=size(side), width=plan.layers[0].out_width, layers=1)  # a bottleneck's inner width
                for text, side in zip(_write_layers(spec, plan), pixels, strict=True)
            ),
            shortcut=_shortcut(spec, plan),
        )
    if spec.order == "pre":
        final = ", ".join(filter(None, [NORMS[spec.norm], "ReLU"]))
        yield Step.single(final, size=size(maps.blocks[-1][-1]))
    if spec.dimensions:
        yield Step.single("avg pool", size=size(1))
    yield Step.single(f"fc {spec.classes}", size=size(1), layers=1)


def _write_layers(spec: NetworkSpec, plan: BlockPlan) -> list[str]:
    texts = []
    for layer in plan.layers:
        maxout = f", maxout {spec.maxout}" if spec.maxout and "activation" in layer.operators else ""
        texts.append(write_layer(spec, layer) + maxout)
    if spec.squeeze_excitation:
        texts[-1] += ", SE"
    return texts


def _shortcut(spec: NetworkSpec, plan: BlockPlan) -> Shortcut | None:
    if plan.shortcut == "none":
        return None
    kernel = write_extent([1] * spec.dimensions) or "fc"
    words = {"identity": "", "zero-padding": "zero padding", "projection": f"W_s {kernel}"}
    label = words[plan.shortcut] + write_stride(plan.stride)
    return Shortcut(kind=plan.shortcut, gated=plan.gated, label=label)


def _count_depth(steps: Iterable[Step]) -> int:
    """Count the weight layers; 0 where a box is a whole module and hides its own."""
    boxes = [box for step in steps for box in step.boxes]
    return 0 if any(box.width and not box.layers for box in boxes) else sum(box.layers for box in boxes)


def _fold(steps: Iterable[Step]) -> Iterator[Step]:
    """Replace the middle of each long run of like blocks by one box that counts them."""
    for _, group in itertools.groupby(steps):
        run = list(group)
        if len(run) <= LONGEST_RUN:
            yield from run
            continue
        hidden = run[2:-1]
        last = hidden[-1].boxes[-1]
        yield from run[:2]
        yield Step.single(
            f"⋮ {len(hidden)} more blocks like this",
            size=last.size,
            width=last.width,
            layers=sum(box.layers for step in hidden for box in step.boxes),
            folded=True,
        )
        yield run[-1]
