"""What exported files cost and gain is told as it was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import exported

ROWS = [
    {
        "runtime": "onnxruntime",
        "precision": "float32",
        "error_percent": 24.0,
        "top5_error_percent": 8.0,
        "same_guess": 200,
    },
    {"runtime": "openvino", "precision": "int8", "error_percent": 24.5, "top5_error_percent": 7.5, "same_guess": 190},
]
ERRORS = {
    "images": 200,
    "calibrated_on": "128 of 500 images given",
    "size_bytes": {"float32": 4 << 20, "int8": 1 << 20},
    "rows": ROWS,
}


def test_errors_and_speeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Differences are to the file in full, ratios to the faster layout of eager torch; speeds only once measured."""
    errors, speeds = tmp_path / "errors.json", tmp_path / "speeds.json"
    monkeypatch.setattr(exported, "ERRORS", errors)
    monkeypatch.setattr(exported, "SPEEDS", speeds)
    errors.write_text(json.dumps(ERRORS))
    *_, whole, small = exported.write_exports().splitlines()
    assert whole == "| onnxruntime | float32 | 24.00 / 8.00 |  |  |"
    assert small == "| OpenVINO | int8 | 24.50 / 7.50 | +0.50 / −0.50 | 95.00 |"
    found = {"peer, eager": 10.0, "eager, channels-last": 20.0, "onnxruntime, float32": 30.0, "OpenVINO, int8": 130.0}
    rates = {f"{batch}: {name}": speed for batch in exported.BATCHES for name, speed in found.items()}
    speeds.write_text(json.dumps({"about": "a CPU, 2 threads", "images_per_second": rates}))
    *_, eager, whole, small = exported.write_exports().splitlines()
    assert eager == "| torch, eager | float32 |  |  |  | 20.0 | 20.0 |"
    assert whole.endswith("| 30.0 (1.50×) | 30.0 (1.50×) |")
    assert small.endswith("| 130.0 (6.50×) | 130.0 (6.50×) |")
