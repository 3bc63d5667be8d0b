"""The paper's two families of networks, turned by its own dial, the depth; wide and dense ones beside them."""

from collections.abc import Sequence

from reslab.errors import UserError, choices
from reslab.spec.network import BLOCK_KERNELS, Block, NetworkSpec, Shortcut, StageSpec, StemSpec

IMAGENET_BLOCKS: dict[int, tuple[Block, tuple[int, int, int, int]]] = {
    18: ("basic", (2, 2, 2, 2)),
    34: ("basic", (3, 4, 6, 3)),
    50: ("bottleneck", (3, 4, 6, 3)),
    101: ("bottleneck", (3, 4, 23, 3)),
    152: ("bottleneck", (3, 8, 36, 3)),
}


def imagenet(depth: int, *, shortcut: Shortcut | None = None) -> NetworkSpec:
    """Return the ImageNet network of Table 1; option A for 18 and 34 layers, B for the deeper ones."""
    if depth not in IMAGENET_BLOCKS:
        raise UserError(f"depth {depth} is not in Table 1: choose {choices(IMAGENET_BLOCKS)}")
    block, blocks = IMAGENET_BLOCKS[depth]
    return NetworkSpec(
        stem=StemSpec(kernel=7, width=64, stride=2),
        pool="ceil",
        stages=_stages(blocks, width=64),
        block=block,
        shortcut=shortcut or ("A" if block == "basic" else "B"),
    )


def cifar(depth: int, *, block: Block = "basic", shortcut: Shortcut = "A") -> NetworkSpec:
    """Return the CIFAR network of section 4.2: three stages of n blocks, 6n+2 layers (9n+2 with bottlenecks)."""
    also = f", or {depth} with block=bottleneck" if block == "basic" and depth >= 11 and (depth - 2) % 9 == 0 else ""
    of = f"CIFAR networks of {block} blocks"
    blocks = _count_blocks(depth, 3 * len(BLOCK_KERNELS[block]), 2, of=of, also=also)
    return NetworkSpec(
        stem=StemSpec(kernel=3, width=16),
        stages=_stages([blocks] * 3, width=16),
        block=block,
        shortcut=shortcut,
        classes=10,
        input_size=32,
    )


def wide(depth: int, factor: int) -> NetworkSpec:
    """Return WRN-depth-factor (Zagoruyko and Komodakis, 2016): pre-activation CIFAR blocks, `factor` times as wide.

    Their depth, 6n+4, counts conv1, the blocks' layers and three projections, not the classifier: two more than ours.
    """
    blocks = _count_blocks(depth, 6, 4, of="wide residual networks")
    if factor < 1:
        raise UserError(f"widening factor {factor} is not a width: choose 1 or more, such as wrn-{depth}-4")
    return NetworkSpec(
        stem=StemSpec(kernel=3, width=16),
        stages=_stages([blocks] * 3, width=16 * factor),
        shortcut="B",
        order="pre",
        init="he-fan-out",
        classes=10,
        input_size=32,
    )


def dense(depth: int, *, width: int = 64, channels: int = 64, shortcut: Shortcut = "A") -> NetworkSpec:
    """Return a stack of fully-connected residual blocks for vectors: 2n+2 layers of one width."""
    if depth < 4 or depth % 2:
        raise UserError(
            f"depth {depth} is not 2n+2: a dense stack has two layers per block, so choose an even depth >= 4"
        )
    return NetworkSpec(
        stem=StemSpec(kernel=1, width=width),
        stages=(StageSpec(blocks=(depth - 2) // 2, width=width),),
        shortcut=shortcut,
        classes=10,
        channels=channels,
        dimensions=0,
        input_size=1,
    )


def _stages(blocks: Sequence[int], *, width: int) -> tuple[StageSpec, ...]:
    """Each stage after the first halves the map and doubles the width."""
    return tuple(
        StageSpec(blocks=count, width=width * 2**index, stride=1 if index == 0 else 2)
        for index, count in enumerate(blocks)
    )


def _count_blocks(depth: int, per_n: int, others: int, *, of: str, also: str = "") -> int:
    """Return n of a depth that is `per_n` times n and `others` more; refuse any other depth."""
    count, rest = divmod(depth - others, per_n)
    if count >= 1 and not rest:
        return count
    below = max(1, count) * per_n + others
    rule = f"{per_n}n+{others}, the rule for {of}"
    raise UserError(f"depth {depth} is not {rule}: choose {below} or {below + per_n}{also}")
