"""Weights and data by names that people would give."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.runs_by_hand import write_run

from reslab.runs.directory import RunDirectory
from reslab.runs.origins import count_images, find_beginning, name_start, name_weights


@pytest.mark.parametrize(
    ("weights", "provenance", "name"),
    [
        ("cifar10", {"trial": "resnet-20-cifar10-0123456789ab"}, "cifar10"),
        ("torchvision", {}, "torchvision"),
        ("somewhere/best.pth", {}, "best.pth"),
        ("runs/resnet-18-photos-0123456789ab/weights.safetensors", {}, "resnet-18-photos-0123456789ab"),
        (Path("copied.safetensors"), {"trial": "resnet-18-photos-0123456789ab"}, "resnet-18-photos-0123456789ab"),
        (
            Path("at.safetensors"),
            {"trial": "resnet-18-photos-0123456789ab", "step": 10},
            "resnet-18-photos-0123456789ab@10",
        ),
    ],
)
def test_weights_have_names(weights: str | Path, provenance: dict[str, object], name: str) -> None:
    """A published set's, their run's, or their file's."""
    assert name_weights(weights, provenance) == name


def test_a_run_says_what_it_started_from(tmp_path: Path) -> None:
    """By its record; by its command where that is all an early version wrote; else by the digest."""
    run = write_run(tmp_path)
    scratch = run.trial()
    trial = replace(scratch, start="f28816b34ed8" + "0" * 52)
    run.write("provenance", {"sittings": [{"started": "then", "command": "reslab train weights=cifar10"}]})
    assert (name_start(trial, run), name_start(scratch, run)) == ("cifar10", None)
    run.write("provenance", {"sittings": [{"weights": "mine.pth", "command": "train.py weights=x"}, {}]})
    assert name_start(trial, run) == "mine.pth"
    for damaged in ({"sittings": [{"command": "train.py"}]}, {"sittings": 3}, {}):
        run.write("provenance", damaged)
        assert name_start(trial, run) == "f28816b34ed8"


def test_a_run_says_how_many_images_it_had(tmp_path: Path) -> None:
    """Finished or not, if it was noted; and when it was begun."""
    run = write_run(tmp_path, finished=False)
    assert (count_images(run), find_beginning(run)) == (None, "2026-11-15T13:25:00+00:00")
    run.write("provenance", {"sittings": [{"data_images": [8, 6]}]})
    assert (count_images(run), find_beginning(run)) == ((8, 6), "")
    run.finish({"data_images": [9, 6]})
    assert count_images(run) == (9, 6)
    assert count_images(RunDirectory(tmp_path / "nowhere")) is None
