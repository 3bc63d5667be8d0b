"""Activation checkpointing: keep a segment's input, recompute the rest when the backward pass needs it.

Segments of about the square root of a stage's blocks hold the least at once (Chen et al., 2016). The second
pass must leave no trace, so batch normalization does not count it: statistics and step counters move once.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
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
    """Run a segment: the first time without gradients, the second, for the backward pass, with them."""
    if not torch.is_grad_enabled():
        return segment(x)
    with _statistics_at_rest(segment), _drawing_again(segment, drawn):
        return segment(x)


@contextlib.contextmanager
def _drawing_again(segment: nn.Module, drawn: Tensor | None) -> Iterator[None]:
    """Let the segment's own generator draw what it drew when it was in the state `drawn`."""
    generator = generator_of(segment)
    if generator is None or drawn is None:  # torch's default generator is the checkpoint's business
        yield
        return
    now = generator.get_state()
    generator.set_state(drawn)
    try:
        yield
    finally:
        generator.set_state(now)


@contextlib.contextmanager
def _statistics_at_rest(segment: nn.Module) -> Iterator[None]:
    """Let the normalizations of `segment` write to copies of their statistics meanwhile."""
    norms = [module for module in segment.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    kept = [dict(norm._buffers) for norm in norms]
    for norm in norms:
        norm._buffers.update({name: buffer.clone() for name, buffer in norm._buffers.items() if buffer is not None})
    try:
        yield
    finally:
        for norm, buffers in zip(norms, kept, strict=True):
            norm._buffers.update(buffers)
