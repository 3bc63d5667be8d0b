"""What curvature finds, as it is stored."""

from __future__ import annotations

from typing import Any

from reslab.analysis.curvature.settings import Curvature
from reslab.spec.codec import encode


def estimate(value: float, error: float | None = None) -> dict[str, float | None]:
    """A value and its bounds."""
    return {
        "value": value,
        "low": None if error is None else value - error,
        "high": None if error is None else value + error,
    }


def condition(value: float) -> dict[str, Any]:
    """A condition, and what it comes from."""
    return {
        "largest": estimate(value, 0),
        "mean": estimate(1, 0.5),
        "condition": {"value": value, "low": value / 1.5, "high": None},
        "effective_rank": 2.5,
    }


FOUND: dict[str, Any] = {
    "data": "cifar10",
    "settings": encode(Curvature()),
    "images": 4096,
    "skipped_images": 0,
    "reduction": "mean",
    "parameters": 269722,
    "products": "forward over reverse",
    "trace": {**estimate(120.0, 4.0), "standard_error": 1.0},
    "largest": [estimate(31.0, 0.001), estimate(20.0, 0.01)],
    "smallest": estimate(-2.0, 0.1),
    "density": {"at": [0.0, 1.0], "density": [0.5, 0.5], "width": 0.1},
    "blocks": [
        {"name": "conv2_1", "parameters": 4672, "as_is": condition(90.0), "without": condition(80.0)},
        {"name": "conv3_1", "parameters": 13952, "as_is": condition(200.0), "without": None},
    ],
}
