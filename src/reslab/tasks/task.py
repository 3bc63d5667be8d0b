"""What a task is: what a network learns from the targets of images, and how it is judged by them.

A task is a folder here with a module `task` that has `TASK`, named after the task's spec. It does not know
the data or the training loop: it receives a network, images and targets. Most tasks need no more than what the network
puts out: these are an `OutputTask` (`output_task.py`).
"""

from __future__ import annotations

import abc
import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.networks import Network
from reslab.networks.inference import Served
from reslab.runtime.execution import Execution
from reslab.runtime.processes import Processes
from reslab.spec.recipe import Recipe
from reslab.spec.task_spec import TaskSpec
from reslab.tasks.bench import Bench
from reslab.tasks.gallery import Opinions, form_opinions

if TYPE_CHECKING:
    from reslab.tasks.subject import Subject

Weights: TypeAlias = Tensor | None  # what images of each class count in the loss, where they count differently


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
    """The loss of a network, what a training is counted by, and the meter of tests."""

    tallied: ClassVar[tuple[str, ...]]  # what an iteration is counted by, beside its loss
    by_class: ClassVar[tuple[str, ...]] = ()  # what scores record of every class
    large: ClassVar[tuple[str, ...]] = ()  # and what is too much to keep of every test
    questions: ClassVar[int] = 1  # that are asked about every test image
    protocols: ClassVar[tuple[str, ...]]  # by which it can be tested, the usual one first

    @abc.abstractmethod
    def refuse_recipe(self, recipe: Recipe) -> None:
        """Refuse recipe fields that have no meaning for the task."""

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
    def train_loss(
        self, network: Network, batch: tuple[Tensor, ...], *, execution: Execution, smoothing: float, weights: Weights
    ) -> tuple[Tensor, Tensor]:
        """Return the mean loss of a batch, and what it is counted by.

        A batch is images, targets, and what mixing adds to these. What it is counted by are sums over its images, a
        vector whose values `tallied` names.
        """

    def answer(self, network: Network, images: Tensor, targets: Tensor) -> Tensor:
        """Return what the network says of test images; of the targets it may know how far images reach, no more."""
        return network(images)

    @abc.abstractmethod
    def describe_tally(self, sums: Mapping[str, float], images: int) -> dict[str, float]:
        """Return what the log says of a training, by the log's names."""

    @abc.abstractmethod
    def warmup_percent(self, sums: Mapping[str, float], images: int) -> float:
        """Return the training error that decides on the end of a warm-up."""

    def judge_each(self, outputs: Tensor, targets: Tensor, indices: Tensor) -> Opinions:
        """Return what the network thinks of each test image, for a gallery of them; nothing where there is none."""
        return form_opinions(index=np.empty(0))

    @abc.abstractmethod
    def count_looks(self, by: str) -> float:
        """Return how often a test looks at an image, as far as that takes time; an instrument, by its name, once."""

    @abc.abstractmethod
    def make_bench(self, members: Sequence[Subject], *, protocol: str, precision: Served) -> Bench:
        """Return what shows images to networks by one of the `protocols`."""

    @abc.abstractmethod
    def make_meter(self, *, outputs: int, images: int, device: torch.device | str, first: int = 0) -> Meter:
        """Return a meter for `images` images, of which those from `first` on are added here."""


def find_task(task: TaskSpec | str) -> Task:
    """Return what a spec, or a task's name, stands for."""
    name = task if isinstance(task, str) else task.name
    return importlib.import_module(f"reslab.tasks.{name.replace('-', '')}.task").TASK
