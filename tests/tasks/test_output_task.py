"""What tasks of outputs and targets have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from reslab.errors import UserError
from reslab.runtime.processes import ALONE
from reslab.spec.recipe import find_recipe
from reslab.spec.task import TASKS
from reslab.tasks.catalogue import list_shown
from reslab.tasks.classification.task import ClassificationTask
from reslab.tasks.output_task import OutputTask
from reslab.tasks.task import Task, find_task

OUTPUT_TASKS = [name for name in TASKS if isinstance(find_task(name), OutputTask)]
every_output_task = pytest.mark.parametrize("name", OUTPUT_TASKS)


def find_output_task(name: str) -> OutputTask:
    """It is one."""
    task = find_task(name)
    assert isinstance(task, OutputTask)
    return task


def make_targets(name: str, *, images: int = 6) -> Tensor:
    """Two classes, as the task has them: both are there."""
    classes = torch.arange(images) % 2
    return torch.stack([classes, 1 - classes], 1) if TASKS[name].needs == "labels" else classes


@every_output_task
def test_the_mean_loss_is_the_mean_of_the_images(name: str) -> None:
    """Smoothed and weighed too; what a batch is counted by has its names."""
    task, targets, outputs = find_output_task(name), make_targets(name), torch.randn(6, 2)
    weights = torch.from_numpy(task.weigh(targets.numpy(), classes=2)).float()
    for options in ({"smoothing": 0.0, "weights": None}, {"smoothing": 0.1, "weights": weights}):
        losses: Tensor = task.image_losses(outputs, targets, **options)
        assert losses.shape == (6,)
        torch.testing.assert_close(task.mean_loss(outputs, targets, **options), losses.mean())
    assert task.tally(outputs, targets).shape == (len(task.tallied),)


@every_output_task
def test_one_view_is_averaged_to_itself(name: str) -> None:
    """To the bit; of several, their order does not show."""
    task, views = find_output_task(name), torch.randn(3, 4, 2)
    assert torch.equal(task.average(views[:, :1]), views[:, 0])
    torch.testing.assert_close(task.average(views), task.average(views.flip(1)))


@every_output_task
def test_a_meter_counts_every_image_once(name: str) -> None:
    """In however many batches; cleared, it counts from zero; what is recorded has what others go by."""
    task, targets = find_output_task(name), make_targets(name)
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


@every_output_task
def test_the_truth_is_far_above_chance_and_no_numbers_are_told(name: str) -> None:
    """By which tests know weights that do not go with the data."""
    task, targets = find_output_task(name), make_targets(name)
    truth = 20.0 * (targets if targets.dim() == 2 else torch.eye(2)[targets]) - 10
    for outputs, above in ((truth, 1.0), (truth.new_zeros(6, 2), 0.0)):
        meter = task.make_meter(outputs=2, images=6, device="cpu")
        meter.add(outputs, targets)
        assert meter.read().above_chance == pytest.approx(above)
    truth[4, 1] = torch.nan
    meter = task.make_meter(outputs=2, images=6, device="cpu")
    meter.add(truth, targets)
    assert meter.read().not_finite == 1


class Posing(ClassificationTask):
    """Makes its targets itself, of no classes."""

    weigh = Task.weigh

    def pose(self, images: Tensor, targets: Tensor, *, seed: int) -> tuple[Tensor, Tensor]:
        return images, targets


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"class_weights": "balanced"},
            r"recipe\.class_weights is balanced, but the task has no classes; leave out recipe\.class_weights",
        ),
        (
            {"augmentation.mixup": "0.2"},
            r"recipe\.augmentation\.mixup mixes targets, but this task makes its own targets",
        ),
        (
            {"augmentation.cutmix": "1"},
            r"recipe\.augmentation\.cutmix mixes targets, but this task makes its own targets",
        ),
    ],
)
def test_what_asks_for_targets_that_a_task_has_not_is_refused(fields: dict[str, str], sentence: str) -> None:
    """Tasks that have classes, and do not make them, take all of it."""
    recipe = find_recipe("photos", fields)
    for name in OUTPUT_TASKS:
        find_task(name).refuse_recipe(recipe)
    Posing().refuse_recipe(find_recipe("photos"))
    with pytest.raises(UserError, match=sentence):
        Posing().refuse_recipe(recipe)
    with pytest.raises(NotImplementedError):
        Posing().weigh(np.zeros(2), classes=2)
