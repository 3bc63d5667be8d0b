"""A small folder of pictures with several labels each, made up: a square, a disc and a bar, any of them or none."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = ("square", "disc", "bar")


def make_labelled(root: Path, *, count: int = 40, side: int = 32, name: str = "labels.csv", seed: int = 0) -> Path:
    """Write noisy pictures and their list, a column a class; the three have colours of their own."""
    (root / "images").mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    down, across = np.mgrid[:side, :side]
    rows = []
    for number in range(count):
        labels = [int(bit) for bit in random.random(3) < 0.5]
        pixels = random.normal(110, 12, (side, side, 3))
        shapes = (
            (abs(down - 8) < 5) & (abs(across - 8) < 5),
            (down - 22) ** 2 + (across - 22) ** 2 < 36,
            (abs(down - 16) < 2),
        )
        for channel, (label, shape) in enumerate(zip(labels, shapes, strict=True)):
            pixels[shape, channel] += 120 * label
        image = f"images/{name.split('.')[0]}-{number:03d}.png"
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(root / image)
        rows.append([image, *labels])
    with (root / name).open("w", newline="") as file:
        csv.writer(file).writerows([["image", *CLASSES], *rows])
    return root
