"""A .caffemodel, written here field by field, read back."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import torch
from torch import Tensor

from reslab.errors import UserError
from reslab.networks import create_model, foreign_state_dict, load_model
from reslab.networks.weights.caffemodel import read_caffemodel
from reslab.networks.weights.container import read_tensors


def varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def message(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def blob(tensor: Tensor, *, old: bool) -> bytes:
    data = message(5, struct.pack(f"<{tensor.numel()}f", *tensor.flatten().tolist()))
    sizes = list(tensor.shape)
    if old:
        padded = [1] * (4 - len(sizes)) + sizes
        return b"".join(varint(field << 3) + varint(size) for field, size in enumerate(padded, start=1)) + data
    return message(7, message(1, b"".join(map(varint, sizes)))) + data


def layer(name: str, kind: str, blobs: list[Tensor], *, old: bool = False) -> bytes:
    content = message(1, name.encode()) + message(2, kind.encode()) + message(3, b"bottom")
    return message(100, content + b"".join(message(7, blob(tensor, old=old)) for tensor in blobs))


def write(state: dict[str, Tensor], *, old: bool) -> bytes:
    """Write a state dict in the authors' names as their file would be, batch norm scaled by 999."""
    out = message(1, b"ResNet") + layer("data", "Input", [])
    for name in dict.fromkeys(key.rpartition(".")[0] for key in state):
        parts = {key.rpartition(".")[2]: tensor for key, tensor in state.items() if key.rpartition(".")[0] == name}
        if "running_mean" in parts:
            scaled = [parts["running_mean"] * 999, parts["running_var"] * 999, torch.tensor([999.0])]
            out += layer(name, "BatchNorm", scaled, old=old)
        else:
            kind = "Scale" if name.startswith("scale") else "InnerProduct" if name == "fc1000" else "Convolution"
            out += layer(name, kind, list(parts.values()), old=old)
    return out


@pytest.mark.parametrize("old", [False, True], ids=["shape", "four dimensions"])
def test_the_authors_network_comes_out(old: bool, tmp_path: Path) -> None:
    """Tensors, v1 structure, conv1's bias and preprocessing, from both ways of writing shapes."""
    narrow = {f"stages.{index}.width": 4 for index in range(4)} | {f"stages.{index}.blocks": 1 for index in range(4)}
    network = create_model("resnet-50", classes=5, **narrow, **{"stem.bias": True, "stem.width": 4})
    path = tmp_path / "ResNet.caffemodel"
    path.write_bytes(write(foreign_state_dict(network, "caffe"), old=old))
    back = load_model(path)
    assert back.spec == network.spec
    for name, tensor in network.state_dict().items():
        assert torch.allclose(back.state_dict()[name], tensor, rtol=1e-6), name
    assert back.preprocess is not None
    assert back.preprocess.channel_order == "BGR"


def test_damage_is_told(tmp_path: Path) -> None:
    """Cut files, other files and files without weights are one sentence each."""
    path = tmp_path / "x.caffemodel"
    content = layer("conv1", "Convolution", [torch.randn(2, 3, 3, 3)])
    odd_norm = layer("bn", "BatchNorm", [torch.ones(2), torch.ones(2), torch.ones(2)])
    odd_matrix = layer("fc", "InnerProduct", [torch.ones(2, 3, 4)])
    for damaged in (content[:-3], b"hello, this is no network at all", odd_norm, odd_matrix):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"x\.caffemodel"):
            read_tensors(path)
    path.write_bytes(layer("relu", "ReLU", []))
    with pytest.raises(UserError, match="no layers with weights"):
        read_caffemodel(path)
