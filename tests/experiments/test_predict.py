"""Predicting from Python as on the command line."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.delivery.conftest import fill, make_network
from tests.finders import draw_images, make_finder
from tests.objects import make_scenes, write_coco

import reslab
from reslab.errors import UserError
from reslab.networks import save_model


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """Weights, and beside them photographs and something that is none."""
    fill(tmp_path / "photos" / "a", 2, bright=20)
    fill(tmp_path / "photos" / "b", 1, bright=150)
    (tmp_path / "photos" / "bad.jpg").write_bytes(b"no image")
    return save_model(make_network(), tmp_path / "mine.safetensors")


def test_folders_files_and_pictures(weights: Path, tmp_path: Path) -> None:
    """All of a folder's, one file, or an array, by a weight file or a predictor, alike; progress counts them."""
    seen: list[tuple[int, int]] = []
    folder = reslab.predict(weights, tmp_path / "photos/a", progress=lambda *done: seen.append(done))
    assert [Path(one.image).name for one in folder] == ["photo-0.png", "photo-1.png"]
    assert seen[-1] == (2, 2)
    (alone,) = reslab.predict(weights, str(tmp_path / "photos/a/photo-0.png"), top=1)
    assert [guess.name for guess in alone.guesses] == [folder[0].guesses[0].name]
    array = np.asarray(Image.open(tmp_path / "photos/a/photo-0.png"))
    (looked,) = reslab.predict(reslab.Predictor(make_network(), device="cpu"), array)
    assert looked.guesses[0].probability == pytest.approx(alone.guesses[0].probability, rel=1e-5)


def test_files_are_written_and_bad_images_noted(weights: Path, tmp_path: Path) -> None:
    """A table and a sheet; what is skipped is warned of, and stands on the sheet."""
    csv, sheet = tmp_path / "g.csv", tmp_path / "g.html"
    with pytest.warns(UserWarning, match="skipped: .*bad.jpg"):
        found = reslab.predict(weights, tmp_path / "photos", csv=csv, sheet=sheet, fields={"data.on_bad_image": "skip"})
    assert len(found) == 3
    assert len(csv.read_text().splitlines()) == 4
    assert "Left out <small>1</small>" in sheet.read_text()


def test_mistakes_are_refused(weights: Path, tmp_path: Path) -> None:
    """In one sentence, before anything is loaded where that can be."""
    photos = tmp_path / "photos/a"
    for options, sentence in (
        ({"fields": {"weights": "x"}}, "'weights' is an argument of predict, not a field"),
        ({"fields": {"size": 3}}, "predict has no field 'size'"),
        ({"csv": weights / "x.csv"}, "cannot write"),
        ({"csv": tmp_path / "x.safetensors"}, "ends in .csv"),
        ({"sheet": photos / "photo-0.png"}, "photo-0.png is one of the input images; write to another file"),
        ({"sheet": "x.pdf"}, "ends in .html, .jpg or .png"),
        ({"top": 0}, "top is 0"),
    ):
        with pytest.raises(UserError, match=sentence):
            reslab.predict(weights, photos, **options)
    with pytest.raises(UserError, match="is a URL, and URLs are not fetched"):
        reslab.predict(weights, "https://example.org/bee.jpg")
    with pytest.raises(UserError, match=r"already has weights and preprocessing; leave preprocess.crop out"):
        reslab.predict("x.onnx", photos, fields={"preprocess.crop": 3})
    with pytest.raises(UserError, match=r"x.onnx runs on the CPU; leave out device=cuda"):
        reslab.predict("x.onnx", photos, device="cuda")
    with warnings.catch_warnings(), pytest.raises(UserError, match="predict needs an image"):
        reslab.predict(weights, [])


@pytest.fixture
def finder(tmp_path: Path) -> Path:
    """A detector's weights."""
    return save_model(make_finder(), tmp_path / "finder.safetensors")


def test_objects_of_a_weight_file(finder: Path, tmp_path: Path) -> None:
    """And of a predictor, alike; COCO's results have all that is found, unless a threshold is given."""
    draw_images(tmp_path / "images")
    found = reslab.predict(finder, tmp_path / "images", coco=tmp_path / "r.json", device="cpu")
    every = reslab.predict(reslab.DetectorPredictor(make_finder(), device="cpu"), tmp_path / "images", threshold=0)
    entries = json.loads((tmp_path / "r.json").read_text())
    assert len(entries) == sum(len(one.objects or ()) for one in every) > sum(len(one.objects or ()) for one in found)
    for one, other in zip(found, every, strict=True):
        assert one.objects == pytest.approx(tuple(each for each in other.objects or () if each.score >= 0.5))
    some = reslab.predict(finder, tmp_path / "images", coco=tmp_path / "r.json", top=1, threshold=0, device="cpu")
    assert len(json.loads((tmp_path / "r.json").read_text())) == sum(len(one.objects or ()) for one in some) == 3


def test_ids_of_coco(finder: Path, tmp_path: Path) -> None:
    """Where its annotations are given, before any image is looked at."""
    root = write_coco(tmp_path / "coco", train=make_scenes("t", 2), val=make_scenes("v", 3))
    reslab.predict(finder, root / "val2017", coco=tmp_path / "r.json", data=root, top=1, device="cpu")
    assert {entry["image_id"] for entry in json.loads((tmp_path / "r.json").read_text())} <= {0, 1, 2}
    draw_images(tmp_path / "images", 1)
    for options, sentence in (
        ({"coco": tmp_path / "q.json", "data": root}, "is not in the annotations of"),
        ({"data": root}, "says which ids --coco writes; add --coco FILE"),
        ({"coco": tmp_path / "q.json", "data": tmp_path}, "has no annotations of COCO's"),
    ):
        with pytest.raises(UserError, match=sentence):
            reslab.predict(finder, tmp_path / "images", device="cpu", **options)
        assert not (tmp_path / "q.json").exists()
