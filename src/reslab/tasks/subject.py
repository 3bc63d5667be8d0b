"""A trained network with its task and labelled images: what tests and instruments are pointed at."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from reslab.data.dataset import Split
from reslab.data.photos.bad_images import BadImages
from reslab.data.reading import read_in_order, stop_at_bad
from reslab.networks import Network
from reslab.runtime.execution import Execution
from reslab.spec import Preprocess
from reslab.spec.trial import SplitName
from reslab.tasks.task import Task, find_task
from reslab.tasks.views import Viewing


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A network on a device, and images in batches as they are stored, or as its preprocessing wants them.

    `own` is true for all the images a network's own training tested it on, prepared as then; `side` is that of the
    crops the network was made for; `bad` takes note of images that cannot be read.
    """

    origin: str
    network: Network
    own: bool
    data: str
    split: SplitName
    images: Split
    class_names: tuple[str, ...]
    brightest: int
    preprocess: Preprocess
    side: int
    execution: Execution
    device: str
    bad: BadImages | None

    def __len__(self) -> int:
        return len(self.images)

    @property
    def task(self) -> Task:
        """What the network was trained for."""
        return find_task(self.network.task).at(self.network.thresholds)

    def covered_by(self, kept: Mapping[str, Any]) -> bool:
        """Whether what was kept of an analysis is about all of these images, those included that could not be read."""
        return kept.get("data") == self.data and kept.get("images", 0) + kept.get("skipped_images", 0) == len(self)

    def viewing(self, protocol: str) -> Viewing:
        """Return how the network is shown the images by a protocol."""
        return Viewing(
            protocol=protocol,
            preprocess=self.preprocess,
            side=self.side,
            brightest=self.brightest,
            mean_image=self.network.mean_image,
        )

    def stored(self, size: int) -> Iterator[tuple[list[Tensor], Tensor]]:
        """Yield images as they are stored, tensors of one size each, and targets; every image once, in order."""
        on_bad = stop_at_bad if self.bad is None else self.bad.noting("test")
        for batch in read_in_order(self.images, size, device=self.device, on_bad=on_bad):
            yield batch.images, batch.targets

    def batches(self, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield prepared images and targets, every image once, in order."""
        viewing = self.viewing("1-crop")
        (shorter,) = viewing.shorter_sides
        for images, targets in self.stored(size):
            yield self.execution.prepare(torch.cat([viewing.show(group, shorter)[:, 0] for group in images])), targets
