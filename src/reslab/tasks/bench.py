"""Networks side by side in a test: shown the same images, each and all together."""

from collections.abc import Sequence
from typing import Any, Protocol

from torch import Tensor


class Bench(Protocol):
    """What tests one network or an ensemble by a protocol."""

    @property
    def most_images(self) -> int:
        """How many images are best read at once on a CPU."""
        ...

    def judge(self, images: Sequence[Tensor], question: int) -> tuple[list[Tensor], Tensor]:
        """Return what each network says of images as they are stored, and what they say together."""
        ...

    def describe(self) -> list[dict[str, Any]]:
        """Say of each network how it was shown the images."""
        ...
