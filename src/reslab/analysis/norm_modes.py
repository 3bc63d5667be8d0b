"""Which statistics batch normalization uses while something is measured: those it has, or those of each batch."""

import contextlib
from collections.abc import Iterator
from typing import Literal, TypeAlias

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

NormMode: TypeAlias = Literal["fixed", "batch"]


@contextlib.contextmanager
def normalizing_by(mode: NormMode, *modules: nn.Module) -> Iterator[None]:
    """Let every batch normalization use these statistics for a time; none of its own are changed."""
    norms = [norm for module in modules for norm in module.modules() if isinstance(norm, _BatchNorm)]
    before = [(norm, norm.training, norm.track_running_stats) for norm in norms]
    for norm in norms if mode == "batch" else ():
        norm.training, norm.track_running_stats = True, False
    try:
        yield
    finally:
        for norm, training, tracked in before:
            norm.training, norm.track_running_stats = training, tracked
