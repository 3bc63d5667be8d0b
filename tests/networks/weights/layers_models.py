"""A network written as a TensorFlow.js layers model, under the authors' names or Keras's later ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import nn

from reslab.networks.resnet import ResidualNetwork
from reslab.networks.weights import caffe
from reslab.networks.weights.places import parse_place
from reslab.spec import NetworkSpec

LEAVES = {"weight": "kernel", "bias": "bias"}
NORMS = {"weight": "gamma", "bias": "beta", "running_mean": "moving_mean", "running_var": "moving_variance"}
Numbers = Literal["float32", "float16", "uint8", "uint16"]


def write_layers_model(
    folder: Path,
    network: ResidualNetwork,
    *,
    epsilon: float = 1e-3,
    later: bool = False,
    pool: Any = "same",
    stride_in: str = "1x1",
    numbers: Numbers = "float32",
    num_shards: int = 3,
) -> Path:
    """Write model.json and its shards; biases of convolutions are those that the network's convolutions have."""
    weights, layers = [], {}
    biases = {name: module.bias for name, module in network.named_modules() if isinstance(module, nn.Conv2d)}
    for key, tensor in network.state_dict().items():
        place = parse_place(key)
        assert place is not None and isinstance(network.spec, NetworkSpec)
        name = caffe.name_place(place, network.spec)
        if name is None or (place.operator == "conv" and place.leaf == "bias"):
            continue
        layer, leaf = name.rsplit(".", 1)
        array = tensor.numpy()
        if layer.startswith(("bn", "scale")):
            layer = "bn" + layer.removeprefix("bn").removeprefix("scale")
            weights.append((f"{_rename(layer, later)}/{NORMS[leaf]}", array))
            layers[_rename(layer, later)] = {"class_name": "BatchNormalization", "config": {"epsilon": epsilon}}
            continue
        axes = {4: (2, 3, 1, 0), 2: (1, 0), 1: (0,)}[array.ndim]
        weights.append((f"model/{_rename(layer, later)}/{LEAVES[leaf]}", np.ascontiguousarray(array.transpose(axes))))
        if array.ndim == 4:
            halving = "a" if stride_in == "1x1" else "b"
            halves = layer == "conv1" or re.fullmatch(rf"res[345]a_branch(1|2{halving})", layer) is not None
            config = {"kernel_size": list(array.shape[2:]), "strides": [1 + halves] * 2}
            layers[_rename(layer, later)] = {"class_name": "Conv2D", "config": config}
    for (name, bias), layer in zip(biases.items(), [key for key in layers if "bn" not in key], strict=True):
        assert bias is not None, name
        weights.append((f"{layer}/bias", bias.detach().numpy()))
    layers["pool1_pad"] = {"class_name": "ZeroPadding2D", "config": {"padding": pool}}
    layers["pool"] = {"class_name": "MaxPooling2D", "config": {"padding": "same" if pool == "same" else "valid"}}
    manifest, stored = [], b""
    for name, array in weights:
        about, data = _store(array, numbers)
        manifest.append({"name": name, "shape": list(array.shape), "dtype": "float32", **about})
        stored += data
    folder.mkdir(parents=True, exist_ok=True)
    cuts = [len(stored) * cut // num_shards for cut in range(num_shards + 1)]
    names = [f"shard{number}.bin" for number in range(num_shards)]
    for name, first, last in zip(names, cuts, cuts[1:], strict=False):
        (folder / name).write_bytes(stored[first:last])
    topology = [{**layer, "config": layer["config"] | {"name": name}} for name, layer in layers.items()]
    model = {
        "format": "layers-model",
        "modelTopology": {"model_config": {"config": {"layers": topology}}},
        "weightsManifest": [{"paths": names, "weights": manifest}],
    }
    (folder / "model.json").write_text(json.dumps(model))
    return folder / "model.json"


def _rename(layer: str, later: bool) -> str:
    """Return Keras's later name for one of the authors'."""
    if not later:
        return layer
    if layer in ("conv1", "bn_conv1", "fc1000"):
        return {"conv1": "conv1_conv", "bn_conv1": "conv1_bn", "fc1000": "predictions"}[layer]
    kind, stage, letter, branch = re.fullmatch(r"(res|bn)(\d)([a-z])_branch(1|2[abc])", layer).groups()  # pyright: ignore[reportOptionalMemberAccess]
    number = 0 if branch == "1" else "abc".index(branch[1]) + 1
    return f"conv{stage}_block{ord(letter) - ord('a') + 1}_{number}_{'conv' if kind == 'res' else 'bn'}"


def _store(array: NDArray[np.float32], numbers: Numbers) -> tuple[dict[str, Any], bytes]:
    if numbers == "float32":
        return {}, array.astype("<f4").tobytes()
    if numbers == "float16":
        return {"quantization": {"dtype": numbers, "original_dtype": "float32"}}, array.astype("<f2").tobytes()
    most = np.iinfo(numbers).max
    least, scale = float(array.min()), float(np.ptp(array)) / most or 1.0
    whole = ((array - least) / scale).round().astype(np.dtype(numbers).newbyteorder("<"))
    return {"quantization": {"dtype": numbers, "min": least, "scale": scale}}, whole.tobytes()
