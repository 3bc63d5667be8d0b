"""TensorFlow.js layers models, read without trust."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.networks.weights.layers_models import Numbers, write_layers_model
from tests.networks.weights.test_keras import make_keras

from reslab.errors import UserError
from reslab.networks.weights.layers_model import read_layers_model

ROUNDING: dict[Numbers, float] = {"float16": 2**-11, "uint16": 2**-16, "uint8": 2**-8}  # of the largest number


@pytest.mark.parametrize("numbers", ROUNDING)
def test_small_numbers_are_widened(numbers: Numbers, tmp_path: Path) -> None:
    """To what they stand for, within their rounding."""
    network = make_keras()
    whole = read_layers_model(write_layers_model(tmp_path / "whole", network)).weights
    small = read_layers_model(write_layers_model(tmp_path / "small", network, numbers=numbers, num_shards=1)).weights
    assert small.keys() == whole.keys()
    for name, array in whole.items():
        assert small[name].dtype == np.float32
        span = max(float(np.ptp(array)), float(np.abs(array).max()))
        np.testing.assert_allclose(small[name], array, rtol=0, atol=1.01 * ROUNDING[numbers] * span)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        ("truncated", "end before the weights do; fetch them again"),
        ("longer", "hold more than the model says; fetch them again"),
        ("absent", "cannot read .*shard1.bin: No such file or directory; fetch all shards"),
        ("not JSON", "cannot be read"),
        ("no model", "is not a TensorFlow.js model"),
        ("graph", "is a TensorFlow.js graph-model; convert the Keras model to a layers-model"),
        ("outside", "a shard is called '../shard1.bin', which is not the name of a file"),
        ("no shape", "is damaged .*shape.*; fetch it again"),
        ("int32", "is damaged .*int32"),
    ],
)
def test_what_is_damaged_is_told(damage: str, sentence: str, tmp_path: Path) -> None:
    """In one sentence with the remedy."""
    path = write_layers_model(tmp_path, make_keras())
    shard, model = tmp_path / "shard1.bin", json.loads(path.read_text())
    group = model["weightsManifest"][0]
    if damage == "truncated":
        shard.write_bytes(shard.read_bytes()[:-4])
    elif damage == "longer":
        shard.write_bytes(shard.read_bytes() + bytes(4))
    elif damage == "absent":
        shard.unlink()
    elif damage == "graph":
        model["format"] = "graph-model"
    elif damage == "outside":
        group["paths"][1] = "../shard1.bin"
    elif damage == "no shape":
        del group["weights"][3]["shape"]
    elif damage == "int32":
        group["weights"][3]["dtype"] = "int32"
    path.write_text({"not JSON": "{", "no model": "{}"}.get(damage, json.dumps(model)))
    with pytest.raises(UserError, match=sentence):
        read_layers_model(path)


def test_a_model_that_is_not_there_is_told(tmp_path: Path) -> None:
    """As any weight file."""
    with pytest.raises(UserError, match=r"there is no weight file .*model\.json"):
        read_layers_model(tmp_path / "model.json")
