"""A detector with random weights that are large enough to find something, and images to find it in."""

from __future__ import annotations

from pathlib import Path

import torch
from tests.networks.detection.scenes import make_detector
from tests.objects import CLASSES, Scene, draw, make_scenes

from reslab.networks.detection.detector import Detector
from reslab.spec import Preprocess

KNOWN = Preprocess(mean=(0.4, 0.4, 0.4), std=(0.2, 0.2, 0.2))


def make_finder(*, seed: int = 0, **fields: object) -> Detector:
    """A thin detector of bars, discs and squares."""
    torch.manual_seed(seed)
    detector = make_detector(classes=3, shorter=64, longest=96, **{"detection_score": 0.0, **fields}).eval()
    torch.nn.init.normal_(detector.outputs.scores.weight, std=0.5)
    detector.preprocess, detector.class_names, detector.origin = KNOWN, CLASSES, "finder"
    return detector


def draw_images(folder: Path, count: int = 3) -> list[Scene]:
    """Draw images of two sizes."""
    scenes = make_scenes("v", count, sizes=((60, 45), (45, 80)))
    for scene in scenes:
        draw(scene, folder / f"{scene.name}.jpg")
    return scenes
