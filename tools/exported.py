"""What exported files cost in accuracy and gain in speed, as `benchmarks/exports.py` measured both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reslab.numbers import count, signed, write_size
from reslab.report.markdown import write_table
from reslab.tasks.classification.scores import ERROR, TOP5_ERROR
from tools import RESULTS

ERRORS, SPEEDS = RESULTS / "exports" / "resnet-50.json", RESULTS / "speed" / "exports.json"
BATCHES = ("batch 1", "batch 16")
NAMES = {"onnxruntime": "onnxruntime", "openvino": "OpenVINO"}
ABOUT = """\
The authors' ResNet-50 on {images} validation photographs of ImageNet. The 8-bit file was calibrated on
{calibrated_on}: other validation photographs, because we have no training images. OpenVINO reads the same two files
({whole} and {small}). The differences are to onnxruntime's float32."""
ABOUT_SPEED = """\
Images per second, from pixels to logits, were measured in turns in one run ({machine}).
In brackets: times eager torch, in the memory layout in which that is faster."""


def write_exports() -> str:
    """Write what each runtime errs by in each precision, and how fast it is where that was measured."""
    record = _read(ERRORS)
    about = ABOUT.format(
        images=count(record["images"]),
        calibrated_on=record["calibrated_on"],
        whole=write_size(record["size_bytes"]["float32"]),
        small=write_size(record["size_bytes"]["int8"]),
    )
    heads = ["runtime", "precision", "top-1 / top-5 error %", "difference", "same first guess %"]
    rows = [_write_errors(row, record["rows"][0], images=record["images"]) for row in record["rows"]]
    if SPEEDS.exists():
        timed = _read(SPEEDS)
        about += "\n\n" + ABOUT_SPEED.format(machine=timed["about"])
        speeds = timed["images_per_second"]
        heads += [f"images per second, {batch}" for batch in BATCHES]
        for cells, row in zip(rows, record["rows"], strict=True):
            cells += [_write_speed(speeds, row, batch=batch) for batch in BATCHES]
        rows.insert(0, ["torch, eager", "float32", "", "", "", *[f"{_eager(speeds, batch):,.1f}" for batch in BATCHES]])
    return "\n\n".join([about, write_table(heads, rows, left=(0, 1))])


def _write_errors(row: Mapping[str, Any], first: Mapping[str, Any], *, images: int) -> list[str]:
    names = (ERROR.name, TOP5_ERROR.name)
    return [
        NAMES[row["runtime"]],
        row["precision"],
        " / ".join(f"{row[name]:.2f}" for name in names),
        "" if row is first else " / ".join(signed(row[name] - first[name]) for name in names),
        "" if row is first else f"{100 * row['same_guess'] / images:.2f}",
    ]


def _write_speed(speeds: Mapping[str, float], row: Mapping[str, Any], *, batch: str) -> str:
    speed = speeds[f"{batch}: {NAMES[row['runtime']]}, {row['precision']}"]
    return f"{speed:,.1f} ({speed / _eager(speeds, batch):.2f}×)"


def _eager(speeds: Mapping[str, float], batch: str) -> float:
    """Return images a second of the eager network, in the memory layout in which it is faster."""
    return max(speeds[f"{batch}: {layout}"] for layout in ("peer, eager", "eager, channels-last"))


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))
