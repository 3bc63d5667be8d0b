"""What a network thinks of test images, noted batch by batch and process by process."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from reslab.runtime.processes import Processes
from reslab.tasks.classification.task import TASK
from reslab.tasks.opinions import OpinionMeter


class Three(Processes):
    """As if three processes had noted these."""

    def ask_all(self, value: Any) -> list[Any]:
        return [meter.kept for meter in SHARES]


LOGITS, TARGETS = torch.randn(90, 4, generator=torch.Generator().manual_seed(0)), torch.arange(90) % 4
SHARES = [OpinionMeter(TASK) for _ in range(3)]


def test_processes_note_what_one_alone_notes() -> None:
    """However images are shared, and in whatever batches they come."""
    alone = OpinionMeter(TASK)
    alone.add(LOGITS, TARGETS, torch.arange(90))
    for number, meter in enumerate(SHARES):
        for part in torch.arange(30 * number, 30 * (number + 1)).split(7):
            meter.add(LOGITS[part], TARGETS[part], part)
    SHARES[0].merge(Three())
    assert len(alone.kept) > 20
    assert np.array_equal(SHARES[0].kept, alone.kept)
