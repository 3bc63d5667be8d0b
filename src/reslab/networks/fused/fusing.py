"""Which networks there are kernels for, on which devices, and how one is put on them."""

import os
import shutil
from collections.abc import Sequence

import torch

from reslab.errors import UserError
from reslab.networks.network import Network, StandIn
from reslab.spec import Spec
from reslab.spec.network import NetworkSpec, StageSpec, StemSpec

WIDTHS = (16, 32, 64)
# What all kernels heed, or what changes nothing of what they compute, such as the initial weights.
HEEDED = (
    *("shortcut", "zero_padding", "stride_in", "order", "pre_revision"),
    *("init", "zero_gamma", "classes", "channels", "input_size"),
)
SHORTCUTS = {"post": ("none", "A", "B", "C"), "pre": ("none", "A")}


def can_fuse(spec: Spec) -> bool:
    """Whether there are kernels for all of a network: 3x3 layers of known widths, each with batch normalization."""
    return (
        isinstance(spec, NetworkSpec)
        and is_canonical(spec, stem=StemSpec(kernel=3, width=spec.stem.width), heeded=HEEDED)
        and spec.shortcut in SHORTCUTS.get(spec.order, ())
        and spec.channels <= min(WIDTHS)
        and all(width in WIDTHS for width in (spec.stem.width, *[stage.width for stage in spec.stages]))
        and all((plan.stride, plan.out_width) in ((1, plan.in_width), (2, 2 * plan.in_width)) for plan in spec.layout())
        and spec.input_size / list(spec.stage_strides.values())[-1] in (4, 8, 16)
    )


def is_canonical(spec: NetworkSpec, *, stem: StemSpec, heeded: Sequence[str]) -> bool:
    """Whether a spec says nothing that kernels do not know of: all but the stages and `heeded` fields is as by default.

    What is added to specs one day is thus unknown to kernels until they heed it.
    """
    stages = tuple(StageSpec(blocks=each.blocks, width=each.width, stride=each.stride) for each in spec.stages)
    try:
        return spec == NetworkSpec(stem=stem, stages=stages, **{field: getattr(spec, field) for field in heeded})
    except UserError:  # without the rest it describes no network
        return False


def is_available(device: torch.device | str) -> bool:
    """Whether this device runs the kernels; RESLAB_FUSED=0 says no."""
    device = torch.device(device)
    if device.type != "cuda" or torch.cuda.get_device_capability(device) < (8, 0):
        return False
    if os.environ.get("RESLAB_FUSED") == "0" or not _has_compiler():
        return False
    try:
        import triton  # noqa: F401  # pyright: ignore[reportMissingImports, reportUnusedImport]
    except ImportError:
        return False
    return True


def fuse(network: Network, dtype: torch.dtype, *, lanes: int = 1) -> StandIn:
    """Return what stands in for the network's trunk while it trains in bfloat16 or float16.

    A batch goes through it in as many parts as there are lanes, each normalized by itself.
    """
    from reslab.networks.fused.chain import FusedChain
    from reslab.networks.resnet import ResidualNetwork

    assert isinstance(network, ResidualNetwork)
    # Its features are float32, and so few that narrowing them for the head costs more than it saves.
    return StandIn(FusedChain(network, dtype=dtype, lanes=lanes).features, heeds_autocast=False)


def _has_compiler() -> bool:
    """Whether there is a C compiler, with which Triton makes what launches its kernels."""
    return any(shutil.which(name) for name in (os.environ.get("CC", ""), "gcc", "clang") if name)
