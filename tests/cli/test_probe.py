"""`reslab probe`, end to end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.delivery.conftest import fill

from reslab.data.photos.reader import read_photos


@pytest.fixture
def here(here: Path) -> Path:
    """With so many photographs that any feature tells them apart."""
    fill(Path("photos/ants"), 15, bright=20)
    fill(Path("photos/bees"), 15, bright=150)
    return here


def test_a_table_a_layer(reslab, here: Path) -> None:
    """The stem and every stage; the photographs are told apart."""
    outcome = reslab("probe", "mine.safetensors", "data=photos")
    assert outcome.code == 0, outcome.err
    photos = read_photos(Path("photos"))
    counts = f"{len(photos.train)} training and {len(photos.test)} test images of photos"
    chance = 100 * np.bincount(photos.test.targets).max() / len(photos.test)
    assert f"{counts}, 2 classes; chance (always the most common class): {chance:.1f} %" in outcome.out
    rows = [line.split() for line in outcome.out.splitlines() if line.startswith("conv")]
    assert [row[0] for row in rows] == ["conv1", "conv2_x", "conv3_x", "conv4_x"]
    assert rows[0][1] == "100.0"


def test_json_of_one_layer_of_a_dataset(reslab, here: Path) -> None:
    """A dataset by name, resized to what the network takes; grey becomes colour."""
    words = ["preprocess.resize=16", "preprocess.crop=16", "--layer", "conv4_x", "--json"]
    told = json.loads(reslab("probe", "mine.safetensors", "data=digits", *words).out)
    assert (told["data"], list(told["layers"])) == ("digits", ["conv4_x"])
    assert told["layers"]["conv4_x"]["linear"] > 50
    assert list(told["layers"]["conv4_x"]["neighbours"]) == ["1", "5", "20"]
    assert told["images"]["test"] == told["layers"]["conv4_x"]["images"]
    assert {"commit", "versions", "machine", "started"} <= told.keys()
    assert told["device"]
    assert told["seconds"] > 0


def test_bad_images_stop_or_are_named(reslab, here: Path) -> None:
    """As asked; each is named once, whoever reads it."""
    Path("photos/ants/zbad.jpg").write_bytes(b"no image")
    assert "zbad.jpg is not an image" in reslab("probe", "mine.safetensors", "data=photos", "--layer", "conv1").err
    for words in (["probe"], ["embed", "--out", "f.safetensors"], ["export", "--format", "torch-export"]):
        photos = "data=photos" if words == ["probe"] else "photos"
        outcome = reslab(words[0], "mine.safetensors", photos, "data.on_bad_image=skip", *words[1:])
        assert outcome.code == 0, outcome.err
        assert outcome.err.count("warning: skipped: photos/ants/zbad.jpg") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "probe takes one network and its data; write data=NAME|FOLDER"),
        (["photos"], "probe takes one network and its data; write data=photos"),
        (["data=phots"], "'phots'"),
        (["data=photos", "--layer", "conv9_x"], "has no layer 'conv9_x'"),
        (["data=photos", "seed=x"], "seed is 'x'"),
        (["data=photos", "seed=-1"], "seed is -1; it must be from 0"),
        (["data=photos", "recipe=fast"], "probe has no field 'recipe'"),
        (["data=photos/ants"], "has no folders of images"),
    ],
)
def test_mistakes_end_in_one_sentence(words: list[str], sentence: str, reslab, here: Path) -> None:
    """Exit code 2, one line that says what to do."""
    outcome = reslab("probe", "mine.safetensors", *words)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1
