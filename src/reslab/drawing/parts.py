"""What a picture of a whole network consists of, before anything has a place on the page."""

from dataclasses import dataclass
from typing import Literal, Self

ShortcutKind = Literal["identity", "zero-padding", "projection"]
# How the line of each kind is drawn; the paper dots the shortcuts that increase dimensions.
LINES: dict[ShortcutKind, str] = {"identity": "solid", "zero-padding": "dotted", "projection": "dashed"}


@dataclass(frozen=True, kw_only=True)
class Box:
    """One box of a column.

    `layers` counts the weight layers it stands for; `width` is the channels that give it its colour (0: none);
    `size` is the note on the map that leaves it.
    """

    text: str
    size: str
    width: int = 0
    layers: int = 0
    folded: bool = False


@dataclass(frozen=True, kw_only=True)
class Shortcut:
    """The line beside a block."""

    kind: ShortcutKind
    gated: bool = False
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One block with its shortcut, or one layer outside any block."""

    boxes: tuple[Box, ...]
    shortcut: Shortcut | None = None

    @property
    def is_block(self) -> bool:
        """Whether it is more than a layer."""
        return len(self.boxes) > 1 or self.shortcut is not None

    @classmethod
    def single(cls, text: str, *, size: str, width: int = 0, layers: int = 0, folded: bool = False) -> Self:
        """Make a step of one box."""
        return cls(boxes=(Box(text=text, size=size, width=width, layers=layers, folded=folded),))


@dataclass(frozen=True, kw_only=True)
class Column:
    """One network from input to output; `facts` stand under its name."""

    name: str
    facts: tuple[str, ...]
    source: str
    steps: tuple[Step, ...]

    @property
    def boxes(self) -> tuple[Box, ...]:
        """All boxes from top to bottom."""
        return tuple(box for step in self.steps for box in step.boxes)
