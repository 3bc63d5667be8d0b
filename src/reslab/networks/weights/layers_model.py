"""TensorFlow.js layers models: ``model.json`` tells layers and weights; the shards beside it are the numbers, in order.

Numbers are float32, float16, or whole ones of 8 or 16 bits with a scale and a least value. Nothing in such a model is
code that would run here.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reslab.errors import UserError

MODEL = "model.json"
DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError)
WHOLE = {"uint8": np.uint8, "uint16": np.uint16}


@dataclass(frozen=True, kw_only=True)
class LayersModel:
    """The settings of each layer, by its name, with its `class`; weights by layer and kind, such as conv1/kernel."""

    layers: dict[str, dict[str, Any]]
    weights: dict[str, NDArray[np.float32]]


def read_layers_model(path: Path) -> LayersModel:
    """Read a model.json and its shards; refuse what is damaged, incomplete or of another kind."""
    try:
        model = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"there is no weight file {path}; give the path of an existing one") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read ({error}); fetch it again") from error
    if not isinstance(model, dict) or "weightsManifest" not in model:
        raise UserError(f"{path} is not a TensorFlow.js model; give a weight file, or a model.json with its shards")
    if model.get("format", "layers-model") != "layers-model":
        raise UserError(f"{path} is a TensorFlow.js {model['format']}; convert the Keras model to a layers-model")
    try:
        layers = {layer["config"]["name"]: layer["config"] | {"class": layer["class_name"]} for layer in _layers(model)}
        weights = {name: array for group in model["weightsManifest"] for name, array in _read_group(group, path.parent)}
    except DAMAGE as error:
        raise UserError(f"{path} is damaged ({error!r}); fetch it again") from error
    return LayersModel(layers=layers, weights=weights)


def _layers(model: Mapping[str, Any]) -> list[dict[str, Any]]:
    topology = model["modelTopology"]
    return topology.get("model_config", topology)["config"]["layers"]


def _read_group(group: Mapping[str, Any], folder: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the weights of a group, which lie end to end in its shards, by the last two parts of their names."""
    numbers, place = b"".join(_read_shard(folder, name) for name in group["paths"]), 0
    for weight in group["weights"]:
        stored = weight.get("quantization", {})
        kind = np.dtype(WHOLE.get(stored.get("dtype"), "<f2" if stored else "<f4")).newbyteorder("<")
        if weight["dtype"] != "float32" or stored.get("dtype", "float16") not in ("float16", *WHOLE):
            raise ValueError(f"{weight['name']} is of {stored.get('dtype', weight['dtype'])}")
        size = int(np.prod(weight["shape"], dtype=np.int64))
        if place + size * kind.itemsize > len(numbers):
            raise UserError(f"the shards in {folder} end before the weights do; fetch them again")
        array = np.frombuffer(numbers, kind, size, place).astype(np.float32)
        if "scale" in stored:
            array = array * np.float32(stored["scale"]) + np.float32(stored["min"])
        place += size * kind.itemsize
        yield "/".join(weight["name"].split("/")[-2:]), array.reshape(weight["shape"])
    if place != len(numbers):
        raise UserError(f"the shards in {folder} hold more than the model says; fetch them again")


def _read_shard(folder: Path, name: str) -> bytes:
    if Path(name).name != name:
        raise UserError(f"a shard is called {name!r}, which is not the name of a file beside {MODEL}; fetch it again")
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {folder / name}: {error.strerror}; fetch all shards of the model") from error
