"""How large the map is after every layer of a plain or residual network, from its spec alone."""

from dataclasses import dataclass

from reslab.errors import UserError
from reslab.spec import NetworkSpec


@dataclass(frozen=True, kw_only=True)
class MapSizes:
    """Pixels along one side of the map: after the stem, after its pool, and after each layer of each block."""

    stem: int
    pool: int
    blocks: tuple[tuple[int, ...], ...]

    @property
    def into_blocks(self) -> tuple[int, ...]:
        """What enters each block."""
        return (self.pool, *[sizes[-1] for sizes in self.blocks[:-1]])


def follow_map(spec: NetworkSpec) -> MapSizes:
    """Follow the map of one input through the network."""
    stem = _convolve(spec.input_size, spec.stem.kernel, spec.stem.stride)
    size = pool = _pool(spec, stem)
    if size < 1:
        raise UserError(f"input_size is {spec.input_size}, too small for conv1 and its pool; give a larger one")
    blocks = []
    for plan in spec.layout():
        sizes = []
        for layer in plan.layers:
            size = _convolve(size, layer.kernel, layer.stride)
            sizes.append(size)
        blocks.append(tuple(sizes))
    return MapSizes(stem=stem, pool=pool, blocks=tuple(blocks))


def _convolve(size: int, kernel: int, stride: int) -> int:
    return (size + 2 * (kernel // 2) - kernel) // stride + 1


def _pool(spec: NetworkSpec, size: int) -> int:
    """Follow a 3x3 pool of stride 2, which either rounds up or pads by one and rounds down."""
    if spec.pool == "none":
        return size
    return -((3 - size) // 2) + 1 if spec.pool == "ceil" else (size - 1) // 2 + 1
