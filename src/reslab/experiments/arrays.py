"""The task on arrays of images, all of one size: where they lie, in which order they come, how they are tested."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor

from reslab.data.balance import Indices, balance
from reslab.data.batches import Preparation, ResidentBatches, per_pixel_mean
from reslab.data.dataset import Dataset
from reslab.data.sampling import Sampler
from reslab.data.streaming import Batches, make_batches
from reslab.evaluation.classification import Counts
from reslab.experiments.labelled import LabelledTask, log_scores, prepare_weights
from reslab.networks import Network
from reslab.networks.capture import capture as record
from reslab.networks.execution import Execution
from reslab.spec import Preprocess
from reslab.spec.preprocess import PER_PIXEL_MEAN
from reslab.spec.recipe import AugmentationSpec
from reslab.spec.trial import SplitName, Trial
from reslab.training.processes import ALONE, Processes

EVALUATION_BATCH = 500


@dataclass(frozen=True, eq=False)
class Placement:
    """A dataset on a device, there as long as someone holds this; `dataset` is held because it is known by identity.

    `labels` are those of the training images, here.
    """

    dataset: Dataset
    labels: Indices
    train: Batches
    test: Batches


_placing = threading.Lock()
_placements: WeakValueDictionary[tuple[object, ...], Placement] = WeakValueDictionary()


@dataclass(frozen=True, kw_only=True)
class ArrayTask(LabelledTask):
    """A trial on images of one size, which lie on a device or go there."""

    data: Placement
    sampler: Sampler

    def load(self, step: int, count: int) -> tuple[Tensor, Tensor]:
        """Return the augmented images and the labels of `count` iterations from `step` on: this process's share."""
        recipe, processes = self.trial.recipe, self.processes
        draw = self.sampler.draw(step, recipe.batch, count=count)
        draw = draw.share(processes.rank, processes.count, parts=count * recipe.accumulate)
        images, labels = self.train.augmented(draw)
        batch = recipe.batch // processes.count
        return self.execution.prepare(images).unflatten(0, (count, batch)), labels.unflatten(0, (count, batch))

    @property
    def image_shape(self) -> tuple[int, ...]:
        """What the network is given: channels, height, width."""
        return self.data.dataset.train.images.shape[1:]

    @property
    def preprocess(self) -> Preprocess:
        """What happens to an image before the network."""
        return PER_PIXEL_MEAN

    @property
    def mean_image(self) -> Tensor:
        """The mean of the training images."""
        return self.test.mean

    @property
    def num_training_images(self) -> int:
        """How many images there are to train on."""
        return len(self.train)

    @property
    def train(self) -> Batches:
        """The images to train on."""
        return self.data.train

    @property
    def test(self) -> Batches:
        """The images to test on."""
        return self.data.test

    def make_evaluation(self, network: Network, *, capture: bool) -> Callable[[], dict[str, float]]:
        """Return what gives the scores that go into the metric log; captured where all test images are resident."""
        if not capture or self.processes.count > 1 or not isinstance(self.test, ResidentBatches):
            return super().make_evaluation(network, capture=False)
        device = self.test.labels.device
        counts = Counts(classes=self.trial.network.classes, device=device)
        replay: Callable[[], None] | None = None

        @torch.no_grad()
        def count() -> None:
            counts.clear()
            for images, labels in self.test_batches():
                counts.add(network(images), labels)

        def evaluate() -> dict[str, float]:
            nonlocal replay
            if replay is None:
                network.eval()
                replay = record(count, device=device, rehearsals=1)
            replay()
            return log_scores(counts.read())

        return evaluate

    def name_images(self, step: int) -> str:
        """Say which training images iteration `step` sees."""
        indices = self.sampler.draw(step, self.trial.recipe.batch).indices
        return ", ".join(map(str, indices[:8])) + (", ..." if len(indices) > 8 else "")

    def test_batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield every test image of this process's share once, with its label."""
        share = self.processes.share(len(self.test))
        for first in range(share.start, share.stop, EVALUATION_BATCH):
            images, labels = self.test.plain(first, min(first + EVALUATION_BATCH, share.stop))
            yield self.execution.prepare(images), labels


def make_array_task(
    trial: Trial, dataset: Dataset, *, device: torch.device | str, processes: Processes = ALONE
) -> ArrayTask:
    """Put a trial's data on `device` and pair it with its loss and scores."""
    augmentation = trial.recipe.augmentation
    data = place(dataset, trial.data.split, augmentation, device=device)
    sampler = Sampler(
        count=len(data.train),
        seed=trial.seed,
        padding=augmentation.padding,
        flip=augmentation.flip,
        alternating_flips=augmentation.alternating_flips,
        hole_places=data.train.size - augmentation.cutout + 1 if augmentation.cutout else 1,
        balance=balance(data.labels, seed=trial.seed) if trial.recipe.sampling == "balanced" else None,
    )
    return ArrayTask(
        trial=trial,
        data=data,
        sampler=sampler,
        execution=Execution(channels_last=trial.recipe.channels_last, precision=trial.recipe.precision),
        processes=processes,
        class_weights=prepare_weights(trial, data.labels, device=device),
    )


def place(
    dataset: Dataset, split: SplitName, augmentation: AugmentationSpec, *, device: torch.device | str
) -> Placement:
    """Put a dataset on `device`, or return it as it lies there for others who train on it just now."""
    key = (id(dataset), split, augmentation, str(device))
    with _placing:
        placement = _placements.get(key)
        if placement is None:
            train, test = dataset.divide(split)
            training = Preparation(
                mean=per_pixel_mean(train, brightest=dataset.brightest),
                brightest=dataset.brightest,
                padding=augmentation.padding,
                mean_first=augmentation.mean_first,
                edges=augmentation.edges,
                cutout=augmentation.cutout,
            )
            placement = _placements[key] = Placement(
                dataset=dataset,
                labels=train.labels.astype(np.int64),
                train=make_batches(train, training, device=device),
                test=make_batches(test, replace(training, padding=0), device=device),
            )
            if torch.device(device).type == "cuda":
                torch.cuda.current_stream(device).synchronize()  # others read it on streams of their own
        return placement
