"""`reslab evaluate`, end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from benchmarks.peers import CifarPeer

from reslab.networks import create_model

SHORT = ["recipe.iterations=12", "recipe.batch=16", "recipe.evaluate_every=6"]


@pytest.fixture
def run(reslab, tmp_path: Path) -> Path:
    """The directory of a short run on the digits."""
    assert reslab("train", "network=cifar-resnet-8", *SHORT, "--runs", str(tmp_path / "runs")).code == 0
    (path,) = (tmp_path / "runs").glob("cifar-resnet-8-digits-*")
    return path


def test_a_run_by_id_beginning_path_and_file(reslab, run: Path) -> None:
    """All give the recorded result; the data need not be said."""
    result = json.loads((run / "result.json").read_text())
    for subject in (run.name, run.name[:-3], str(run), str(run / "weights.safetensors")):
        told = json.loads(reslab("evaluate", subject, "--runs", str(run.parent), "--json").out)
        assert told["error_percent"] == result["error_percent"], subject
        assert told["top5_error_percent"] == result["top5_error_percent"]
        assert told["confusion"] == result["confusion"]
        assert (told["images"], told["data"]) == (355, "digits")
    assert list(told["class_error_percent"]) == list("0123456789")


def test_it_prints_a_confusion_matrix(reslab, run: Path) -> None:
    """A row a class, with what was said of the images."""
    outcome = reslab("evaluate", str(run))
    assert outcome.code == 0, outcome.err
    assert "355 test images of digits, pixels 0-1, per-pixel mean" in outcome.out
    assert len([line for line in outcome.out.splitlines() if line[:2] in [f"{digit} " for digit in range(10)]]) == 10
    assert "the last 144 training images of digits" in reslab("evaluate", str(run), "data.split=tuning").out


def test_a_name_with_weights(reslab, run: Path, tmp_path: Path) -> None:
    """A bare state dict needs the name, the preprocessing and the data."""
    network = create_model("cifar-resnet-8", shortcut="B", num_classes=10, in_chans=1)
    torch.save(network.state_dict(), tmp_path / "bare.pth")
    subject, weights = "cifar-resnet-8 shortcut=B channels=1", f"weights={tmp_path / 'bare.pth'}"
    assert "write data=" in reslab("evaluate", subject, weights).err
    assert "give preprocess.mean=" in reslab("evaluate", subject, weights, "data=digits").err
    said = ["data=digits", "preprocess.mean=[0.3]", "preprocess.std=[0.4]"]
    told = reslab("evaluate", subject, weights, *said, "--json")
    assert json.loads(told.out)["preprocess"] == "pixels 0-1, mean 0.3, std 0.4"
    assert json.loads(told.out)["network"].startswith("cifar-resnet-8 shortcut=B")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["resnet-20"], "give weights=FILE, weights=cifar10, or a run's id"),
        (["resnet-twenty"], "no weight file, no run in"),
        (["a.th"], "there is no weight file a.th"),
        (["peer.th"], "peer.th does not say what data it is for; write data=cifar10"),
        (["peer.th", "data=digits"], "takes inputs of 3 x 32 x 32 and digits has images of 1 channel;"),
        (["peer.th", "weights=other.th", "data=digits"], "is a weight file and weights=other.th another"),
        (["peer.th", "data=cifar10"], "fetch it with `reslab data fetch cifar10`"),
        (["peer.th", "recipe.epochs=2"], "evaluate knows no field 'recipe.epochs'"),
        (["peer.th", "plain.th"], "there is no weight file plain.th"),
        ([], "evaluate needs a run or a weight file"),
        (["peer.th", "data=digts"], "'digts' is no dataset and no folder of photographs; did you mean 'digits'?"),
        (["peer.th", "data=digits", "protocol=5-crop"], "choose 1-crop, 10-crop or multi-scale"),
        (["peer.th", "data=digits", "data.split=half"], "choose full or tuning"),
    ],
)
def test_mistakes_end_in_one_sentence(words: list[str], sentence: str, reslab, tmp_path: Path, monkeypatch) -> None:
    """Exit code 2, one line that says what to do."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    torch.save(CifarPeer(1).state_dict(), "peer.th")
    outcome = reslab("evaluate", *words)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1
