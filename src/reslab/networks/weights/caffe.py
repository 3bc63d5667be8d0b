"""The authors' Caffe files: res4b22_branch2a, bn4b22_branch2a, scale4b22_branch2a, fc1000.

Their networks are v1: stride in the first 1x1 and in branch1 (the projection), a max-pool that rounds up without
padding. Batch norm is two layers there, BatchNorm (statistics) and Scale (affine). Only ResNet-50's conv1 has a
bias. Images come as BGR, 0-255, mean subtracted.

A .caffemodel is a protobuf message whose field 100 repeats layers (name 1, type 2, blobs 7); a blob holds packed floats
(5) and a shape (7, or the four old dimensions 1-4). BatchNorm's third blob scales its first two.
"""

import re
import string
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from reslab.errors import UserError
from reslab.networks.weights.places import COUNTER, Place
from reslab.spec import NetworkSpec, Preprocess, Spec, StageSpec, StemSpec
from reslab.spec.preprocess import AUTHORS

NAMES = {
    "Convolution": ("weight", "bias"),
    "InnerProduct": ("weight", "bias"),
    "BatchNorm": ("running_mean", "running_var"),
    "Scale": ("weight", "bias"),
}
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
BLOCK = re.compile(r"res(\d+)(?:([a-z])|b(\d+))_branch2a\.weight")


def recognizes(tensors: Mapping[str, Tensor]) -> bool:
    """Whether these are the authors' names."""
    return {"conv1.weight", "res2a_branch2a.weight", "fc1000.weight"} <= tensors.keys()


def infer(tensors: Mapping[str, Tensor]) -> tuple[Spec, Preprocess]:
    """Return the network these tensors were trained as."""
    if "res2a_branch2c.weight" not in tensors:
        raise UserError(
            "these Caffe weights have no bottleneck blocks; give the authors' weights of 50, 101 or 152 layers"
        )
    stem = tensors["conv1.weight"]
    counts = Counter(int(match[1]) for name in tensors if (match := BLOCK.fullmatch(name)))
    stages = []
    for stage, blocks in sorted(counts.items()):
        first = tensors.get(f"res{stage}a_branch2a.weight")
        if first is None:
            raise UserError(f"the file lacks res{stage}a_branch2a.weight; fetch it again")
        stages.append(StageSpec(blocks=blocks, width=first.shape[0], stride=1 if stage == 2 else 2))
    return NetworkSpec(
        stem=StemSpec(kernel=stem.shape[-1], width=stem.shape[0], stride=2, bias="conv1.bias" in tensors),
        pool="ceil",
        stages=tuple(stages),
        block="bottleneck",
        shortcut="B",
        stride_in="1x1",
        classes=tensors["fc1000.weight"].shape[0],
        channels=stem.shape[1],
    ), AUTHORS


def name_place(place: Place, spec: NetworkSpec) -> str | None:
    """Return the authors' name for a place; they count no batches."""
    if place.part == "classifier":
        return f"fc1000.{place.leaf}"
    layer = "conv1" if place.part == "stem" else _branch(place, spec)
    if place.operator == "conv":
        return f"{layer}.{place.leaf}"
    if place.leaf == COUNTER:
        return None
    prefix = "bn" if place.leaf.startswith("running_") else "scale"
    return f"{prefix}_conv1.{place.leaf}" if place.part == "stem" else f"{prefix}{layer[3:]}.{place.leaf}"


def _branch(place: Place, spec: NetworkSpec) -> str:
    # ResNet-50 letters all its blocks; the deeper two number them in conv3 and conv4.
    if spec.depth > 50 and place.stage in (3, 4) and place.block > 1:
        block = f"b{place.block - 1}"
    elif place.block <= len(string.ascii_lowercase):
        block = string.ascii_lowercase[place.block - 1]
    else:
        raise UserError(
            f"the authors' Caffe names have a letter for each block of conv{place.stage}: "
            f"at most 26 blocks, not {place.block}"
        )
    branch = "1" if place.part == "projection" else "2" + string.ascii_lowercase[place.layer - 1]
    return f"res{place.stage}{block}_branch{branch}"


def read_caffemodel(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a .caffemodel under the authors' layer names: ``res2a_branch1.weight``."""
    try:
        layers = (layer for field, layer in _fields(memoryview(path.read_bytes())) if field == 100)
        tensors = dict(named for layer in layers for named in _read_layer(layer))
    except (LookupError, ValueError, RuntimeError, TypeError, OverflowError) as error:
        raise UserError(f"{path} is damaged or not a .caffemodel file; fetch it again") from error
    if not tensors:
        raise UserError(f"{path} holds no layers with weights; give a trained .caffemodel")
    return tensors


def _reshape(kind: str, leaf: str, blob: Tensor) -> Tensor:
    """Drop the dimensions of one that old files put before every shape."""
    if leaf == "weight" and kind == "Convolution":
        return blob
    return blob.reshape(blob.shape[-2:]) if leaf == "weight" and kind == "InnerProduct" else blob.flatten()


def _read_layer(message: memoryview) -> Iterator[tuple[str, Tensor]]:
    fields = list(_fields(message))
    name, kind = (bytes(next(value for field, value in fields if field == wanted)).decode() for wanted in (1, 2))
    blobs = [_read_blob(value) for field, value in fields if field == 7]
    if kind == "BatchNorm" and len(blobs) == 3:
        factor = blobs[2].item()
        blobs = [blob / factor if factor else torch.zeros_like(blob) for blob in blobs[:2]]
    for leaf, blob in zip(NAMES.get(kind, ()), blobs, strict=False):
        yield f"{name}.{leaf}", _reshape(kind, leaf, blob)


def _read_blob(message: memoryview) -> Tensor:
    data, shape, old_shape = np.empty(0, dtype=np.float32), [], []
    for field, value in _fields(message):
        if field == 5:
            data = np.frombuffer(value, dtype="<f4").astype(np.float32)
        elif field == 7:
            shape = [size for inner, packed in _fields(value) if inner == 1 for size in _varints(packed)]
        elif field <= 4:
            old_shape += _varints(value)
    return torch.from_numpy(data).reshape(shape or old_shape)


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield each field's number and its bytes."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        kind = key & 7
        if kind == BYTES:
            size, place = _varint(message, place)
        elif kind == VARINT:
            size = _varint(message, place)[1] - place
        else:
            size = {FIXED64: 8, FIXED32: 4}[kind]
        if place + size > len(message):
            raise ValueError("the message ends before its field does")
        yield key >> 3, message[place : place + size]
        place += size


def _varints(packed: memoryview) -> Iterator[int]:
    place = 0
    while place < len(packed):
        value, place = _varint(packed, place)
        yield value


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """Return the number that starts at `place`, and where it ends."""
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 0x7F) << shift
        place += 1
        if byte < 0x80:
            return value, place
        shift += 7
