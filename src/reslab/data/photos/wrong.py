"""What of a dataset cannot be taken: a training stops at the first such thing, who looks for all of them goes on."""

from __future__ import annotations

from collections.abc import Callable

from reslab.errors import UserError


class Wrong(UserError):
    """A line of a list or a shard that cannot be taken: its `place` under the data's folder, and the `trouble`."""

    def __init__(self, sentence: str, *, place: str, trouble: str) -> None:
        super().__init__(sentence)
        self.place, self.trouble = place, trouble


Tell = Callable[[Wrong], None]


def refuse(wrong: Wrong) -> None:
    """Stop at what is wrong."""
    raise wrong
