"""Which lesions there are, as plain data: blocks deleted, exchanged or set back, drawn by a seed; no torch."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

Kind: TypeAlias = Literal["intact", "single", "reset", "pair", "several", "shuffled"]
Deed: TypeAlias = Literal["run", "skip", "reset"]
STREAMS = {"pair": 0, "several": 1, "shuffled": 2}  # so that none shifts another's draws


@dataclass(frozen=True, order=True)
class Place:
    """What stands at one place in the row: which block, and what is done with it."""

    block: int
    deed: Deed = "run"


@dataclass(frozen=True, kw_only=True)
class Lesion:
    """The row of blocks as a lesion leaves it; `amount` is how many blocks were deleted, or how often two exchanged."""

    kind: Kind
    row: tuple[Place, ...]
    amount: int = 0

    @property
    def changed(self) -> tuple[int, ...]:
        """The blocks that are deleted or set back."""
        return tuple(place.block for place in self.row if place.deed != "run")

    @property
    def order(self) -> list[int]:
        """The blocks as they follow each other."""
        return [place.block for place in self.row]


def intact(blocks: int) -> Lesion:
    """Return the lesion of nothing."""
    return Lesion(kind="intact", row=tuple(map(Place, range(blocks))))


def singles(blocks: int, kind: Literal["single", "reset"]) -> Iterator[Lesion]:
    """Yield each block deleted, or set back, alone."""
    deed: Deed = "skip" if kind == "single" else "reset"
    for block in range(blocks):
        yield Lesion(kind=kind, row=_change(blocks, {block}, deed), amount=1)


def pairs(blocks: int, most: int, *, seed: int) -> list[Lesion]:
    """Return each pair of blocks deleted or, where there are more than `most`, so many different ones."""
    every = list(itertools.combinations(range(blocks), 2))
    if len(every) > most:
        drawn = _numbers("pair", seed).choice(len(every), most, replace=False)
        every = [every[index] for index in sorted(drawn)]
    return [Lesion(kind="pair", row=_change(blocks, set(pair), "skip"), amount=2) for pair in every]


def several(blocks: int, most: int, draws: int, *, seed: int) -> Iterator[Lesion]:
    """Yield 1, 2, ... `most` blocks deleted at once, each number drawn anew so many times."""
    numbers = _numbers("several", seed)
    for amount in range(1, min(most, blocks) + 1):
        for _ in range(draws):
            chosen = set(numbers.choice(blocks, amount, replace=False).tolist())
            yield Lesion(kind="several", row=_change(blocks, chosen, "skip"), amount=amount)


def shuffles(groups: Sequence[Sequence[int]], blocks: int, most: int, draws: int, *, seed: int) -> Iterator[Lesion]:
    """Yield orders after 1, 2, ... `most` exchanges of two blocks of one group, each number drawn anew."""
    choices = [pair for group in groups for pair in itertools.combinations(group, 2)]
    numbers = _numbers("shuffled", seed)
    for amount in range(1, (most if choices else 0) + 1):
        for _ in range(draws):
            order = list(range(blocks))
            for index in numbers.integers(0, len(choices), amount):
                one, other = choices[index]
                order[one], order[other] = order[other], order[one]
            yield Lesion(kind="shuffled", row=tuple(map(Place, order)), amount=amount)


def kendall_tau(order: Sequence[int]) -> float:
    """Return how much of its order a permutation keeps: 1 all of it, -1 none; 1 for a single element."""
    inverted = sum(earlier > later for earlier, later in itertools.combinations(order, 2))
    return 1 - 2 * inverted / max(1, math.comb(len(order), 2))


def _change(blocks: int, chosen: set[int], deed: Deed) -> tuple[Place, ...]:
    return tuple(Place(block, deed if block in chosen else "run") for block in range(blocks))


def _numbers(kind: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, STREAMS[kind]])
