"""Which fields change what a network computes with given weights, and which only how it starts or trains."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reslab.spec.catalogue import Spec, differences
from reslab.spec.comparators import HighwaySpec, LeNetSpec, TorchvisionSpec
from reslab.spec.network import NetworkSpec


def contradictions(one: Spec, other: Spec) -> dict[str, tuple[Any, Any]]:
    """Return the fields in which two specs, given the same weights, would compute different things."""
    return differences(_materials(one), _materials(other))


def _materials(spec: Spec) -> Spec:
    """Return `spec` with everything immaterial at its default; of a family not known here, all is material."""
    if isinstance(spec, HighwaySpec):
        return replace(spec, dropout=0.0, gate_bias=0.0, input_size=32)
    if isinstance(spec, TorchvisionSpec):
        return spec if spec.architecture == "vit_b_16" else replace(spec, input_size=224)
    if isinstance(spec, LeNetSpec):
        return replace(spec, input_size=32)
    if not isinstance(spec, NetworkSpec):
        return spec
    return replace(
        spec,
        zero_padding=spec.zero_padding if spec.shortcut == "A" else "after",
        stride_in=spec.stride_in if spec.block == "bottleneck" else "1x1",
        norm="batch" if spec.norm == "frozen" else spec.norm,
        init="he-fan-in",
        zero_gamma=False,
        dropout=0.0,
        stochastic_depth=0.0,
        input_size=224,
        checkpointing=False,
    )
