"""The distinct blocks of a network as data: operators in their true order, and what the shortcut does.

A block is drawn once for all that equal it but for their place (and their rate of stochastic depth). With
pre-activation, the normalization and ReLU that close the last stage get a picture of their own.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from reslab.drawing.captions import NORMS, write_convolution, write_layer, write_shape, write_stride
from reslab.drawing.maps import follow_map
from reslab.drawing.parts import ShortcutKind
from reslab.networks.resnet import GATE_BIAS
from reslab.spec import BlockPlan, NetworkSpec
from reslab.spec.network import Operator

PartKind = Literal["weight", "norm", "activation", "regularization", "identity", "zero-padding"]


@dataclass(frozen=True, kw_only=True)
class Part:
    """One operator; `width` gives a weight layer its colour."""

    text: str
    kind: PartKind
    width: int = 0


@dataclass(frozen=True, kw_only=True)
class BlockPicture:
    """One block from input to output.

    `before` stands above the split into `branch` and shortcut, `after` under their addition. `beside` is what
    the shortcut goes through; `shortcut` is None where there is none.
    """

    names: str
    stage: str
    source: str
    result: str
    before: tuple[Part, ...] = ()
    branch: tuple[Part, ...]
    shortcut: ShortcutKind | None = None
    beside: tuple[Part, ...] = ()
    gate: Part | None = None
    after: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """Every operator of the block."""
        return (*self.before, *self.branch, *self.beside, *([self.gate] if self.gate else []), *self.after)


def list_blocks(spec: NetworkSpec) -> list[BlockPicture]:
    """Return a picture of each distinct block, in the order of their first appearance."""
    maps = follow_map(spec)
    likes: dict[tuple[BlockPlan, int], list[tuple[int, BlockPlan]]] = {}
    for index, (plan, pixels) in enumerate(zip(spec.layout(), maps.into_blocks, strict=True)):
        likes.setdefault((replace(plan, name="", stage="", drop_rate=0.0), pixels), []).append((index, plan))
    pictures = [
        _make_picture(spec, members, pixels_in=pixels, pixels_out=maps.blocks[members[0][0]][-1])
        for (_, pixels), members in likes.items()
    ]
    return [*pictures, _make_final(spec, maps.blocks[-1][-1])] if spec.order == "pre" else pictures


def _make_picture(
    spec: NetworkSpec, members: Sequence[tuple[int, BlockPlan]], *, pixels_in: int, pixels_out: int
) -> BlockPicture:
    """Make the picture of like blocks, each given with its number."""
    first, plan = members[0]
    return BlockPicture(
        names=_write_names(members),
        stage=plan.stage,
        source=write_shape(plan.in_width, [pixels_in] * spec.dimensions),
        result=write_shape(plan.out_width, [pixels_out] * spec.dimensions),
        before=_operators(spec, ("norm", "activation")) if plan.shares_preactivation else (),
        branch=tuple(_branch(spec, [plan for _, plan in members])),
        shortcut=None if plan.shortcut == "none" else plan.shortcut,
        beside=_beside(spec, plan),
        gate=_gate(spec, plan) if plan.gated else None,
        after=_operators(spec, spec.operator_order.after),
        notes=tuple(_notes(spec, plan, first=first == 0)),
    )


def _branch(spec: NetworkSpec, plans: Sequence[BlockPlan]) -> Iterator[Part]:
    """Yield the operators of F in order."""
    plan = plans[0]
    for layer in plan.layers:
        for operator in layer.operators:
            if operator == "conv":
                pieces = max(1, spec.maxout) if "activation" in layer.operators else 1
                yield Part(text=write_layer(spec, layer, pieces=pieces), kind="weight", width=_tone_width(plan))
            elif operator == "dropout":
                yield Part(text=f"dropout, p = {spec.dropout:g}", kind="regularization")
            elif operator == "activation" and spec.maxout:
                yield Part(text=f"maxout of {spec.maxout} pieces", kind="activation")
            else:
                yield from _operators(spec, [operator])
    if spec.squeeze_excitation:
        yield Part(text=f"squeeze-excitation, 1/{spec.squeeze_excitation}", kind="weight", width=_tone_width(plan))
    if spec.stochastic_depth:
        rates = dict.fromkeys(f"{plan.drop_rate:.3g}" for plan in (plans[0], plans[-1]))
        yield Part(text=f"stochastic depth\np = {' … '.join(rates)}", kind="regularization")


def _beside(spec: NetworkSpec, plan: BlockPlan) -> tuple[Part, ...]:
    """Return what the shortcut goes through."""
    if plan.shortcut == "none":
        return ()
    if plan.shortcut == "identity":
        return (Part(text="identity", kind="identity"),)
    if plan.shortcut == "zero-padding":
        extra = plan.out_width - plan.in_width
        both = f"\n{extra // 2} before, {extra - extra // 2} after" if spec.zero_padding == "both" else ""
        return (Part(text=f"zero padding:\n+{extra} channels{write_stride(plan.stride)}{both}", kind="zero-padding"),)
    convolution = write_convolution([1] * spec.dimensions, plan.out_width, plan.stride)
    projection = Part(text=f"projection W_s:\n{convolution}", kind="weight", width=_tone_width(plan))
    return (projection, *_operators(spec, () if spec.order == "pre" else ["norm"]))


def _gate(spec: NetworkSpec, plan: BlockPlan) -> Part:
    convolution = write_convolution([1] * spec.dimensions, plan.out_width, plan.stride)
    bias = f"{GATE_BIAS:g}".replace("-", "−")
    x = "x′" if plan.shares_preactivation else "x"
    text = f"gate T({x}) =\nsigmoid({convolution}),\nbias {bias} at first"
    return Part(text=text, kind="weight", width=_tone_width(plan))


def _notes(spec: NetworkSpec, plan: BlockPlan, *, first: bool) -> Iterator[str]:
    """Yield what the block computes as a formula, and what its picture alone would not say."""
    x = "x′" if plan.shares_preactivation else "x"
    shortcuts = {"identity": x, "zero-padding": f"pad({x})", "projection": f"W_s {x}"}
    formula = f"F({x})"
    if plan.gated:
        formula = f"T·F({x}) + (1 − T)·{shortcuts[plan.shortcut]}"
    elif plan.shortcut != "none":
        formula = f"F({x}) + {shortcuts[plan.shortcut]}"
    for part in _operators(spec, spec.operator_order.after):
        formula = f"{part.text}({formula})"
    yield f"y = {formula}"
    if plan.shares_preactivation:
        inner = f"{NORMS[spec.norm]}(x)" if spec.norm != "none" else "x"
        yield f"with x′ = ReLU({inner})"
    if first and spec.order == "pre":
        yield "x comes activated from conv1"
    if plan.shortcut == "none":
        yield "plain: no shortcut"


def _make_final(spec: NetworkSpec, pixels: int) -> BlockPicture:
    *_, last = spec.layout()
    shape = write_shape(last.out_width, [pixels] * spec.dimensions)
    return BlockPicture(
        names=f"after {last.name}",
        stage=last.stage,
        source=shape,
        result=shape,
        branch=_operators(spec, ("norm", "activation")),
        notes=("closes the last stage",),
    )


def _operators(spec: NetworkSpec, operators: Sequence[Operator]) -> tuple[Part, ...]:
    """Return the normalizations and ReLUs outside the layers, where the activation is never maxout."""
    parts = {"norm": Part(text=NORMS[spec.norm], kind="norm"), "activation": Part(text="ReLU", kind="activation")}
    return tuple(parts[operator] for operator in operators if operator != "norm" or spec.norm != "none")


def _tone_width(plan: BlockPlan) -> int:
    return plan.layers[0].out_width  # that of the stage: a bottleneck widens in its last layer only


def _write_names(members: Sequence[tuple[int, BlockPlan]]) -> str:
    """Write the names of like blocks, long runs of neighbours as "first … last"."""
    # Along a run of neighbours, the number of a block and its place among its likes go up together.
    runs = itertools.groupby(enumerate(members), lambda item: item[1][0] - item[0])
    names = [[plan.name for _, (_, plan) in run] for _, run in runs]
    return ", ".join(", ".join(run) if len(run) < 3 else f"{run[0]} … {run[-1]}" for run in names)
