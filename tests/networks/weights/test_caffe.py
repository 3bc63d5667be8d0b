"""The authors' Caffe names, both ways, and their .caffemodel files."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from reslab.errors import UserError
from reslab.networks import build, create_model, foreign_state_dict, load_model
from reslab.networks.resnet import ResidualNetwork
from reslab.networks.weights.caffe import read_caffemodel
from reslab.networks.weights.reading import read_tensors
from reslab.spec import NetworkSpec, find


def caffe_layers(depth: int) -> list[str]:
    """Names of the layers that the authors' file of that depth stores, in order."""
    spec = find(f"resnet-{depth}", {"stem.bias": depth == 50})
    state = foreign_state_dict(build(spec, device="meta"), "caffe")
    return list(dict.fromkeys(name.rpartition(".")[0] for name in state))


@pytest.mark.parametrize(
    ("depth", "convolutions", "sums", "relus"), [(50, 53, 16, 49), (101, 104, 33, 100), (152, 155, 50, 151)]
)
def test_layers_are_as_many(depth: int, convolutions: int, sums: int, relus: int) -> None:
    """Convolution, BatchNorm, Scale, Eltwise and ReLU layers as in the prototxt files."""
    layers = caffe_layers(depth)
    kinds = Counter(
        "bn" if name.startswith("bn") else "scale" if name.startswith("scale") else "conv" for name in layers
    )
    assert kinds["conv"] - 1 == kinds["bn"] == kinds["scale"] == convolutions  # one more: fc1000
    network = build(find(f"resnet-{depth}"), device="meta")
    assert isinstance(network, ResidualNetwork)
    assert len(network.blocks) == sums
    assert sum(isinstance(module, nn.ReLU) for module in network.modules()) == relus


def test_block_names() -> None:
    """50 letters its blocks; 101 and 152 number them in conv3 and conv4."""
    fifty, hundred, deepest = (set(caffe_layers(depth)) for depth in (50, 101, 152))
    assert {"conv1", "bn_conv1", "scale_conv1", "res2a_branch1", "bn4f_branch2c", "scale5c_branch2a", "fc1000"} <= fifty
    assert {"res3b3_branch2a", "res4b22_branch2b", "res2c_branch2c", "res5c_branch2c"} <= hundred
    assert {"res3b7_branch2a", "res4b35_branch2b"} <= deepest
    assert "res4b23_branch2a" not in hundred
    assert {name for name in fifty if "branch1" in name and name.startswith("res")} == {
        "res2a_branch1",
        "res3a_branch1",
        "res4a_branch1",
        "res5a_branch1",
    }


def test_strides_paddings_and_biases() -> None:
    """Stride 2 only in conv1, the pool, res{3,4,5}a_branch2a and their branch1; no bias but conv1's of ResNet-50."""
    network = build(find("resnet-50", {"stem.bias": True}), device="meta")
    strided = {name for name, module in network.named_modules() if getattr(module, "stride", 1) in (2, (2, 2))}
    expected = {"stem.conv", "pool"}
    for stage in (3, 4, 5):
        expected |= {f"blocks.conv{stage}_1.layers.0.conv", f"blocks.conv{stage}_1.shortcut.conv"}
    assert strided == expected
    biased = {
        name for name, module in network.named_modules() if isinstance(module, nn.Conv2d) and module.bias is not None
    }
    assert biased == {"stem.conv"}
    stem, pool = network.get_submodule("stem.conv"), network.get_submodule("pool")
    assert isinstance(stem, nn.Conv2d)
    assert (stem.kernel_size, stem.padding) == ((7, 7), (3, 3))
    assert isinstance(pool, nn.MaxPool2d)
    assert (pool.kernel_size, pool.padding, pool.ceil_mode) == (3, 0, True)
    norm = network.get_submodule("stem.norm")
    assert isinstance(norm, nn.BatchNorm2d)
    assert norm.eps == 1e-5


def test_the_pool_rounds_up_and_clips() -> None:
    """112 becomes 56, and the last window sees two pixels, not a padded one."""
    pool = build(find("resnet-50")).get_submodule("pool")
    x = torch.arange(112.0).expand(1, 1, 112, 112)
    assert pool(x).shape == (1, 1, 56, 56)
    assert pool(x)[0, 0, 0, -1] == 111


@pytest.mark.parametrize("depth", [50, 101, 152])
def test_names_go_both_ways(depth: int, tmp_path: Path) -> None:
    """Written in their names and read back: the same tensors, the authors' network and preprocessing."""
    network = create_model(f"resnet-{depth}", **{"stem.bias": depth == 50})
    torch.save(foreign_state_dict(network, "caffe"), tmp_path / "caffe.pth")
    back = create_model(f"resnet-{depth}", weights=tmp_path / "caffe.pth")
    state = back.state_dict()
    for name, tensor in network.state_dict().items():
        assert torch.equal(state[name], tensor)
    assert isinstance(back.spec, NetworkSpec)
    assert (back.spec.stride_in, back.spec.pool, back.spec.stem.bias) == ("1x1", "ceil", depth == 50)
    assert back.preprocess is not None
    assert back.preprocess.channel_order == "BGR"


def test_the_authors_have_no_basic_blocks() -> None:
    """No 18- or 34-layer file was released, and option A cannot be told from a name."""
    with pytest.raises(UserError, match="bottleneck"):
        foreign_state_dict(create_model("resnet-34", shortcut="B"), "caffe")


def test_a_lost_stage_is_named(tmp_path: Path) -> None:
    """A file without the first layer of a stage says so."""
    state = foreign_state_dict(create_model("resnet-50"), "caffe")
    del state["res4a_branch2a.weight"]
    torch.save(state, tmp_path / "caffe.pth")
    with pytest.raises(UserError, match="lacks res4a_branch2a"):
        load_model(tmp_path / "caffe.pth")


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
