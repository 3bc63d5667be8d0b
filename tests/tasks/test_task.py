"""Every task keeps what the others who use it go by."""

from __future__ import annotations

import pytest
import torch
from tests.processes import run_in_processes
from torch import Tensor

from reslab.runtime.processes import Processes
from reslab.spec.task import TASKS
from reslab.tasks.task import Task, find_task

every_task = pytest.mark.parametrize("name", TASKS)


@every_task
def test_a_task_is_found_by_its_name_and_by_its_spec(name: str) -> None:
    """The same one each time."""
    task = find_task(name)
    assert isinstance(task, Task)
    assert find_task(TASKS[name]()) is task


@every_task
def test_images_are_shown_as_they_are_unless_a_task_says_otherwise(name: str) -> None:
    """One question of each, its target being the answer."""
    task, images, targets = find_task(name), torch.randn(6, 3, 4, 4), torch.randn(6, 2, 7)
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
