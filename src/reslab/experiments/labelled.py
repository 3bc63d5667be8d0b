"""What every task has whose images have labels: the loss of a batch, and the scores of the test images.

`experiments.arrays` has images of one size, `experiments.photos` others, one label each or several.
"""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.swa_utils import update_bn

from reslab.data.balance import Indices, weigh_classes, weigh_labels
from reslab.evaluation.classification import Counts, Scores
from reslab.evaluation.multilabel import LabelCounts, LabelScores
from reslab.networks import Network
from reslab.networks.execution import Execution
from reslab.networks.randomness import draw_from
from reslab.networks.synchronized import synchronize_norms
from reslab.spec import Preprocess
from reslab.spec.trial import Trial
from reslab.training.processes import ALONE, Processes
from reslab.training.stepping import mix_seed


@dataclass(frozen=True, kw_only=True)
class LabelledTask(abc.ABC):
    """A trial whose images have labels: its loss and its scores; as written here, of one class each.

    `class_weights`, on the device, says what an image of each class counts in the loss, where not all count the same.
    """

    trial: Trial
    execution: Execution
    processes: Processes = ALONE
    class_weights: Tensor | None = None

    @property
    @abc.abstractmethod
    def image_shape(self) -> tuple[int, ...]:
        """What the network is given: channels, height, width."""

    @property
    @abc.abstractmethod
    def preprocess(self) -> Preprocess:
        """What happens to an image before the network."""

    @property
    @abc.abstractmethod
    def mean_image(self) -> Tensor | None:
        """What is subtracted from every image, where that is an image."""

    @abc.abstractmethod
    def load(self, step: int, count: int) -> tuple[Tensor, ...]:
        """Return the batches of iterations from `step` on, as `training.stepping.Task` has them."""

    @abc.abstractmethod
    def name_images(self, step: int) -> str:
        """Say which training images iteration `step` sees."""

    @property
    @abc.abstractmethod
    def num_training_images(self) -> int:
        """How many images there are to train on."""

    @abc.abstractmethod
    def test_batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield every test image of this process's share once, with its label."""

    def share_skipped(self) -> int:
        """Let all processes know what images any has skipped; return how many of those were to be trained on."""
        return 0  # images in memory are never bad

    def loss(self, network: Network, batch: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """Return the mean loss of a batch, and how many of its images were wrong.

        Mixed images come with the label of what was mixed in, and with the share that is their own.
        """
        images, labels, *mixed = batch
        with self.execution.autocast(images.device.type):
            weighted = network.weighted_logits(images)
        losses = []
        for weight, logits in weighted:
            loss = self._mix_loss(logits.float(), labels, mixed)
            losses.append(loss if weight == 1 else weight * loss)  # mostly one: a kernel less to launch
        return sum(losses[1:], losses[0]), self.count_wrong(weighted[0][1], labels)

    def _mix_loss(self, logits: Tensor, labels: Tensor, mixed: list[Tensor]) -> Tensor:
        if not mixed:
            return self.mean_loss(logits, labels)
        others, share = mixed
        return (share * self.image_losses(logits, labels) + (1 - share) * self.image_losses(logits, others)).mean()

    def mean_loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the mean loss of a batch."""
        if self.class_weights is not None:
            return self.image_losses(logits, labels).mean()
        return F.cross_entropy(logits, labels, label_smoothing=self.trial.recipe.label_smoothing)

    def image_losses(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return each image's cross-entropy, as often as its class counts.

        Their mean divides by the images, not by the weights of those at hand, so parts of a batch and processes add
        up to the whole.
        """
        losses = F.cross_entropy(logits, labels, label_smoothing=self.trial.recipe.label_smoothing, reduction="none")
        return losses if self.class_weights is None else self.class_weights[labels] * losses

    def count_wrong(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return how many images were taken for another class."""
        return (logits.argmax(1) != labels).sum()

    def make_counts(self, device: torch.device) -> Counts | LabelCounts:
        """Return what adds up the test images of this process's share."""
        return Counts(classes=self.trial.network.classes, device=device)

    def make_evaluation(self, network: Network, *, capture: bool) -> Callable[[], dict[str, float]]:
        """Return what gives the scores that go into the metric log."""
        del capture  # nothing here can be
        return lambda: log_scores(self.score(network))

    def take_exact_norms(self, network: Network) -> None:
        """Give the network its average statistics over one more epoch of training, where the recipe asks for that.

        Images are augmented as they were: of images as they are, networks know too much (docs/log.md).
        """
        recipe, processes = self.trial.recipe, self.processes
        if not recipe.exact_norms:
            return
        device = next(network.parameters()).device
        draw_from(network, torch.Generator(device).manual_seed(mix_seed(self.trial.seed, recipe.iterations)))  # dropout
        with contextlib.ExitStack() as afterwards:
            if recipe.sync_norms and processes.count > 1:
                afterwards.callback(synchronize_norms(network, processes))
            update_bn(self._images_to_come(), network)
        for norm in (module for module in network.modules() if isinstance(module, _BatchNorm)):
            for name in ("running_mean", "running_var"):
                processes.average(norm.get_buffer(name))

    def _images_to_come(self) -> Iterator[Tensor]:
        """Yield this process's share of the batches that an epoch after the last would bring, part by part."""
        recipe = self.trial.recipe
        for step in range(recipe.iterations, recipe.iterations + -(-self.num_training_images // recipe.batch)):
            images, *_ = self.load(step, 1)
            yield from images[0].chunk(recipe.accumulate)

    def score(self, network: Network) -> Scores | LabelScores:
        """Score the network on every test image; each process tests its share of them."""
        network.eval()
        counts = self.make_counts(next(network.parameters()).device)
        with torch.no_grad():
            for images, labels in self.test_batches():
                counts.add(network(images), labels)
        self.processes.sum(*counts.tensors)
        return counts.read()


def log_scores(scores: Scores | LabelScores) -> dict[str, float]:
    """Return scores under the names they have in metric logs."""
    return {f"test_{name}": getattr(scores, name) for name in scores.LOGGED}


def prepare_weights(trial: Trial, labels: Indices, *, device: torch.device | str) -> Tensor | None:
    """Return what the classes count in the loss, where the recipe asks for it, by the labels trained on."""
    if trial.recipe.class_weights == "none":
        return None
    weights = weigh_classes(labels, classes=trial.network.classes) if labels.ndim == 1 else weigh_labels(labels)
    return torch.from_numpy(weights).to(device)
