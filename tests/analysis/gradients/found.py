"""What the measurement of gradients stores, by hand."""

from __future__ import annotations

from typing import Any


def estimate(value: float) -> dict[str, float]:
    """A value within a tenth of itself."""
    return {"value": value, "low": 0.9 * value, "high": 1.1 * value}


def layer(name: str, norm: float, *, beside: bool = False) -> dict[str, Any]:
    """One layer's."""
    quantities = {"ratio": norm / 10, "forward": 2.0, "backward": 0.5, "cosine": 0.25}
    values = {key: estimate(value) for key, value in quantities.items()}
    return {"name": name, "stage": name[:5], "beside": beside, "norm": estimate(norm), **values}


def depth(name: str, neighbours: float) -> dict[str, Any]:
    """One depth's."""
    cosines = [1.0, neighbours, 0.0]
    return {"name": name, "neighbours": estimate(neighbours), "cosines": cosines, "length": None, "pixels": [0.5]}


def write_gradients(scale: float = 1.0) -> dict[str, Any]:
    """Findings as they are stored."""
    settings = {"on": "train", "norms": "batch", "confidence": 0.95, "points": 33, "path": "between", "images": 1024}
    layers = [layer("conv1", 1e-3 * scale), layer("conv2_1.1", 2e-5 * scale), layer("conv3_1.shortcut", 1, beside=True)]
    whole = layer("all parameters", 3.0) | {"forward": None, "backward": None}
    return {
        "data": "cifar10",
        "images": 1024,
        "skipped_images": 0,
        "batches": 8,
        "initialized_by": None,
        "settings": settings,
        "layers": layers,
        "whole": whole,
        "depths": [depth("conv1", 0.9), depth("logits", 0.1)],
    }
