"""Activation checkpointing: keep a segment's input, recompute the rest when the backward pass needs it.

Segments of about the square root of a stage's blocks hold the least at once (Chen et al., 2016). The second
pass must leave no trace, so batch normalization does not count it: statistics and step counters move once.
"""

import math
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from reslab.networks.dropout import generator_of


def run_checkpointed(blocks: Sequence[nn.Module], x: Tensor) -> Tensor:
    """Run `blocks` one after the other, keeping only what enters each segment; `x` must require a gradient."""
    length = max(1, round(math.sqrt(len(blocks))))
    for start in range(0, len(blocks), length):
        segment = nn.Sequential(*blocks[start : start + length])
        generator = generator_of(segment)
        drawn = None if generator is None else generator.get_state()
        # Reentrant, because its first pass builds no graph: the graph's small allocations would lie between the
        # large ones and keep the C library from reusing them (ResNet-1202 then peaks at twice the memory).
        x = checkpoint(partial(_run, segment, drawn), x, use_reentrant=True)
    return x


def _run(segment: nn.Module, drawn: Tensor | None, x: Tensor) -> Tensor:
    """Run a segment: the first time without gradients, the second, for the backward pass, with them.

    The second time normalizations write to copies of their statistics, and the segment's own generator draws what it
    drew when it was in the state `drawn`; torch's default generator is the checkpoint's business.
    """
    if not torch.is_grad_enabled():
        return segment(x)
    norms = [module for module in segment.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    kept = [dict(norm._buffers) for norm in norms]
    generator = generator_of(segment)
    now = None if generator is None else generator.get_state()
    try:
        for norm in norms:
            norm._buffers.update({name: buffer.clone() for name, buffer in norm._buffers.items() if buffer is not None})
        if generator is not None and drawn is not None:
            generator.set_state(drawn)
        return segment(x)
    finally:
        for norm, buffers in zip(norms, kept, strict=True):
            norm._buffers.update(buffers)
        if generator is not None and now is not None:
            generator.set_state(now)
