"""Which networks there are kernels for, on which devices, and how one is put on them."""

from __future__ import annotations

import os
import shutil
from typing import Protocol

import torch
from torch import Tensor

from reslab.networks.network import Network
from reslab.spec import Spec
from reslab.spec.network import NetworkSpec

WIDTHS = (16, 32, 64)
SHORTCUTS = {"post": ("none", "A", "B", "C"), "pre": ("none", "A")}


class WeightedLogits(Protocol):
    """What a network's `weighted_logits` is."""

    def __call__(self, x: Tensor) -> list[tuple[float, Tensor]]:
        """Return what the training loss sums over: each set of logits with its weight."""
        ...


def can_fuse(spec: Spec) -> bool:
    """Whether there are kernels for all of a network: 3x3 layers of known widths, each with batch normalization."""
    return (
        isinstance(spec, NetworkSpec)
        and (spec.block, spec.norm, spec.pool, spec.dimensions) == ("basic", "batch", "none", 2)
        and spec.shortcut in SHORTCUTS.get(spec.order, ())
        and (spec.stem.kernel, spec.stem.stride, spec.stem.bias) == (3, 1, False)
        and not (spec.dropout or spec.maxout or spec.stochastic_depth or spec.squeeze_excitation or spec.checkpointing)
        and spec.channels <= min(WIDTHS)
        and all(width in WIDTHS for width in (spec.stem.width, *[stage.width for stage in spec.stages]))
        and all(_halves_or_keeps(plan.stride, plan.in_width, plan.out_width) for plan in spec.layout())
        and _last_side(spec) in (4, 8, 16)
    )


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


def fuse(network: Network, dtype: torch.dtype) -> WeightedLogits:
    """Return what stands in for the network's `weighted_logits` while it trains in bfloat16 or float16."""
    from reslab.networks.fused.chain import FusedChain
    from reslab.networks.resnet import ResidualNetwork

    assert isinstance(network, ResidualNetwork)
    chain = FusedChain(network, dtype=dtype)

    def weighted_logits(x: Tensor) -> list[tuple[float, Tensor]]:
        with torch.autocast(x.device.type, enabled=False):  # so small that narrowing costs more than it saves
            return [(1.0, network.classifier(chain.features(x)))]

    return weighted_logits


def _has_compiler() -> bool:
    """Whether there is a C compiler, with which Triton makes what launches its kernels."""
    return any(shutil.which(name) for name in (os.environ.get("CC", ""), "gcc", "clang") if name)


def _halves_or_keeps(stride: int, in_width: int, out_width: int) -> bool:
    return (stride, out_width) in ((1, in_width), (2, 2 * in_width))


def _last_side(spec: NetworkSpec) -> int:
    strides = list(spec.stage_strides.values())
    return spec.input_size // strides[-1] if spec.input_size % strides[-1] == 0 else 0
