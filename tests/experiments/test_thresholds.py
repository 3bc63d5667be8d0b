"""Thresholds are tuned on one half of the test images, tested on the other, and travel with the weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.multilabel import CLASSES, make_labelled

import reslab
from reslab.data.photos.label_list import read_labelled
from reslab.errors import UserError
from reslab.experiments.thresholds import draw_halves
from reslab.networks import Network, create_model, load_model, save_model
from reslab.spec import Preprocess
from reslab.spec.task import CLASSIFICATION, MultiLabel
from reslab.tasks.subject import Subject


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labelled pictures, thirty of them to test on."""
    root = make_labelled(tmp_path_factory.mktemp("tuning") / "shapes", count=12)
    return make_labelled(root, count=30, name="val.csv", seed=1)


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A network that ranks squares rightly, by their red, and says of all that they are improbable."""
    network = make_timid()
    return save_model(network, tmp_path / "timid.safetensors")


def make_timid() -> Network:
    torch.manual_seed(0)
    network = create_model("cifar-resnet-8", num_classes=3, input_size=32)
    network.preprocess, network.class_names, network.task = Preprocess(resize=32, crop=32), CLASSES, MultiLabel()
    with torch.no_grad():
        network.train()(torch.rand(16, 3, 32, 32))
        network.get_parameter("classifier.bias").fill_(-4.0)
    return network.eval()


def test_they_are_tuned_on_other_images_than_are_tested(weights: Path, shapes: Path, tmp_path: Path) -> None:
    """Halves that share none, in whatever order images come; a later test of all says on how many they were tuned."""
    test = read_labelled(shapes).test
    tuned, tested = draw_halves(test)
    assert (len(tuned), len(tested)) == (15, 15)
    assert not set(tuned) & set(tested)
    backwards = test.take(np.arange(len(test))[::-1])
    names = {test.name(index) for index in tuned}
    assert {backwards.name(index) for index in draw_halves(backwards)[0]} == names
    out, warned = tmp_path / "tuned.safetensors", []
    found = reslab.tune_thresholds(weights, out, data=shapes)
    assert (found.tuned, found.tested, [one.name for one in found.labels]) == (15, 15, list(CLASSES))
    assert all(one.threshold < 0.1 for one in found.labels)
    assert all((one.f1_percent or 0) >= (one.f1_before_percent or 0) for one in found.labels)
    reslab.evaluate(out, data=shapes, warn=warned.append)
    assert any("thresholds of" in told and "tuned on 15 of the 30 test images of shapes" in told for told in warned)
    warned.clear()
    reslab.evaluate(weights, data=shapes, warn=warned.append)
    assert not any("thresholds" in told for told in warned)


def test_they_are_used(weights: Path, shapes: Path, tmp_path: Path) -> None:
    """By predictions and tests; a threshold that is asked for comes first; a fresh classifier has none."""
    out = tmp_path / "tuned.safetensors"
    reslab.tune_thresholds(weights, out, data=shapes)
    thresholds = load_model(out).thresholds
    assert thresholds is not None
    images = sorted((shapes / "images").glob("val-*"))
    assert not any(one.labels for one in reslab.predict(weights, images))
    for one in reslab.predict(out, images):
        by_name = {guess.name: guess.probability for guess in one.guesses}
        assert set(one.labels or ()) == {
            name for name, least in zip(CLASSES, thresholds, strict=True) if by_name[name] >= least
        }
    assert not any(one.labels for one in reslab.predict(out, images, threshold=0.9))
    before, after = (reslab.evaluate(one, data=shapes, warn=lambda _: None) for one in (weights, out))
    assert before.scores["map_percent"] == after.scores["map_percent"]
    assert before.scores["error_percent"] != after.scores["error_percent"]
    assert create_model("cifar-resnet-8", out, num_classes=5).thresholds is None


def test_what_does_not_go_is_refused(weights: Path, shapes: Path, tmp_path: Path) -> None:
    """In a sentence each, and no file is written."""
    network = make_timid()
    network.task = CLASSIFICATION
    one_class = save_model(network, tmp_path / "one.safetensors")
    out = tmp_path / "out.safetensors"
    for subject, path, sentence in (
        (one_class, out, "predicts one class per image; give a multi-label network"),
        (weights, tmp_path / "out.onnx", "give a file that ends in .safetensors"),
        (weights, weights, "is the input file; write to another file"),
    ):
        with pytest.raises(UserError, match=sentence):
            reslab.tune_thresholds(subject, path, data=shapes)
    few = make_labelled(make_labelled(tmp_path / "few", count=6), count=4, name="val.csv", seed=1)
    with pytest.raises(UserError, match="few has 4 test images, but tuning needs 10"):
        reslab.tune_thresholds(weights, out, data=few)
    assert not out.exists()


def test_outputs_that_are_not_finite_are_refused(
    weights: Path, shapes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of images after the first, which is looked at before the work."""
    bad = torch.zeros(2, 3, 32, 32)
    bad[1, 0, 0, 0] = float("inf")
    monkeypatch.setattr(Subject, "batches", lambda subject, size: iter([(bad[:size], torch.ones(2, 3)[:size])]))
    with pytest.raises(UserError, match=r"gives logits that are not finite for 1 of 2 images of shapes: "):
        reslab.tune_thresholds(weights, tmp_path / "out.safetensors", data=shapes)
