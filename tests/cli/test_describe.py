"""`reslab describe`, end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from reslab.networks import create_model, foreign_state_dict, save_model


def test_json_has_the_golden_counts(reslab) -> None:
    """Params and multiply-adds to the unit, every layer listed."""
    outcome = reslab("describe", "resnet-50", "--json")
    told = json.loads(outcome.out)
    assert (outcome.code, told["params"], told["multiply_adds"]) == (0, 25_557_032, 3_857_973_248)
    assert told["depth"] == 50
    assert sum(layer["params"] for layer in told["layers"]) == told["params"]


def test_fields_change_what_is_described(reslab) -> None:
    """The spec's fields and the batch, from the command line."""
    told = json.loads(reslab("describe", "resnet-34", "shortcut=C", "batch=2", "--json").out)
    assert (told["params"], told["multiply_adds"]) == (22_716_840, 2 * 3_830_747_136)
    told = json.loads(reslab("describe", "resnet20", "input_size=64", "--json").out)
    assert told["input_shape"] == [1, 3, 64, 64]


def test_the_table_reads_like_table_1(reslab) -> None:
    """Stages, output sizes, parameters; --layers shows every layer."""
    out = reslab("describe", "resnet-50").out
    for part in ("stem", "pool", "conv2_x", "conv5_x", "classifier", "2048x7x7", "25,557,032 parameters"):
        assert part in out
    assert "blocks.conv5_3.layers.2.norm" in reslab("describe", "resnet-50", "--layers").out
    assert "features.denseblock1" in reslab("describe", "densenet-121").out


def test_times_are_measured_on_request(reslab) -> None:
    """Eager and fast, forward and with backward."""
    out = reslab("describe", "cifar-resnet-8", "batch=2", "--time").out
    assert "forward and backward" in out
    times = json.loads(reslab("describe", "cifar-resnet-8", "batch=2", "--time", "--json").out)["times"]
    assert times["device"] == "cpu"
    assert 0 < times["fast"]["forward_seconds"] < times["fast"]["step_seconds"]


def test_a_weight_file_describes_itself(reslab, tmp_path: Path) -> None:
    """Ours by its path, a foreign one by path or behind weights=."""
    ours = save_model(create_model("cifar-resnet-8", num_classes=3), tmp_path)
    assert json.loads(reslab("describe", str(ours), "--json").out)["name"] == "cifar-resnet-8 classes=3"
    theirs = tmp_path / "resnet18.pth"
    torch.save(foreign_state_dict(create_model("resnet-18-v1.5"), "torchvision"), theirs)
    for words in ([str(theirs)], ["resnet-18", f"weights={theirs}"]):
        assert json.loads(reslab("describe", *words, "--json").out)["name"] == "resnet-18-v1.5"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["resnt-50"], "did you mean 'resnet-50'?"),
        (["resnet-21"], "6n+2"),
        (["cifar-resnet-21"], "depth 21 is not 6n+2"),
        (["resnet-50", "shortcut=D"], "choose none, A, B, C or gated"),
        (["plain-34", "stochastic_depth=0.2"], "leaves no other path"),
        (["resnet-50", "batch=many"], "batch is 'many'; give a whole number from 1"),
        (["resnet-50", "shortcut=A", "shortcut=B"], "'shortcut' is set twice"),
        (["resnet-50", "=3"], "sets nothing"),
        (["resnet-50", "vgg-16"], "describe takes one network"),
        (["resnet-18", "input_size=1", "pool=ceil"], "do not pass through"),
        (["nothing.safetensors"], "there is no weight file"),
        (["resnet-50", "weights=nothing.pth"], "there is no weight file"),
        ([], "subject"),
        (["resnet-50", "--nonsense"], "nonsense"),
    ],
)
def test_mistakes_end_in_one_sentence(words: list[str], sentence: str, reslab) -> None:
    """Exit code 2, one line on standard error, nothing on standard output, no traceback."""
    outcome = reslab("describe", *words)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1
    assert outcome.out == ""


@pytest.mark.parametrize("damage", ["truncated", "flipped", "hostile"])
def test_bad_weight_files_end_in_one_sentence(damage: str, reslab, tmp_path: Path) -> None:
    """Truncated, bit-flipped, hostile: named and refused."""
    path = save_model(create_model("cifar-resnet-8"), tmp_path / "bad.safetensors")
    content = bytearray(path.read_bytes())
    if damage == "truncated":
        path.write_bytes(content[:-100])
    elif damage == "flipped":
        content[-5] ^= 4
        path.write_bytes(content)
    else:
        torch.save(torch.nn.Linear(1, 1), path)
    outcome = reslab("describe", str(path))
    assert outcome.code == 2
    assert "bad.safetensors" in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1
