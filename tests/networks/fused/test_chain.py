"""The fused chain against the network it stands for: in Triton's interpreter, in float32, and on a GPU in 16 bits."""

import copy

import pytest
import torch
from tests.networks.fused.beside import assert_no_farther, compare, make_network, round_by_autocast
from tests.networks.fused.interpreting import interpret

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
CASES = [
    ("cifar-resnet-8", {"input_size": 16}),
    ("cifar-resnet-8", {"input_size": 8, "zero_padding": "both"}),
    ("cifar-resnet-8", {"input_size": 8, "shortcut": "B"}),
    ("cifar-resnet-8", {"input_size": 8, "shortcut": "C"}),
    ("cifar-plain-8", {"input_size": 8}),
    ("cifar-resnet-8", {"input_size": 8, "channels": 1, "lanes": 2}),
    ("cifar-resnet-14", {"input_size": 8, "order": "pre", "zero_padding": "both"}),
    ("cifar-plain-8", {"input_size": 8, "order": "pre"}),
]


def test_a_chain_is_its_network() -> None:
    """Features, every gradient, running statistics and counters agree to float32's rounding."""
    for (name, _), distances in zip(CASES, interpret("beside", CASES), strict=True):
        assert len(distances) > 6 * int(name.rpartition("-")[2]) - 12  # six numbers a layer, and the features
        assert all(value < 1e-4 for value in distances.values()), (name, distances)


def test_in_float16_it_rounds_to_eleven_bits() -> None:
    """The interpreter has no bfloat16 to speak of, and float16 goes the same way through the kernels."""
    cases = [(name, fields | {"dtype": "float16"}) for name, fields in (CASES[3], CASES[6])]
    for (name, _), distances in zip(cases, interpret("beside", cases), strict=True):
        assert 1e-5 < distances["features"] < 5e-3, name
        assert sum(distances.values()) / len(distances) < 0.1, (name, distances)


@pytest.mark.gpu
@needs_cuda
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("resnet-20", {}),
        ("resnet-20", {"shortcut": "B"}),
        ("resnet-20", {"shortcut": "C"}),
        ("resnet-20", {"order": "pre"}),
        ("plain-20", {}),
        ("resnet-20", {"lanes": 2}),
    ],
)
def test_it_rounds_no_more_than_autocast(name: str, fields: dict[str, object], dtype: torch.dtype) -> None:
    """On the device, gradients are no farther from float64's than those of torch's own kernels of that precision."""
    lanes = int(str(fields.get("lanes", 1)))
    network = make_network(name, **{field: value for field, value in fields.items() if field != "lanes"}).to("cuda")
    images = torch.randn(128, 3, 32, 32, device="cuda").contiguous(memory_format=torch.channels_last)
    usual = copy.deepcopy(network)
    ours = compare(network, images, dtype=dtype, lanes=lanes)
    theirs = round_by_autocast(usual, images, dtype, parts=lanes)
    assert_no_farther(ours, theirs, dict(network.named_parameters()))


@pytest.mark.gpu
@needs_cuda
@pytest.mark.parametrize(
    ("fields", "lanes"), [({}, 1), ({"shortcut": "C"}, 1), ({"order": "pre"}, 1), ({}, 4)], ids=str
)
def test_the_same_bits_every_time(fields: dict[str, object], lanes: int) -> None:
    """On the device, two runs of the same batch give the same gradients to the bit."""
    from reslab.networks.fused.chain import FusedChain

    images = torch.randn(128, 3, 32, 32, device="cuda").contiguous(memory_format=torch.channels_last)
    upstream = torch.randn(128, 64, device="cuda")
    found = []
    for _ in range(2):
        network = make_network("resnet-20", **fields).to("cuda")
        FusedChain(network, dtype=torch.bfloat16, lanes=lanes).features(images).backward(upstream)
        found.append([p.grad for p in network.parameters() if p.grad is not None])
    assert all(torch.equal(first, second) for first, second in zip(*found, strict=True))
