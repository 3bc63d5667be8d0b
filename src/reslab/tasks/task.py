"""What a task is: what a network learns from the targets of images, and how it is judged by them.

A task is a folder here with a module `task` that has `TASK`, named after the task's spec. It does not know
the data or the training loop: a task receives outputs and targets.
"""

import abc
import importlib
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.errors import UserError
from reslab.runtime.processes import Processes
from reslab.spec.recipe import Recipe
from reslab.spec.task import TaskSpec
from reslab.tasks.gallery import Opinions, form_opinions


class Scores(Protocol):
    """How a network did on so many `images`; `not_finite` counts those for which it gave no numbers."""

    @property
    def images(self) -> int: ...
    @property
    def not_finite(self) -> int: ...
    @property
    def above_chance(self) -> float:
        """How far it is from chance (0) to the truth (1)."""
        ...

    def logged(self) -> dict[str, float]:
        """Return what a log has of a test, by name."""
        ...

    def recorded(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        ...


class Meter(Protocol):
    """What tests add up to, on the device they are on, until someone asks for the scores."""

    def add(self, outputs: Tensor, targets: Tensor) -> None:
        """Count a batch; nothing here waits for the device."""
        ...

    def clear(self) -> None:
        """Count from zero."""
        ...

    def merge(self, processes: Processes) -> None:
        """Count what other processes have counted too."""
        ...

    def read(self) -> Scores:
        """Wait for the device and return the scores."""
        ...


class Task(abc.ABC):
    """The loss of outputs, what a training is counted by, and the meter of tests."""

    tallied: ClassVar[tuple[str, ...]]  # what an iteration is counted by, beside its loss
    by_class: ClassVar[tuple[str, ...]] = ()  # what scores record of every class
    large: ClassVar[tuple[str, ...]] = ()  # and what is too much to keep of every test
    questions: ClassVar[int] = 1  # that are asked about every test image

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

    def at(self, thresholds: tuple[float, ...] | None) -> Self:
        """Return the task as it is judged where a network has thresholds of its own; most tasks have none."""
        del thresholds
        return self

    def weigh(self, targets: NDArray[Any], *, classes: int) -> NDArray[Any]:
        """Return what images of each class count in the loss, that all classes count the same."""
        raise NotImplementedError

    def pose(self, images: Tensor, targets: Tensor, *, seed: int) -> tuple[Tensor, Tensor]:
        """Return a training batch as the network is asked about it; `seed` is the iteration's own."""
        return images, targets

    def pose_test(self, images: Tensor, question: int) -> Tensor:
        """Return test images (..., channels, height, width) as a question shows them; they may come in views."""
        return images

    def answers(self, targets: Tensor, question: int) -> Tensor:
        """Return what is to be answered to a question about test images."""
        return targets

    @abc.abstractmethod
    def mean_loss(self, outputs: Tensor, targets: Tensor, *, smoothing: float, weights: Tensor | None) -> Tensor:
        """Return the mean loss of a batch."""

    @abc.abstractmethod
    def image_losses(self, outputs: Tensor, targets: Tensor, *, smoothing: float, weights: Tensor | None) -> Tensor:
        """Return each image's loss."""

    @abc.abstractmethod
    def tally(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return what a batch is counted by: sums over its images, a vector whose values `tallied` names."""

    @abc.abstractmethod
    def describe_tally(self, sums: Mapping[str, float], images: int) -> dict[str, float]:
        """Return what the log says of a training, by the log's names."""

    @abc.abstractmethod
    def warmup_percent(self, sums: Mapping[str, float], images: int) -> float:
        """Return the training error that decides on the end of a warm-up."""

    @abc.abstractmethod
    def average(self, outputs: Tensor) -> Tensor:
        """Make one of what a network says to several views (images, views, outputs), or several networks say."""

    def judge_each(self, outputs: Tensor, targets: Tensor, indices: Tensor) -> Opinions:
        """Return what the network thinks of each test image, for a gallery of them; nothing where there is none."""
        return form_opinions(index=np.empty(0))

    @abc.abstractmethod
    def make_meter(self, *, outputs: int, images: int, device: torch.device | str, first: int = 0) -> Meter:
        """Return a meter for `images` images, of which those from `first` on are added here."""


def find_task(task: TaskSpec | str) -> Task:
    """Return what a spec, or a task's name, stands for."""
    name = task if isinstance(task, str) else task.name
    return importlib.import_module(f"reslab.tasks.{name.replace('-', '')}.task").TASK
