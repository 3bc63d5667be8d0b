"""Small images with coloured rectangles, and a detector that is small enough to learn to find them in seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from reslab.networks.detection.detector import Detector
from reslab.spec import find
from reslab.spec.boxes import ABSENT, FRAME
from reslab.spec.detection import Detection

COLOURS = ((1.0, -1.0, -1.0), (-1.0, 1.0, -1.0))
THIN = {"stem.width": 16, **{f"stages.{stage}.width": 16 * 2 ** (stage // 2) for stage in range(4)}}
C4: dict[str, Any] = {
    "freeze": "none",
    "anchor_sides": (32.0,),
    "rpn_width": 32,
    "rpn_samples": 64,
    "candidates_train": 200,
    "candidates_test": 100,
    "proposals_train": 60,
    "proposals_test": 30,
    "proposal_side": 4.0,
    "crossing_anchors": True,
    "regions": 32,
    "detections": 10,
}


def draw_scenes(count: int, *, side: int = 64, objects: int = 2, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Images of one to `objects` rectangles each on grey noise, and their targets with a row left over."""
    random = np.random.default_rng(seed)
    images = random.normal(0, 0.1, (count, 3, side, side))
    targets = np.full((count, objects + 2, 7), ABSENT, dtype=np.float32)
    targets[:, 0] = [0, 0, side, side, FRAME, side, side]
    for image, rows in zip(images, targets, strict=True):
        for number in range(random.integers(1, objects, endpoint=True)):
            width, height = random.integers(20, 36, 2)
            left, top = (random.integers(0, side - each) for each in (width, height))
            kind = random.integers(len(COLOURS))
            image[:, top : top + height, left : left + width] = np.array(COLOURS[kind])[:, None, None]
            rows[number + 1] = [left, top, left + width, top + height, kind, 0, width * height]
    return torch.from_numpy(images.astype(np.float32)), torch.from_numpy(targets)


def make_detector(*, classes: int = len(COLOURS), **fields: Any) -> Detector:
    """A thin ResNet-18 with random weights."""
    spec = find("resnet-18", {**THIN, "classes": classes})
    return Detector(spec, Detection(**{**C4, **fields}))
