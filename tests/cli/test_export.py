"""`reslab export`, end to end; ONNX itself is tested once, in tests/delivery and here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch
import torchvision
from tests.delivery.conftest import fill

from reslab.networks import create_model, save_model


def test_onnx_and_eight_bits(reslab, here: Path) -> None:
    """Two files; what they take, how they agree, and what eight bits cost."""
    outcome = reslab("export", "mine.safetensors", "data=photos", "--int8")
    assert outcome.code == 0, outcome.err
    assert "takes   pixels batch x 3 x 16 x 16, RGB, 0 to 255, already resized to 20 and cropped to 16" in outcome.out
    assert "gives   logits batch x 2: ants, bees" in outcome.out
    assert "check   2 test images of photos: logits within" in outcome.out
    assert "On 2 test images of photos" in outcome.out
    assert "times smaller" in outcome.out
    assert {path.name for path in here.iterdir()} == {"mine.safetensors", "mine.onnx", "mine-int8.onnx", "photos"}
    assert Path("mine-int8.onnx").stat().st_size < Path("mine.onnx").stat().st_size
    _compare_guesses(reslab)


def _compare_guesses(reslab) -> None:
    """The heading, the table and the JSON of the network, by the file alone; only where they come from differs."""
    theirs, ours = (reslab("predict", one, "photos").out for one in ("mine.safetensors", "mine.onnx"))
    assert ours.replace("mine.onnx", "mine.safetensors") == theirs
    subjects = ("mine.safetensors", "mine.onnx", "mine-int8.onnx")
    network, whole, small = (json.loads(reslab("predict", one, "photos", "--json").out) for one in subjects)
    for told, tolerance in ((whole, 1e-4), (small, 0.2)):
        for one, other in zip(network, told, strict=True):
            assert one["image"] == other["image"]
            assert {guess["class"]: guess["probability"] for guess in one["guesses"]} == pytest.approx(
                {guess["class"]: guess["probability"] for guess in other["guesses"]}, abs=tolerance
            )
    outcome = reslab("predict", "mine.onnx", "photos", "--explain", "maps")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--explain needs a network, not mine.onnx; give its run or weights" in outcome.err
    assert "is an ONNX file, which only `reslab predict` takes" in reslab("evaluate", "mine.onnx", "data=photos").err


def test_a_program(reslab, here: Path) -> None:
    """torch.export's, checked on synthetic photographs where nothing else is at hand, as is said."""
    outcome = reslab("export", "mine.safetensors", "--format", "torch-export", "--out", "out/it.pt2")
    assert "check   8 synthetic photographs (no images given): logits" in outcome.out
    assert torch.export.load("out/it.pt2").module()(torch.zeros(3, 3, 16, 16)).shape == (3, 2)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["mine.safetensors", "--format", "keras"], "--format is 'keras'; choose onnx, torch-export or torchvision"),
        (["mine.safetensors", "--out", "x.pth"], "--format onnx needs a file that ends in .onnx"),
        (["mine.safetensors", "--format", "torchvision", "--int8"], "--int8 needs --format onnx"),
        (["mine.safetensors", "--format", "torchvision"], "other outputs in torchvision's format"),
        (["mine.safetensors", "--int8", "data=nowhere"], "'nowhere'"),
        (["mine.safetensors", "--int8", "data=digits"], "has 2 outputs, but digits has 10 classes"),
        (["mine.safetensors", "--int8"], "write data=NAME|FOLDER"),
        (["mine.safetensors", "seed=1"], "export has no field 'seed'"),
        (["mine.safetensors", "preprocess.crop=none"], "add preprocess.crop=16"),
        (["resnet-20"], "starts with 'resnet-20'; pass weights=FILE"),
    ],
)
def test_mistakes_end_in_one_sentence(words: list[str], sentence: str, reslab, here: Path) -> None:
    """Exit code 2, one line, and no file."""
    outcome = reslab("export", *words)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1
    assert {path.name for path in here.iterdir()} == {"mine.safetensors", "photos"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--out", "mine.safetensors/f.pt2"], "cannot write mine.safetensors/f.pt2: Not a directory"),
        (["none.jpg"], "none.jpg cannot be read"),
    ],
)
def test_places_are_looked_at_before_the_work(
    words: list[str], sentence: str, reslab, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is loaded for a file that cannot be written, or of images that are not there."""
    monkeypatch.setattr("reslab.experiments.export.load_trained", None)
    outcome = reslab("export", "mine.safetensors", "--format", "torch-export", *words)
    assert outcome.code == 2
    assert sentence in outcome.err


def test_without_onnx(reslab, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install is named before anything is done."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert "run `pip install onnx onnxruntime onnxscript`" in reslab("export", "mine.safetensors").err


def test_on_images_given(reslab, here: Path) -> None:
    """All of a folder's."""
    outcome = reslab("export", "mine.safetensors", "photos", "--format", "torch-export")
    assert "check   10 images: logits within" in outcome.out


def test_on_data_named(reslab, here: Path) -> None:
    """Its test images, eight bits or not."""
    outcome = reslab("export", "mine.safetensors", "data=photos", "--format", "torch-export")
    assert "check   2 test images of photos: logits within" in outcome.out


def test_json_of_both_files(reslab, here: Path) -> None:
    """What was written and how it agrees; of eight bits also how both do on the test images."""
    outcome = reslab("export", "mine.safetensors", "data=photos", "--int8", "--json")
    told = json.loads(outcome.out)
    assert (told["path"], told["checked_on"], told["same_guess"]) == ("mine.onnx", "test images of photos", 2)
    assert [test["path"] for test in told["tests"]] == ["mine.onnx", "mine-int8.onnx"]
    assert told["tests"][1]["size_bytes"] < told["tests"][0]["size_bytes"]


def test_eight_bits_by_a_folder_of_images(reslab, here: Path) -> None:
    """Without labels, from which the ranges are; both files are tested on the data."""
    fill(here / "others", 3, bright=90)
    words = ("export", "mine.safetensors", "data=photos", "--int8", "--calibrate", "others")
    assert "wrote mine-int8.onnx, calibrated on 3 of 3 images given" in reslab(*words).out
    told = json.loads(reslab(*words, "--json").out)
    assert (told["calibrated_on"], told["tested_on"]) == ("3 of 3 images given", "photos")


def test_what_is_read_is_never_written_over(reslab, here: Path, run: Path) -> None:
    """Nor by the name that a file has by default, or in the run that it comes from."""
    save_model(create_model("resnet-18-v1.5"), "ours.safetensors")
    torch.save(torchvision.models.resnet18().state_dict(), "theirs.pth")
    torchvision_form = ["--format", "torchvision"]
    for words in (
        ["ours.safetensors", *torchvision_form, "--out", "./ours.safetensors"],
        ["resnet-18-v1.5", "weights=ours.safetensors", *torchvision_form, "--out", "ours.safetensors"],
        ["theirs.pth", *torchvision_form],
        [str(run), *torchvision_form, "--out", str(run / "weights.safetensors")],
    ):
        outcome = reslab("export", *words)
        assert outcome.code == 2
        assert "is the input file; write to another file" in outcome.err
