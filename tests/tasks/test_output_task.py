"""What tasks of outputs and targets have in common."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.tasks.test_task import make_targets
from torch import Tensor

from reslab.errors import UserError
from reslab.spec.recipe import find_recipe
from reslab.spec.task import TASKS
from reslab.tasks.classification.task import ClassificationTask
from reslab.tasks.output_task import OutputTask
from reslab.tasks.task import Task, find_task

OUTPUT_TASKS = [name for name in TASKS if isinstance(find_task(name), OutputTask)]


@pytest.mark.parametrize("name", OUTPUT_TASKS)
def test_the_mean_loss_is_the_mean_of_the_images(name: str) -> None:
    """Smoothed and weighed too; what a batch is counted by has its names."""
    task, targets, outputs = find_task(name), make_targets(name), torch.randn(6, 2)
    assert isinstance(task, OutputTask)
    weights = torch.from_numpy(task.weigh(targets.numpy(), classes=2)).float()
    for options in ({"smoothing": 0.0, "weights": None}, {"smoothing": 0.1, "weights": weights}):
        losses: Tensor = task.image_losses(outputs, targets, **options)
        assert losses.shape == (6,)
        torch.testing.assert_close(task.mean_loss(outputs, targets, **options), losses.mean())
    assert task.tally(outputs, targets).shape == (len(task.tallied),)


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
