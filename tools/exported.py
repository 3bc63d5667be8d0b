"""What exported files cost in accuracy and gain in speed: what `benchmarks/exports.py` kept with and without --errors."""

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
NAMES = {"torch": "torch, eager", "onnxruntime": "onnxruntime", "openvino": "OpenVINO"}
ABOUT = """\
The authors' ResNet-50 on {images} validation photographs of ImageNet. Eight bits were calibrated on {calibrated_on}:
other validation photographs, because we have no training images. OpenVINO reads the same two files, of {whole} and
{small}."""
ABOUT_SPEED = """\
Images per second are from pixels to logits on {machine}, in turns in one run; the eager network's are in
the memory layout in which it is faster."""


def write_exports() -> str:
    """Write what each runtime errs by in each precision, and how fast it is where that was measured."""
    record = _read(ERRORS)
    sizes, images = record["size_bytes"], record["images"]
    about = ABOUT.format(
        images=count(images),
        calibrated_on=record["calibrated_on"],
        whole=write_size(sizes["float32"]),
        small=write_size(sizes["int8"]),
    )
    heads = ["runtime", "precision", "top-1 / top-5 error %", "difference", "same first guess %"]
    rows = [[*_write_errors(row, record["rows"][0], images=images)] for row in record["rows"]]
    if SPEEDS.exists():
        timed = _read(SPEEDS)
        about += " " + ABOUT_SPEED.format(machine=timed["about"])
        heads += [f"images per second, {batch}" for batch in BATCHES]
        for cells, row in zip(rows, record["rows"], strict=True):
            cells += [write_speed(timed["images_per_second"], row, batch=batch) for batch in BATCHES]
    return "\n\n".join([about, write_table(heads, rows, left=(0, 1))])


def write_speed(speeds: Mapping[str, float], row: Mapping[str, Any], *, batch: str) -> str:
    """Write images a second, and how many times the eager network's these are."""
    eager = max(speeds[f"{batch}: {layout}"] for layout in ("peer, eager", "eager, channels-last"))
    if row["runtime"] == "torch":
        return f"{eager:,.1f}"
    speed = speeds[f"{batch}: {NAMES[row['runtime']]}, {row['precision']}"]
    return f"{speed:,.1f} ({speed / eager:.2f}×)"


def _write_errors(row: Mapping[str, Any], eager: Mapping[str, Any], *, images: int) -> list[str]:
    names = (ERROR.name, TOP5_ERROR.name)
    return [
        NAMES[row["runtime"]],
        row["precision"],
        " / ".join(f"{row[name]:.2f}" for name in names),
        "" if row is eager else " / ".join(signed(row[name] - eager[name]) for name in names),
        "" if row is eager else f"{100 * row['same_guess'] / images:.2f}",
    ]


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))
