"""A task that is learnt and judged by what a network puts out of an image, and the image's target, alone."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from reslab.errors import UserError
from reslab.networks import Network
from reslab.networks.inference import Served
from reslab.runtime.execution import Execution
from reslab.spec.recipe import Recipe
from reslab.tasks.bench import Bench
from reslab.tasks.protocols import Judges
from reslab.tasks.task import Task, Weights
from reslab.tasks.views import PROTOCOLS

if TYPE_CHECKING:
    from reslab.tasks.subject import Subject


class OutputTask(Task):
    """A task is a loss of outputs and targets."""

    protocols = tuple(PROTOCOLS)

    def refuse_recipe(self, recipe: Recipe) -> None:
        """Refuse recipe fields that need classes this task does not have, or change targets that it makes itself."""
        kind = type(self)
        if recipe.class_weights != "none" and kind.weigh is Task.weigh:
            raise UserError(
                f"recipe.class_weights is {recipe.class_weights}, but the task has no classes; leave out "
                "recipe.class_weights"
            )
        for name in ("mixup", "cutmix"):
            if getattr(recipe.augmentation, name) and kind.pose is not Task.pose:
                field = f"recipe.augmentation.{name}"
                raise UserError(f"{field} mixes targets, but this task makes its own targets; leave out {field}")

    def train_loss(
        self, network: Network, batch: tuple[Tensor, ...], *, execution: Execution, smoothing: float, weights: Weights
    ) -> tuple[Tensor, Tensor]:
        """Return the mean loss of a batch, and what it is counted by.

        Mixed images come with the target of what was mixed in, and with the share that is their own.
        """
        images, targets, *mixed = batch
        with execution.autocast(images.device.type):
            weighted = network.weighted_logits(images)
        losses = []
        for weight, outputs in weighted:
            loss = self._mix_loss(outputs.float(), targets, mixed, smoothing=smoothing, weights=weights)
            losses.append(loss if weight == 1 else weight * loss)  # mostly one: a kernel less to launch
        return sum(losses[1:], losses[0]), self.tally(weighted[0][1], targets)

    def _mix_loss(
        self, outputs: Tensor, targets: Tensor, mixed: list[Tensor], *, smoothing: float, weights: Weights
    ) -> Tensor:
        if not mixed:
            return self.mean_loss(outputs, targets, smoothing=smoothing, weights=weights)
        others, share = mixed
        own, other = (
            self.image_losses(outputs, which, smoothing=smoothing, weights=weights) for which in (targets, others)
        )
        return (share * own + (1 - share) * other).mean()

    @abc.abstractmethod
    def mean_loss(self, outputs: Tensor, targets: Tensor, *, smoothing: float, weights: Weights) -> Tensor:
        """Return the mean loss of a batch."""

    @abc.abstractmethod
    def image_losses(self, outputs: Tensor, targets: Tensor, *, smoothing: float, weights: Weights) -> Tensor:
        """Return each image's loss."""

    @abc.abstractmethod
    def mistakes(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return for each image whether it is judged wrong, as truth values."""

    @abc.abstractmethod
    def tally(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return what a batch is counted by: sums over its images, a vector whose values `tallied` names."""

    @abc.abstractmethod
    def average(self, outputs: Tensor) -> Tensor:
        """Make one of what a network says to several views (images, views, outputs), or several networks say."""

    def count_looks(self, by: str) -> float:
        """Return how many crops a network is shown of an image."""
        return PROTOCOLS[by].crops if by in PROTOCOLS else 1

    def make_bench(self, members: Sequence[Subject], *, protocol: str, precision: Served) -> Bench:
        """Return networks that look at views of images, each and all together."""
        return Judges(members, protocol=protocol, precision=precision)
