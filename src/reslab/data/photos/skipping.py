"""What to do about bad images: the first stops the work; or each is told once and left out, up to one in a hundred."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from reslab.data.photos.decoding import drop_advice
from reslab.data.photos.folder import PhotoDataset
from reslab.errors import UserError

MOST_BAD = 0.01  # of the images, before skipping them is no remedy
Bad = tuple[str, str]  # a file, and the sentence that is said of it
Part: TypeAlias = Literal["train", "test"]


@dataclass(frozen=True)
class Skipped:
    """An image that was left out: what it was for, its path under the dataset's root, and what is wrong with it."""

    part: Part
    image: str
    trouble: str


class BadImages:
    """Takes note of the bad images of a dataset; `warn` is told of each that is skipped, once.

    `known` are those that were skipped before; `keep` is handed all of them whenever there is another.
    """

    def __init__(
        self,
        dataset: PhotoDataset,
        *,
        skip: bool = False,
        warn: Callable[[str], None] = lambda sentence: None,
        known: Iterable[Skipped] = (),
        keep: Callable[[Sequence[Skipped]], None] = lambda skipped: None,
    ) -> None:
        self.root, self.skip, self.warn, self.keep = dataset.root, skip, warn, keep
        self.most = max(1, math.floor(MOST_BAD * (len(dataset.train) + len(dataset.test))))
        self.skipped = {one.image: one for one in known}

    def note(self, bad: Iterable[Bad], *, part: Part) -> None:
        """Tell of bad images, or stop at them."""
        for file, sentence in bad:
            if not self.skip:
                raise UserError(sentence)
            trouble = drop_advice(sentence).removeprefix(f"{file} ")
            self.add([Skipped(part, file.removeprefix(f"{self.root}/"), trouble)])

    def add(self, skipped: Iterable[Skipped]) -> None:
        """Skip images; those that were skipped before are not told again."""
        for one in skipped:
            if one.image in self.skipped:
                continue
            self.skipped[one.image] = one
            told = f"{self.root / one.image} {one.trouble}"
            if len(self.skipped) > self.most:
                raise UserError(
                    f"more than {self.most:,} image{'s are' if self.most > 1 else ' is'} bad, and no more than one in "
                    f"a hundred, or one, may be skipped; `reslab data check {self.root}` names all, the last: {told}"
                )
            self.keep(list(self.skipped.values()))
            self.warn(f"skipped: {told}")

    def count(self, part: Part) -> int:
        """Return how many images of a part were skipped."""
        return sum(one.part == part for one in self.skipped.values())
