"""The task of finding objects: the detector's four losses, and detections that are scored at the end."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reslab.errors import UserError
from reslab.networks import Network
from reslab.networks.detection.detector import Detector
from reslab.networks.inference import Served
from reslab.runtime.execution import Execution
from reslab.spec.recipe import Recipe
from reslab.tasks.bench import Bench
from reslab.tasks.detection.meter import DetectionMeter
from reslab.tasks.detection.scores import BY_CLASS, LARGE, LOSSES
from reslab.tasks.detection.testing import PROTOCOLS, DetectionBench
from reslab.tasks.task import Meter, Task, Weights

if TYPE_CHECKING:
    from reslab.tasks.subject import Subject


class DetectionTask(Task):
    """An image has any number of objects, each with a class and a box."""

    tallied = tuple(LOSSES)
    by_class, large = BY_CLASS, LARGE
    protocols = tuple(PROTOCOLS)

    def refuse_recipe(self, recipe: Recipe) -> None:
        """Refuse what is about classifiers."""
        if recipe.freeze is not None:
            raise UserError(
                f"recipe.freeze={recipe.freeze} is for classifiers; leave it out, and set task.freeze, the last stage "
                "of the network whose weights stay as they are"
            )
        if recipe.label_smoothing:
            raise UserError("recipe.label_smoothing is for classifiers; leave it out")
        if recipe.exact_norms:
            raise UserError("recipe.exact_norms is for classifiers; leave it out")
        if recipe.warmup is not None and recipe.warmup.is_by_error:
            raise UserError(
                "recipe.warmup ends by the training error, which detectors do not have; set recipe.warmup.iterations"
            )

    def train_loss(
        self, network: Network, batch: tuple[Tensor, ...], *, execution: Execution, smoothing: float, weights: Weights
    ) -> tuple[Tensor, Tensor]:
        """Return the sum of the four losses, and each of them, times the images; what is not trained has zero."""
        images, targets = batch
        assert isinstance(network, Detector)
        with execution.autocast(images.device.type):
            losses = network.losses(images, targets, network.generator)
        none = targets.new_zeros(())
        each = torch.stack([losses.get(name, none) for name in LOSSES.values()])
        return each.sum(), each.detach().double() * len(images)

    def answer(self, network: Network, images: Tensor, targets: Tensor) -> Tensor:
        """Return the detections; of the targets, only the frames are read."""
        return network(images, targets)

    def describe_tally(self, sums: Mapping[str, float], images: int) -> dict[str, float]:
        """Return the four losses."""
        return {f"train_{name}": sums[name] / images for name in LOSSES}

    def warmup_percent(self, sums: Mapping[str, float], images: int) -> float:
        """Say that no warm-up ends by it."""
        raise NotImplementedError

    def count_looks(self, by: str) -> float:
        """Return how often the regions of an image are judged."""
        return PROTOCOLS[by].work if by in PROTOCOLS else 1

    def make_bench(self, members: Sequence["Subject"], *, protocol: str, precision: Served) -> Bench:
        """Return detectors that look at images, each and all together."""
        return DetectionBench(members, protocol=protocol, precision=precision)

    def make_meter(self, *, outputs: int, images: int, device: torch.device | str, first: int = 0) -> Meter:
        """Return what keeps detections and objects."""
        return DetectionMeter(classes=outputs)


TASK = DetectionTask()
