"""Every task keeps what the others who use it go by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tests.processes import run_in_processes
from torch import Tensor

from reslab.runtime.processes import ALONE, Processes
from reslab.spec.task import TASKS
from reslab.tasks.catalogue import list_shown
from reslab.tasks.task import Task, find_task

every_task = pytest.mark.parametrize("name", TASKS)


def make_targets(name: str, *, images: int = 6) -> Tensor:
    """Two classes, as the task has them: both are there."""
    classes = torch.arange(images) % 2
    return torch.stack([classes, 1 - classes], 1) if TASKS[name].needs == "labels" else classes


@every_task
def test_a_task_is_found_by_its_name_and_by_its_spec(name: str) -> None:
    """The same one each time."""
    task = find_task(name)
    assert isinstance(task, Task)
    assert find_task(TASKS[name]()) is task


@every_task
def test_one_view_is_averaged_to_itself(name: str) -> None:
    """To the bit; of several, their order does not show."""
    task, views = find_task(name), torch.randn(3, 4, 2)
    assert torch.equal(task.average(views[:, :1]), views[:, 0])
    torch.testing.assert_close(task.average(views), task.average(views.flip(1)))


@every_task
def test_a_meter_counts_every_image_once(name: str) -> None:
    """In however many batches; cleared, it counts from zero; what is recorded has what others go by."""
    task, targets = find_task(name), make_targets(name)
    outputs = torch.randn(6, 2, generator=torch.Generator().manual_seed(0))
    meter = task.make_meter(outputs=2, images=6, device="cpu")
    found: list[dict[str, Any]] = []
    for size in (6, 4):
        meter.clear()
        for first in range(0, 6, size):
            meter.add(outputs[first : first + size], targets[first : first + size])
        meter.merge(ALONE)
        scores = meter.read()
        assert (scores.images, scores.not_finite) == (6, 0)
        found.append(scores.recorded())
    assert found[0].keys() == found[1].keys()
    for one in found[0]:
        np.testing.assert_allclose(*[np.array(each[one], float) for each in found], rtol=1e-6)
    headline = list_shown()[name].scores[0].name
    assert {headline, *task.large, *task.by_class} <= found[0].keys()
    assert scores.logged()[headline] == found[0][headline]
    assert all(len(found[0][one]) == 2 for one in task.by_class)


@every_task
def test_the_truth_is_far_above_chance_and_no_numbers_are_told(name: str) -> None:
    """By which tests know weights that do not go with the data."""
    task, targets = find_task(name), make_targets(name)
    truth = 20.0 * (targets if targets.dim() == 2 else torch.eye(2)[targets]) - 10
    for outputs, above in ((truth, 1.0), (truth.new_zeros(6, 2), 0.0)):
        meter = task.make_meter(outputs=2, images=6, device="cpu")
        meter.add(outputs, targets)
        assert meter.read().above_chance == pytest.approx(above)
    truth[4, 1] = torch.nan
    meter = task.make_meter(outputs=2, images=6, device="cpu")
    meter.add(truth, targets)
    assert meter.read().not_finite == 1


@every_task
def test_images_are_shown_as_they_are_unless_a_task_says_otherwise(name: str) -> None:
    """One question of each, its target being the answer."""
    task, images, targets = find_task(name), torch.randn(6, 3, 4, 4), make_targets(name)
    assert task.pose(images, targets, seed=1) == (images, targets)
    assert task.questions == 1
    assert task.pose_test(images, 0) is images
    assert task.answers(targets, 0) is targets


class Boxed:
    """A meter that keeps what it is given, in as many pieces as there are, until all processes have all of it."""

    def __init__(self) -> None:
        self.found: list[tuple[int, list[float]]] = []

    def add(self, outputs: Tensor, targets: Tensor) -> None:
        self.found += zip(targets.tolist(), outputs.tolist(), strict=True)

    def clear(self) -> None:
        self.found = []

    def merge(self, processes: Processes) -> None:
        self.found = [one for found in processes.ask_all(self.found) for one in found]

    def read(self) -> list[tuple[int, list[float]]]:
        return self.found


def gather(processes: Processes) -> list[tuple[int, list[float]]]:
    """Count other numbers of objects in each process, and merge."""
    meter = Boxed()
    meter.add(torch.full((1 + processes.rank, 2), float(processes.rank)), torch.arange(1 + processes.rank))
    meter.merge(processes)
    return meter.read()


def test_a_meter_may_gather_objects() -> None:
    """Of processes that have other numbers of them: sums could not say what average precision needs."""
    everything = [(0, [0.0, 0.0]), (0, [1.0, 1.0]), (1, [1.0, 1.0])]
    assert run_in_processes(gather, 2) == [everything, everything]
