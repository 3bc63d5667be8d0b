"""Which specs describe a network at all: counts first, then the combinations that contradict themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reslab.errors import UserError
from reslab.spec.codec import place

if TYPE_CHECKING:
    from reslab.spec.network import NetworkSpec

LARGEST = 10_000_000
MOST_BLOCKS = 20_000


def check(spec: NetworkSpec) -> None:
    """Refuse a spec that no network fits, naming the field and the remedy."""
    where = place()
    if not spec.stages:
        raise UserError(f"{where}stages is empty; give at least one stage")
    check_counts(spec, "classes", "channels", "input_size")
    check_counts(spec.stem, "kernel", "width", "stride", inside="stem.")
    for index, stage in enumerate(spec.stages):
        check_counts(stage, "blocks", "width", "stride", inside=f"stages.{index}.")
    blocks = sum(stage.blocks for stage in spec.stages)
    if blocks > MOST_BLOCKS:
        raise UserError(f"{where}stages have {blocks:,} blocks in all; at most {MOST_BLOCKS:,} can be built")
    if spec.stem.kernel % 2 == 0:
        raise UserError(f"{where}stem.kernel is {spec.stem.kernel}; it must be odd")
    for field in ("maxout", "squeeze_excitation"):
        if getattr(spec, field) < 0:
            raise UserError(f"{where}{field} is {getattr(spec, field)}; it must be 0 (off) or more")
    check_probabilities(spec, "dropout", "stochastic_depth")
    for reason in _impossible(spec):
        raise UserError(reason)


def check_counts(spec: object, *fields: str, inside: str = "") -> None:
    """Refuse a field that counts something and is none or more than any network has."""
    for field in fields:
        value = getattr(spec, field)
        if not 1 <= value <= LARGEST:
            raise UserError(f"{place()}{inside}{field} is {value}; it must be at least 1 and at most {LARGEST:,}")


def check_probabilities(spec: object, *fields: str) -> None:
    """Refuse a field that is no probability, or certainty."""
    for field in fields:
        value = getattr(spec, field)
        if not 0 <= value < 1:
            raise UserError(f"{place()}{field} is {value}; it is a probability, from 0 up to but not including 1")


def _impossible(spec: NetworkSpec) -> Iterator[str]:
    """Yield why a combination describes no network, and the remedy."""
    where, plain, order = place(), not spec.residual, spec.order
    if plain and order not in ("post", "pre"):
        yield f"{where}order={order} needs an addition, but {where}shortcut=none has none; use {where}order=post or pre"
    if plain and spec.stochastic_depth > 0:
        yield (
            f"{where}stochastic_depth drops residual branches, but {where}shortcut=none leaves no other path; "
            "set it to 0"
        )
    if plain and spec.zero_gamma:
        remedy = f"use it with {where}shortcut=A, B, C or gated"
        yield f"{where}zero_gamma would make a plain network's output zero: {remedy}"
    if spec.zero_gamma and (spec.norm in ("none", "frozen") or order != "post"):
        yield (
            f"{where}zero_gamma needs a trained normalization at the end of the residual branch, but "
            f"{where}norm={spec.norm} {where}order={order} has none; "
            f"use {where}norm=batch with {where}order=post"
        )
    if order == "bn-after-addition" and spec.norm == "none":
        yield f"{where}order=bn-after-addition and {where}norm=none contradict each other: use {where}order=post"
    if spec.maxout == 1:
        yield f"{where}maxout=1 is the maximum of one piece, which is linear; use 2 or more, or 0 for ReLU"
    if spec.maxout > 1 and order == "pre":
        yield (
            f"{where}maxout with {where}order=pre would need the input of every block in pieces; use {where}order=post"
        )
    strided = spec.stem.stride > 1 or spec.pool != "none" or any(stage.stride > 1 for stage in spec.stages)
    if spec.dimensions == 0 and strided:
        yield (
            f"{where}dimensions=0 is a stack of fully-connected layers, which cannot have strides or pooling; "
            f"set every stride to 1 and {where}pool=none"
        )
    for plan in spec.layout():
        if plan.shortcut == "zero-padding" and plan.in_width > plan.out_width:
            yield (
                f"{where}shortcut=A pads with zeros, so it cannot reduce {plan.in_width} channels to {plan.out_width} "
                f"at {plan.name}: use {where}shortcut=B"
            )
