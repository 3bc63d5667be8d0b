"""Small folders of photographs, made up: what a class looks like can be learnt in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image

COLOURS = {"reds": (220, 40, 40), "greens": (40, 200, 40), "blues": (50, 50, 220)}


def make_photos(
    root: Path,
    *,
    train: int = 8,
    val: int = 3,
    classes: int = 2,
    size: tuple[int, int] = (48, 36),
    counts: Mapping[str, int] | None = None,
) -> Path:
    """Write noisy JPEGs of one colour a class, of differing sizes; `counts` of classes are others than `train`."""
    random = np.random.default_rng(0)
    for split, count in (("train", train), ("val", val)):
        for name in sorted(COLOURS)[:classes]:
            folder = root / split / name
            folder.mkdir(parents=True, exist_ok=True)
            for number in range((counts or {}).get(name, count) if split == "train" else count):
                height, width = size[1] + number % 3, size[0] - number % 2
                noise = random.normal(0, 25, (height, width, 3))
                pixels = (np.array(COLOURS[name]) + noise).clip(0, 255).astype(np.uint8)
                Image.fromarray(pixels).save(folder / f"{number:03d}.jpg", quality=90)
    return root
