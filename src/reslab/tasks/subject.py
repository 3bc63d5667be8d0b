"""A trained network with its task and labelled images: what tests and instruments are pointed at."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from reslab.data.dataset import Split
from reslab.data.photos.bad_images import BadImages
from reslab.data.reading import read_in_order, stop_at_bad
from reslab.errors import UserError
from reslab.networks import Network
from reslab.runtime.execution import Execution
from reslab.spec import Preprocess
from reslab.spec.trial import SplitName, Trial
from reslab.tasks.output_task import OutputTask
from reslab.tasks.task import Task, find_task
from reslab.tasks.views import Viewing

Part = Literal["test", "train"]


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A network on a device, and images in batches as they are stored, or as its preprocessing wants them.

    `own` is true for all the images a network's own training tested it on, prepared as then; `trained_on` are those
    of the same data that are trained on. Where images may be sorted by class, as folders are, they are `spread`: fewer
    of them are taken evenly from all over their split, and not from its beginning. `side` is that of the crops the
    network was made for; `bad` takes note of images that cannot be read. A run has its `trial` and `snapshots`, its
    weights along the training by step; `step` is that of the weights where they are one of these.
    """

    origin: str
    network: Network
    own: bool
    data: str
    split: SplitName
    images: Split
    trained_on: Split
    class_names: tuple[str, ...]
    brightest: int
    preprocess: Preprocess
    side: int
    execution: Execution
    device: str
    bad: BadImages | None
    spread: bool = False
    trial: Trial | None = None
    step: int | None = None
    snapshots: Mapping[int, Path] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.images)

    def count(self, on: Part, images: int = 0) -> int:
        """Return how many images there are, or so many of them (0: all); refuse to find more than there are."""
        there = len(self._choose(on))
        if images > there:
            kind = "test" if on == "test" else "training"
            raise UserError(
                f"images is {images:,}, but {self.data} has {there:,} {kind} images; leave out images= to use all of "
                "them"
            )
        return images or there

    def takes_evenly(self, on: Part, images: int) -> bool:
        """Whether so many images are not the first ones, but spread over all there are."""
        return self.spread and 0 < images < self.count(on)

    def _choose(self, on: Part) -> Split:
        return self.images if on == "test" else self.trained_on

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

    def stored(
        self, size: int, *, on: Part = "test", images: int = 0, drawn: int | None = None
    ) -> Iterator[tuple[list[Tensor], Tensor]]:
        """Yield images as they are stored, tensors of one size each, and targets; every image once, in order.

        They are the first so many `images` (0: all), or such as are spread, or so many `drawn` by a seed. Training
        images are not augmented.
        """
        split, count = self._choose(on), self.count(on, images)
        if drawn is not None:
            split = split.take(np.random.default_rng(drawn).permutation(len(split))[:count])
        elif self.takes_evenly(on, images):
            split = split.take(np.arange(count) * len(split) // count)
        elif images:
            split = split.take(slice(count))
        on_bad = stop_at_bad if self.bad is None else self.bad.noting(on)
        for batch in read_in_order(split, size, device=self.device, on_bad=on_bad):
            yield batch.images, batch.targets

    def batches(
        self, size: int, *, on: Part = "test", images: int = 0, drawn: int | None = None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the same images as the network wants them, and targets."""
        viewing = self.viewing("1-crop")
        (shorter,) = viewing.shorter_sides
        for stored, targets in self.stored(size, on=on, images=images, drawn=drawn):
            yield self.execution.prepare(torch.cat([viewing.show(group, shorter)[:, 0] for group in stored])), targets

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return each image's loss as the task has it, without smoothing, class weights and weight decay."""
        return self._output_task.image_losses(outputs, targets, smoothing=0.0, weights=None)

    def wrong(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return for each image whether the task judges it wrong: 1, else 0."""
        return self._output_task.mistakes(outputs, targets).to(outputs.dtype)

    @property
    def _output_task(self) -> OutputTask:
        if not isinstance(self.task, OutputTask):
            raise UserError(f"{self.origin} is a network for {self.network.task.name}, which has no loss of one image")
        return self.task
