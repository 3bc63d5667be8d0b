"""Whoever hears of long work: its warnings, its progress and its parts; and is asked whether to stop.

One object goes through all layers. As it stands it hears nothing and never wishes to stop.
"""

import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Self

Metrics = Mapping[str, float]


def _ignore(*_: Any) -> None:
    """Hear nothing."""


@dataclass(frozen=True, kw_only=True)
class Listener:
    """`warn` is told a sentence; `progress` how much is done, and the newest metrics where there are some.

    `enter` is told of a part of the work, a trial or a test of so many images, and gives who hears of that part.
    """

    warn: Callable[[str], None] = _ignore
    progress: Callable[[int, Metrics], None] = _ignore
    should_stop: Callable[[], bool] = lambda: False
    enter: Callable[[Any, int], AbstractContextManager[Callable[[int, Metrics], None]]] = field(
        default=lambda part, total: nullcontext(_ignore)
    )

    def moved_by(self, progress: Callable[[int, Metrics], None]) -> Self:
        """Return the same listener for a part of the work, whose progress goes elsewhere."""
        return replace(self, progress=progress)


DEAF = Listener()
ALOUD = Listener(warn=warnings.warn)  # tells a Python program as Python does
