"""Exported files are timed beside the eager network, and their errors are those of the same photographs."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks import exports
from benchmarks.runtimes import CHANNELS_LAST, list_ways
from tests.delivery.conftest import exported as exported
from tests.delivery.conftest import fill, make_network

from reslab.delivery.deployed import Deployed
from reslab.experiments.evaluate import evaluate
from reslab.networks import save_model

WAYS = (
    ("onnxruntime", "float32"),
    ("onnxruntime", "int8"),
    ("openvino", "float32"),
    ("openvino", "int8"),
    ("openvino", "int8 and bf16"),
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Run the benchmark on a tiny network and photographs without training images; return what it keeps."""
    save_model(make_network(), tmp_path / "mine.safetensors")
    for name, bright in (("ants", 20), ("bees", 150)):
        fill(tmp_path / "photos" / "val" / name, 4, bright=bright)
    fill(tmp_path / "others", 8, bright=90)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> dict[str, Any]:
        given = ["exports.py", "photos", "--calibrate", "others", "--network", "cifar-resnet-8"]
        monkeypatch.setattr(sys, "argv", [*given, "--weights", "mine.safetensors", "--json", "out.json", *words])
        exports.main()
        return json.loads((tmp_path / "out.json").read_text())

    return run


def test_errors_beside_float32(run, capsys: pytest.CaptureFixture[str]) -> None:
    """Float32 errs as `reslab evaluate` says, whatever the runtime; each row says how often it guesses the same."""
    kept = run("--errors", "--threads", "1")
    assert (kept["images"], kept["calibrated_on"], kept["data"]) == (8, "8 of 8 images given", "photos")
    assert kept["size_bytes"]["int8"] < kept["size_bytes"]["float32"]
    assert {"onnxruntime", "openvino"} == kept["runtimes"].keys()
    rows = kept["rows"]
    assert tuple((row["runtime"], row["precision"]) for row in rows) == WAYS
    tested = evaluate("mine.safetensors", data="photos").scores
    for row in rows:
        if row["precision"] == "float32":
            assert row["error_percent"] == pytest.approx(tested["error_percent"])
            assert row["same_guess"] == 8
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert printed[-1][:2] == ["openvino", "int8"]


def test_all_take_turns(run, capsys: pytest.CaptureFixture[str]) -> None:
    """At each size of batch, larger than there are photographs too; the ratio is to the eager network's."""
    kept = run("--batches", "1,9", "--rounds", "1", "--threads", "1")
    names = {"peer, eager", CHANNELS_LAST, *(f"onnxruntime, {word}" for word in ("float32", "int8"))}
    names |= {f"OpenVINO, {word}" for word in ("float32", "int8", "int8 and bf16")}
    assert kept["failed"] == {}
    assert kept["turns"].keys() == {f"batch {count}: {name}" for count in (1, 9) for name in names}
    assert all(len(speeds) == 1 for speeds in kept["turns"].values())
    speeds = kept["images_per_second"]
    ratio = speeds["batch 9: OpenVINO, int8"] / speeds["batch 9: peer, eager"]
    rows = [re.split(r"\s{2,}", line.strip()) for line in capsys.readouterr().out.splitlines()]
    (found,) = [row[-1] for row in rows if row[:2] == ["batch 9", "OpenVINO, int8"]]
    assert found == f"{ratio:.2f}"


def test_every_way_gives_the_networks_logits(exported: tuple[Deployed, Path, Any]) -> None:
    """In float32 to the rounding, for a batch; a file alone stands for both here."""
    deployed, path, _ = exported
    pixels = 255 * torch.rand(3, *deployed.input_shape, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        wanted = deployed(pixels)
    for way in list_ways(deployed, path, path, threads=1):
        tolerance = 0.05 if way.precision.endswith("bf16") else 1e-4
        torch.testing.assert_close(way.open(3)(pixels), wanted, atol=tolerance, rtol=tolerance)
