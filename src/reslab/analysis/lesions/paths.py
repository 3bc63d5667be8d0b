"""The gradient that arrives at the input by paths of each length (Veit et al., 2016, section 4.3).

A path goes through a block's residual function or around it, by the shortcut; its length is how many it goes through.
All paths together are the network's gradient. The forward pass is the whole network's; the backward pass takes, at each
addition, the one way that a drawn path takes.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.analysis.anatomy import Anatomy, Part
from reslab.networks.blocks import Block

STREAM = 3  # of the seed; those of lesions are before it
CENTRAL = 0.9  # of the gradient's size, by which the lengths that matter are told


class _Fork(torch.autograd.Function):
    """residual + shortcut, whose gradient goes one way only: the one that `ways` has for the block at that time."""

    @staticmethod
    def forward(ctx: Any, residual: Tensor, shortcut: Tensor, ways: list[bool], index: int) -> Tensor:
        ctx.ways, ctx.index = ways, index
        return residual + shortcut

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        (gradient,) = gradients
        return (gradient, None, None, None) if ctx.ways[ctx.index] else (None, gradient, None, None)


class PathTracer:
    """The gradients of a batch's losses along paths: one forward pass, then a backward pass for each path."""

    def __init__(self, anatomy: Anatomy, images: Tensor) -> None:
        self.ways = [True] * len(anatomy.parts)
        self.images = images.detach().requires_grad_()
        x = anatomy.before(self.images)
        for index, part in enumerate(anatomy.parts):
            x = self._pass(index, _block_of(part), x)
        self.logits = anatomy.after(x)

    def _pass(self, index: int, block: Block, x: Tensor) -> Tensor:
        if block.preactivation is not None:
            x = block.preactivation(x)
        assert block.shortcut is not None
        y = _Fork.apply(block.residual(x), block.shortcut(x), self.ways, index)
        assert isinstance(y, Tensor)
        return block.after(y)

    def trace(self, losses: Tensor, through: Sequence[int]) -> Tensor:
        """Return the gradient of each image's loss along the path through these blocks and around the others."""
        self.ways[:] = [index in through for index in range(len(self.ways))]
        (gradient,) = torch.autograd.grad(losses.sum(), self.images, retain_graph=True)
        return gradient


def has_paths(anatomy: Anatomy) -> bool:
    """Whether there are two ways at every block; a gate makes a third, through itself."""
    blocks = [part.module for part in anatomy.parts]
    return all(isinstance(block, Block) and block.shortcut is not None and block.gate is None for block in blocks)


def draw_path(blocks: int, length: int, draw: int, *, seed: int) -> list[int]:
    """Return the blocks that a path goes through."""
    numbers = np.random.default_rng([seed, STREAM, length, draw])
    return sorted(numbers.choice(blocks, length, replace=False).tolist())


def measure_norms(
    tracer: PathTracer, losses: Tensor, draws: int, *, seed: int, known: Sequence[Sequence[float]] = ()
) -> Iterator[list[float]]:
    """Yield for each length, those `known` first, the norms at the input along drawn paths, means over images."""
    yield from map(list, known)
    blocks = len(tracer.ways)
    for length in range(len(known), blocks + 1):
        paths = (draw_path(blocks, length, draw, seed=seed) for draw in range(draws))
        norms = [tracer.trace(losses, path).flatten(1).norm(dim=1).double().mean() for path in paths]
        yield torch.stack(norms).tolist()


def sum_up_paths(norms: NDArray[np.float64], *, width: float) -> dict[str, Any]:
    """Return the norm of one path of each length, how many there are, and their share in all gradients.

    `norms` are (lengths, draws); intervals are `width` standard errors over the paths drawn. The lengths between which
    the central nine tenths of the gradient's size lie are told too.
    """
    blocks, draws = len(norms) - 1, norms.shape[1]
    means = norms.mean(1)
    spread = norms.std(1, ddof=1) if draws > 1 else np.zeros(len(norms))
    errors = width * spread / math.sqrt(draws)
    # The counts are huge, and some norms tiny: their products are taken on a scale of logarithms.
    logs = np.array([math.log(math.comb(blocks, length)) for length in range(blocks + 1)])
    counted = np.exp(logs - logs.max())
    sizes = counted * means
    shares = sizes / sizes.sum() if sizes.sum() > 0 else sizes
    reached = np.cumsum(shares)
    return {
        "lengths": [
            {"length": length, "paths": _share(counts), "norm": norm, "norm_error": error, "share": share}
            for length, (counts, norm, error, share) in enumerate(
                zip(counted / counted.sum(), means.tolist(), errors.tolist(), shares.tolist(), strict=True)
            )
        ],
        "central": [int(np.searchsorted(reached, edge)) for edge in ((1 - CENTRAL) / 2, (1 + CENTRAL) / 2)],
        "mean_length": float(np.arange(blocks + 1) @ shares),
    }


def _share(value: Any) -> float:
    return float(value)


def _block_of(part: Part) -> Block:
    assert isinstance(part.module, Block)
    return part.module
