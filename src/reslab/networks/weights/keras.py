"""Keras's bottleneck ResNets as TensorFlow.js has them, under the authors' names or the later ``conv2_block1_1_conv``.

Its convolutions have biases, and its normalizations an epsilon of their own. Both are folded into the moving averages,
so that a network without the ones and with our epsilon gives the same outputs: the mean less the bias, the variance
more by the difference of epsilons. The model says where the stride is and how the pool is padded.

The port of the authors' ResNet-50 says other things than its authors: they had an epsilon of 1e-5 and a pool that
rounds up. It is known by the digest of its tensors, and built as they had it.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from reslab.errors import UserError
from reslab.networks.weights.adapters import from_foreign
from reslab.networks.weights.file import Weights
from reslab.networks.weights.layers_model import LayersModel, read_layers_model
from reslab.runtime.sealed import seal
from reslab.spec import NetworkSpec
from reslab.spec.preprocess import AUTHORS

EPSILON = 1e-5  # ours, and the authors'
KERAS_EPSILON = 1e-3  # where a layer says nothing
AUTHORS_RESNET_50 = "225e4aa38fd81c7a2a1ac7589daeaf1ccf48a9cbf9038b22e5efc2fa5106de81"
# What Keras prepares images with for these networks.
KERAS = replace(AUTHORS, mean=(103.939, 116.779, 123.68))
LEAVES = {
    "kernel": ("", "weight"),
    "bias": ("", "bias"),
    "gamma": ("scale", "weight"),
    "beta": ("scale", "bias"),
    "moving_mean": ("bn", "running_mean"),
    "moving_variance": ("bn", "running_var"),
}
LATER = re.compile(r"conv(\d)_block(\d+)_(\d)_(conv|bn)")
FIRST = {"conv1_conv": "conv1", "conv1_bn": "bn_conv1", "predictions": "fc1000", "probs": "fc1000"}
FOLDED = re.compile(r"(res\w+|conv1)\.bias")


def read_keras(path: Path) -> Weights:
    """Read a model.json and its shards as weights of one of our networks."""
    model = read_layers_model(path)
    tensors = dict(_rename(model))
    if not {"conv1.weight", "res2a_branch2a.weight", "fc1000.weight"} <= tensors.keys():
        shown = ", ".join(list(model.weights)[:3])
        raise UserError(
            f"{path} is not a ResNet that can be read from Keras (it has {shown}, ...); "
            "give ResNet-50, -101 or -152 of the first version, or weights of another library"
        )
    epsilons = {name: layer.get("epsilon", KERAS_EPSILON) for name, layer in model.layers.items()}
    is_authors = seal({}, tensors) == AUTHORS_RESNET_50
    if is_authors:
        epsilons = dict.fromkeys(epsilons, EPSILON)
    try:
        _fold(tensors, {_authors_name(name, _is_deep(model)): epsilon for name, epsilon in epsilons.items()})
        spec, _, renamed = from_foreign("caffe", tensors)
        assert isinstance(spec, NetworkSpec)
        if not is_authors:
            spec = replace(spec, pool=_find_pool(model), stride_in=_find_stride(model))
    except (UserError, LookupError, ValueError, TypeError) as error:
        raise UserError(f"{path} has Keras's names, but cannot be read: {error}") from error
    preprocess = AUTHORS if is_authors else KERAS
    return Weights(spec=spec, tensors=renamed, preprocess=preprocess, source="keras")


def _rename(model: LayersModel) -> list[tuple[str, Tensor]]:
    """Return the tensors by the authors' names, their axes in torch's order."""
    deep, renamed = _is_deep(model), []
    for name, array in model.weights.items():
        layer, _, leaf = name.partition("/")
        prefix, ours = LEAVES.get(leaf, ("", leaf))
        place = _authors_name(layer, deep)
        if prefix:
            place = prefix + place.removeprefix("bn")
        axes = {4: (3, 2, 0, 1), 2: (1, 0)}.get(array.ndim, range(array.ndim))
        renamed.append((f"{place}.{ours}", torch.from_numpy(np.ascontiguousarray(array.transpose(*axes)))))
    return renamed


def _is_deep(model: LayersModel) -> bool:
    """Whether blocks are more than those of 50 layers: the authors number them then."""
    return len({match[1] + match[2] for name in model.layers if (match := LATER.fullmatch(name))}) > 16


def _authors_name(layer: str, deep: bool) -> str:
    """Return what the authors call a layer of the later names; other names stay."""
    match = LATER.fullmatch(layer)
    if match is None:
        return FIRST.get(layer, layer)
    stage, block, number, kind = int(match[1]), int(match[2]), int(match[3]), match[4]
    letter = f"b{block - 1}" if deep and stage in (3, 4) and block > 1 else chr(ord("a") + block - 1)
    branch = "1" if number == 0 else "2" + chr(ord("a") + number - 1)
    return f"{'res' if kind == 'conv' else 'bn'}{stage}{letter}_branch{branch}"


def _fold(tensors: dict[str, Tensor], epsilons: Mapping[str, float]) -> None:
    """Take biases and other epsilons into the moving averages of the normalizations that follow."""
    for name in [name for name in tensors if FOLDED.fullmatch(name)]:
        layer = name.removesuffix(".bias")
        norm = "bn_conv1" if layer == "conv1" else f"bn{layer[3:]}"
        tensors[f"{norm}.running_mean"] = tensors[f"{norm}.running_mean"] - tensors.pop(name)
    for name in [name for name in tensors if name.endswith(".running_var")]:
        more = epsilons[name.removesuffix(".running_var")] - EPSILON
        tensors[name] = (tensors[name].double() + more).float()


def _find_stride(model: LayersModel) -> Literal["1x1", "3x3"]:
    """Return which convolution of a bottleneck halves the map: the first, or that of 3x3."""
    convolutions = [layer for layer in model.layers.values() if layer["class"] == "Conv2D"]
    halving = {tuple(layer["kernel_size"]) for layer in convolutions if tuple(layer["strides"]) == (2, 2)}
    return "3x3" if (3, 3) in halving else "1x1"


def _find_pool(model: LayersModel) -> Literal["ceil", "padded"]:
    """Return how the first pool treats the edge."""
    pool: dict[str, Any] = next((layer for layer in model.layers.values() if layer["class"] == "MaxPooling2D"), {})
    padding = [layer.get("padding") for name, layer in model.layers.items() if name.startswith("pool1")]
    if pool.get("padding") == "same" or [[0, 1], [0, 1]] in padding:
        return "ceil"
    if [[1, 1], [1, 1]] in padding:
        return "padded"
    raise UserError("it pads the first pool in a way that reslab's networks do not; give another file")
