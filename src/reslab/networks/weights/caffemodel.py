"""The authors' .caffemodel files: just enough of protobuf's wire format to take the tensors out.

A network is a message whose field 100 repeats layers (name 1, type 2, blobs 7); a blob holds packed floats (5) and a
shape (7, or the four old dimensions 1-4). BatchNorm's third blob scales its first two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from reslab.errors import UserError

NAMES = {
    "Convolution": ("weight", "bias"),
    "InnerProduct": ("weight", "bias"),
    "BatchNorm": ("running_mean", "running_var"),
    "Scale": ("weight", "bias"),
}
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def read_caffemodel(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a .caffemodel under the authors' layer names: ``res2a_branch1.weight``."""
    try:
        tensors = _collect(
            _read_layer(layer) for field, layer in _fields(memoryview(path.read_bytes())) if field == 100
        )
    except (LookupError, ValueError, RuntimeError, TypeError, OverflowError) as error:
        raise UserError(f"{path} is not a .caffemodel, or a damaged one; fetch it again") from error
    if not tensors:
        raise UserError(f"{path} holds no layers with weights; give a trained .caffemodel")
    return tensors


def _collect(layers: Iterable[tuple[str, str, list[Tensor]]]) -> dict[str, Tensor]:
    tensors = {}
    for name, kind, blobs in layers:
        if kind == "BatchNorm" and len(blobs) == 3:
            factor = blobs[2].item()
            blobs = [blob / factor if factor else torch.zeros_like(blob) for blob in blobs[:2]]
        for leaf, blob in zip(NAMES.get(kind, ()), blobs, strict=False):
            tensors[f"{name}.{leaf}"] = _reshape(kind, leaf, blob)
    return tensors


def _reshape(kind: str, leaf: str, blob: Tensor) -> Tensor:
    """Drop the dimensions of one that old files put before every shape."""
    if leaf == "weight" and kind == "Convolution":
        return blob
    return blob.reshape(blob.shape[-2:]) if leaf == "weight" and kind == "InnerProduct" else blob.flatten()


def _read_layer(message: memoryview) -> tuple[str, str, list[Tensor]]:
    fields = list(_fields(message))
    name, kind = (bytes(next(value for field, value in fields if field == wanted)).decode() for wanted in (1, 2))
    return name, kind, [_read_blob(value) for field, value in fields if field == 7]


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
