"""A meter of what a network thinks of each test image: of every class it keeps the surest mistakes and hits."""

import numpy as np
import torch
from torch import Tensor

from reslab.runtime.processes import Processes
from reslab.tasks.gallery import Opinions, choose, form_opinions
from reslab.tasks.task import Task


class OpinionMeter:
    """Keeps few opinions, however many images there are; it waits for the device at each batch."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.kept = form_opinions(index=np.empty(0))

    @torch.no_grad()
    def add(self, outputs: Tensor, targets: Tensor, indices: Tensor) -> None:
        """Note a batch of test images, by their numbers."""
        self._keep(self.kept, self.task.judge_each(outputs, targets, indices))

    def merge(self, processes: Processes) -> None:
        """Keep what other processes have kept too, as one alone would."""
        self._keep(*processes.ask_all(self.kept))

    def _keep(self, *opinions: Opinions) -> None:
        self.kept = choose(np.concatenate(opinions))
