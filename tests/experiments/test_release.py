"""Released weights, tested on a folder of a thousand classes; a small network stands in for theirs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.networks.weights.test_keras import make_keras

from reslab.cli import main
from reslab.data.catalogue import open_data
from reslab.errors import UserError
from reslab.experiments import release
from reslab.experiments.release import list_missing, run_release_test
from reslab.networks import save_model
from reslab.runs.released import read_tests
from reslab.runtime.listener import DEAF
from reslab.shipped import place_of, read_imagenet_classes
from reslab.spec.preprocess import AUTHORS


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """A photograph of each class, in folders 0 to 999, as validation images alone."""
    root, random = tmp_path / "some-of-imagenet", np.random.default_rng(0)
    for name in range(1000):
        folder = root / "val" / str(name)
        folder.mkdir(parents=True)
        Image.fromarray(random.integers(0, 256, (36, 40, 3), np.uint8)).save(folder / "one.jpg", quality=40)
    return root


@pytest.fixture(autouse=True)
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights where those of the authors would lie, and one protocol only."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "data"))
    network = make_keras(1e-5, classes=1000)
    for module in network.modules():
        if getattr(module, "bias", None) is not None and type(module).__name__.startswith("Conv"):
            module.bias = None
    network.preprocess = replace(AUTHORS, resize=36, crop=32)
    network.class_names = tuple(read_imagenet_classes())
    save_model(network, place_of("imagenet", "resnet-50"))
    monkeypatch.setattr(release, "RELEASED_TESTS", release.RELEASED_TESTS[:1])


def test_a_protocol_leaves_a_record(images: Path, tmp_path: Path) -> None:
    """Classes by their places are ImageNet's; what has a record is not tested again."""
    dataset = open_data(str(images))
    (test,) = list_missing(dataset, tmp_path)
    kept = run_release_test(test, dataset, tmp_path, device="cpu", listener=DEAF)
    assert (kept.images, kept.protocol, kept.precision, kept.data) == (1000, "1-crop", "fp32", "some-of-imagenet")
    assert 99 <= kept.scores["error_percent"] <= 100
    assert kept.surroundings["device"] and kept.surroundings["commit"] is not None
    assert read_tests(tmp_path) == [kept]
    assert list_missing(dataset, tmp_path) == []


def test_from_the_command_line(images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Planned, tested, and judged; what was not tested reads so."""
    words = ["reproduce", "release", f"data={images}", "--runs", str(tmp_path / "runs")]
    main([*words, "--dry-run"])
    assert "to test on 1,000 images of some-of-imagenet: 1-crop" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
    main([*words, "--yes"])
    told = capsys.readouterr().out
    assert "top-1 error %, 1-crop" in told and "deviates" in told and "not run" in told and "Table 3" in told
    main(["reproduce", "release", "--from", str(tmp_path / "runs"), "--json"])
    first, *_ = json.loads(capsys.readouterr().out)
    assert (first["published"], first["images"], first["word"]) == (24.7, 1000, "deviates")


def test_other_photographs_are_refused(images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And so is a test without any."""
    (images / "val" / "999" / "one.jpg").unlink()
    (images / "val" / "999").rmdir()
    with pytest.raises(UserError, match="has 999 classes, but the released weights know ImageNet's 1,000"):
        list_missing(open_data(str(images)), tmp_path)
    for words in (["release"], ["release", "recipe.iterations=3"], ["release", "--seeds", "2"]):
        with pytest.raises(SystemExit):
            main(["reproduce", *words])
    told = capsys.readouterr().err
    assert "release needs ImageNet's validation images" in told and "release only tests, and trains nothing" in told
