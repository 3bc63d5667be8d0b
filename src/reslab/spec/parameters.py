"""How many parameters a network has, counted off its spec without building it: what a record says is checked by it.

Of the layers that `reslab.networks` builds, kernels, matrices, biases and trained normalizations count. torchvision's
networks cannot be counted so: their layers stand there.
"""

from reslab.spec.catalogue import Spec
from reslab.spec.comparators import HighwaySpec, LeNetSpec
from reslab.spec.network import BlockPlan, LayerPlan, NetworkSpec


def count_parameters(spec: Spec) -> int | None:
    """Return the number of trained parameters of a network; None where its layers are not ours."""
    match spec:
        case NetworkSpec():
            return _count_residual(spec)
        case HighwaySpec():
            return _count_highway(spec)
        case LeNetSpec():
            convolutions = _weigh(spec.channels, 6, 5**2) + _weigh(6, 16, 5**2) + _weigh(16, 120, 5**2)
            return convolutions + _weigh(120, 84) + _weigh(84, spec.classes)
        case _:
            return None


def _count_residual(spec: NetworkSpec) -> int:
    plans = list(spec.layout())
    last = plans[-1].out_width
    final = _count_norm(spec, last) if spec.order == "pre" else 0
    blocks = sum(_count_block(spec, plan) for plan in plans)
    return _count_layer(spec, spec.stem_plan, bias=spec.stem.bias) + blocks + final + _weigh(last, spec.classes)


def _count_block(spec: NetworkSpec, plan: BlockPlan) -> int:
    count = sum(_count_layer(spec, layer) for layer in plan.layers)
    if plan.shares_preactivation:
        count += _count_norm(spec, plan.in_width)
    if spec.squeeze_excitation:
        inner = max(1, plan.out_width // spec.squeeze_excitation)
        count += _weigh(plan.out_width, inner) + _weigh(inner, plan.out_width)
    if plan.shortcut == "projection":
        count += _weigh(plan.in_width, plan.out_width, bias=spec.norm == "none")
        count += 0 if spec.order == "pre" else _count_norm(spec, plan.out_width)
    if plan.gated:
        count += _weigh(plan.in_width, plan.out_width)
    return count + ("norm" in spec.operator_order.after) * _count_norm(spec, plan.out_width)


def _count_layer(spec: NetworkSpec, plan: LayerPlan, *, bias: bool = False) -> int:
    """Count a layer: pieces of maxout are channels more, and without normalization there is a bias in its stead."""
    width = plan.out_width * (max(1, spec.maxout) if "activation" in plan.operators else 1)
    count = _weigh(plan.in_width, width, plan.kernel**spec.dimensions, bias=bias or spec.norm == "none")
    if "norm" in plan.operators:
        count += _count_norm(spec, plan.in_width if plan.normalizes_input else width)
    return count


def _count_norm(spec: NetworkSpec, width: int) -> int:
    return 2 * width if spec.norm in ("batch", "group") else 0


def _count_highway(spec: HighwaySpec) -> int:
    count, width = 0, spec.channels
    for stage in spec.stages:
        count += _weigh(width, stage.width, 3**2) + 2 * stage.blocks * _weigh(stage.width, stage.width, 3**2)
        width = stage.width
    return count + _weigh(width, spec.neck) + _weigh(spec.neck, spec.classes)


def _weigh(in_width: int, out_width: int, kernel_cells: int = 1, *, bias: bool = True) -> int:
    """Count what leads from so many channels to so many others."""
    return in_width * out_width * kernel_cells + (out_width if bias else 0)
