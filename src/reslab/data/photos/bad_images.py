"""What happens to bad images: the first one stops the work; or each is skipped with one warning, up to 1 %."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from reslab.data.dataset import Dataset
from reslab.data.photos.pixels import drop_advice
from reslab.data.reading import BadImage, OnBad
from reslab.errors import UserError
from reslab.files import write_text
from reslab.json_text import to_json
from reslab.runtime.listener import DEAF, Listener
from reslab.runtime.processes import Processes
from reslab.spec.codec import decode, encode
from reslab.spec.trial import Trial

FILE = "skipped.json"  # of a run
MOST_BAD = 0.01  # of the images, before skipping them is no remedy
Part: TypeAlias = Literal["train", "test"]


@dataclass(frozen=True)
class Skipped:
    """An image that was left out: what it was for, its path under the dataset's root, and what is wrong with it."""

    part: Part
    image: str
    trouble: str


def count_skippable(images: int) -> int:
    """Return how many of so many images may be skipped."""
    return max(1, math.floor(MOST_BAD * images))


class BadImages:
    """Records the bad images of a dataset; the listener is warned once of each skipped image.

    `known` are those that were skipped before; a run's `folder` keeps all of them.
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        skip: bool = False,
        listener: Listener = DEAF,
        known: Iterable[Skipped] = (),
        folder: Path | None = None,
    ) -> None:
        self.root, self.skip, self.listener, self.folder = dataset.root or Path(), skip, listener, folder
        self.most = count_skippable(len(dataset.train) + len(dataset.test))
        self.skipped = {one.image: one for one in known}

    def noting(self, part: Part) -> OnBad:
        """Return what takes note of a bad image of a part, or stops at it."""
        return lambda index, error: self.note(error, part=part)

    def note(self, error: BadImage, *, part: Part) -> None:
        """Warn of a bad image, or stop at it."""
        if not self.skip:
            raise error
        trouble = drop_advice(str(error)).removeprefix(f"{error.image} ")
        self.add([Skipped(part, error.image.removeprefix(f"{self.root}/"), trouble)])

    def add(self, skipped: Iterable[Skipped]) -> None:
        """Skip images; images that were skipped before get no second warning."""
        for one in skipped:
            if one.image in self.skipped:
                continue
            self.skipped[one.image] = one
            told = f"{self.root / one.image} {one.trouble}"
            if len(self.skipped) > self.most:
                raise UserError(
                    f"more than {self.most:,} image{'s' * (self.most > 1)} cannot be read, but at most 1 % of all "
                    "images (or one image) may be skipped; correct or remove the bad images, which "
                    f"`reslab data check {self.root}` lists; the last one: {told}"
                )
            if self.folder is not None:
                write_skipped(self.folder, list(self.skipped.values()))
            self.listener.warn(f"skipped: {told}")

    def count(self, part: Part) -> int:
        """Return how many images of a part were skipped."""
        return sum(one.part == part for one in self.skipped.values())


def follow_bad(
    dataset: Dataset, trial: Trial, *, processes: Processes, folder: Path | None, listener: Listener
) -> BadImages:
    """Return what records the bad images of a trial: the first of its processes keeps them in the run's `folder`."""
    skip, kept = trial.data.on_bad_image == "skip", folder if processes.first else None
    known = processes.ask_first(read_skipped(kept) if kept else []) if skip else []
    return BadImages(dataset, skip=skip, listener=listener, known=known, folder=kept)


def read_skipped(folder: Path) -> list[Skipped]:
    """Read what earlier sittings of a run have skipped."""
    path = folder / FILE
    try:
        return [decode(Skipped, one) for one in json.loads(path.read_text(encoding="utf-8"))["images"]]
    except FileNotFoundError:
        return []
    except (UserError, OSError, ValueError, LookupError, TypeError) as error:
        raise UserError(f"{path} is damaged ({error}); remove this file to resume the run") from error


def write_skipped(folder: Path, skipped: Sequence[Skipped]) -> None:
    """Write what a run has skipped."""
    write_text(folder / FILE, to_json({"images": encode(skipped)}, indent=2, sort_keys=True) + "\n")
