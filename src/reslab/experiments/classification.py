"""The classification task: the loss of a batch, and the errors on the test images."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from reslab.data.batches import Preparation, per_pixel_mean
from reslab.data.dataset import Dataset, Split
from reslab.data.sampling import Sampler
from reslab.data.streaming import Batches, make_batches
from reslab.errors import UserError
from reslab.evaluation.classification import Scores, score
from reslab.networks import Network
from reslab.networks.execution import Execution
from reslab.spec import Spec
from reslab.spec.trial import SplitName, Trial

EVALUATION_BATCH = 500
TUNING_PARTS = 10  # one of them is held back


@dataclass(frozen=True)
class ClassificationTask:
    """A trial's data on a device, with its loss and its scores."""

    trial: Trial
    train: Batches
    test: Batches
    sampler: Sampler
    execution: Execution

    def load(self, step: int, count: int) -> tuple[Tensor, Tensor]:
        """Return the augmented images and the labels of `count` iterations from `step` on."""
        batch = self.trial.recipe.batch
        images, labels = self.train.augmented(self.sampler.draw(step, batch, count=count))
        return self.execution.prepare(images).unflatten(0, (count, batch)), labels.unflatten(0, (count, batch))

    def loss(self, network: Network, batch: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """Return the mean cross-entropy of a batch, and how many of its images were wrong."""
        images, labels = batch
        with self.execution.autocast(images.device.type):
            weighted = network.weighted_logits(images)
        losses = [
            weight * F.cross_entropy(logits.float(), labels, label_smoothing=self.trial.recipe.label_smoothing)
            for weight, logits in weighted
        ]
        wrong = (weighted[0][1].argmax(1) != labels).sum()
        return torch.stack(losses).sum(), wrong

    def evaluate(self, network: Network) -> dict[str, float]:
        """Return the scores on the test images that go into the metric log."""
        return log_scores(self.score(network))

    def score(self, network: Network) -> Scores:
        """Score the network on every test image."""
        network.eval()
        return score(network, self._test_batches(), classes=self.trial.network.classes)

    def images(self) -> Iterator[Tensor]:
        """Yield every training image once, as it is: what the exact statistics of normalizations are taken over.

        Batches are of one size, give or take an image, because each counts as much as the others there.
        """
        count = -(-len(self.train) // EVALUATION_BATCH)
        bounds = [len(self.train) * number // count for number in range(count + 1)]
        for first, last in itertools.pairwise(bounds):
            yield self.execution.prepare(self.train.plain(first, last)[0])

    def name_images(self, step: int) -> str:
        """Say which training images iteration `step` sees."""
        indices = self.sampler.draw(step, self.trial.recipe.batch).indices
        return ", ".join(map(str, indices[:8])) + (", ..." if len(indices) > 8 else "")

    def _test_batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        for first in range(0, len(self.test), EVALUATION_BATCH):
            images, labels = self.test.plain(first, first + EVALUATION_BATCH)
            yield self.execution.prepare(images), labels


def log_scores(scores: Scores) -> dict[str, float]:
    """Return scores under the names they have in metric logs."""
    return {
        "test_loss": scores.loss,
        "test_error_percent": scores.error_percent,
        "test_top5_error_percent": scores.top5_error_percent,
    }


def make_task(trial: Trial, dataset: Dataset, *, device: torch.device | str) -> ClassificationTask:
    """Put a trial's data on `device` and pair it with its loss and scores."""
    train, test = divide(dataset, trial.data.split)
    augmentation = trial.recipe.augmentation
    training = Preparation(
        mean=per_pixel_mean(train, brightest=dataset.brightest),
        brightest=dataset.brightest,
        padding=augmentation.padding,
        mean_first=augmentation.mean_first,
        edges=augmentation.edges,
        cutout=augmentation.cutout,
    )
    execution = Execution(channels_last=trial.recipe.channels_last, precision=trial.recipe.precision)
    return ClassificationTask(
        trial=trial,
        train=make_batches(train, training, device=device),
        test=make_batches(test, replace(training, padding=0), device=device),
        sampler=Sampler(
            count=len(train),
            seed=trial.seed,
            padding=augmentation.padding,
            flip=augmentation.flip,
            alternating_flips=augmentation.alternating_flips,
            hole_places=train.images.shape[-1] - augmentation.cutout + 1 if augmentation.cutout else 1,
        ),
        execution=execution,
    )


def divide(dataset: Dataset, split: SplitName) -> tuple[Split, Split]:
    """Return what to train and test on; for tuning, the last tenth of the training images stands in for the test."""
    if split == "full":
        return dataset.train, dataset.test
    first = len(dataset.train) - len(dataset.train) // TUNING_PARTS
    indices = np.arange(len(dataset.train))
    return dataset.train.take(indices[:first]), dataset.train.take(indices[first:])


def refuse_misfit(origin: str, spec: Spec, dataset: Dataset, *, remedy: str) -> None:
    """Refuse a network whose classes or inputs are not the data's."""
    channels = dataset.test.images.shape[1]
    if spec.classes != len(dataset.class_names):
        raise UserError(
            f"{origin} tells {spec.classes} classes apart and {dataset.name} has {len(dataset.class_names)}; {remedy}"
        )
    if len(spec.input_shape) != 3 or spec.channels != channels:
        raise UserError(
            f"{origin} takes inputs of {' x '.join(map(str, spec.input_shape))} and {dataset.name} has images "
            f"of {channels} channel{'s' if channels > 1 else ''}; {remedy}"
        )
