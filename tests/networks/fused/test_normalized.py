"""Networks around whose convolutions our kernels stand: which, and that they compute the same."""

import copy

import pytest
import torch
from tests.networks.fused.beside import assert_no_farther, make_network, round_by_autocast
from tests.networks.fused.interpreting import interpret

from reslab.networks.fused import can_normalize
from reslab.networks.resnet import ResidualNetwork
from reslab.runtime.capture import capture
from reslab.spec import find

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
PAIRS = [{"blocks": 2, "width": 16}, {"blocks": 2, "width": 32, "stride": 2}]  # of which the second keeps its size
CASES = [
    ("resnet-18", {"input_size": 37}),
    ("resnet-18", {"input_size": 32, "shortcut": "C", "pool": "padded"}),
    ("resnet-18", {"input_size": 8, "pool": "none", "stem.stride": 1, "zero_padding": "both"}),
    ("resnet-50-v1.5", {"input_size": 33}),
    ("plain-18", {"input_size": 32}),
    ("resnet-18", {"input_size": 32, "order": "pre"}),
    ("resnet-50-v1.5", {"input_size": 33, "order": "pre"}),
    ("resnet-18", {"input_size": 16, "order": "pre", "shortcut": "C", "stages": PAIRS}),
    ("resnet-18", {"input_size": 16, "order": "pre", "shortcut": "C", "stages": PAIRS, "pre_revision": 1}),
]
NAMES = [
    ("resnet-34", {}),
    ("resnet-18", {"shortcut": "C"}),
    ("resnet-50-v1.5", {"shortcut": "B"}),
    ("resnet-18", {"order": "pre"}),
    ("resnet-18", {"order": "pre", "shortcut": "C"}),
    ("plain-18", {}),
]


@pytest.mark.parametrize("name", ["resnet-18", "resnet-152", "resnet-50-v1.5", "plain-34", "resnet-20"])
def test_the_papers_networks_have_kernels_around_convolutions(name: str) -> None:
    """Those for ImageNet and for CIFAR, whatever their shortcuts."""
    assert can_normalize(find(name))
    if not name.startswith("plain"):
        assert can_normalize(find(name, {"shortcut": "C"}))
    assert can_normalize(find(name, {"input_size": 30}))
    assert can_normalize(find(name, {"order": "pre"}))


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("resnet-18", {"shortcut": "gated"}),
        ("resnet-18", {"order": "bn-after-addition"}),
        ("resnet-18", {"norm": "frozen"}),
        ("resnet-18", {"dropout": 0.1}),
        ("wrn-16-4", {"dropout": 0.1}),
        ("resnet-18", {"squeeze_excitation": 16}),
        ("resnet-18", {"stochastic_depth": 0.1}),
        ("resnet-18", {"checkpointing": True}),
        ("resnet-18", {"stem.bias": True}),
        ("resnet-18", {"stages.1.width": 72}),
        ("resnet-18", {"dimensions": 3}),
        ("highway-19", {}),
        ("vgg-16", {}),
    ],
)
def test_others_have_none(name: str, fields: dict[str, object]) -> None:
    """What has other layers, orders or widths runs by torch's kernels."""
    assert not can_normalize(find(name, fields))


def test_a_normalized_network_is_its_network() -> None:
    """Features, every gradient, running statistics and counters agree to float32's rounding."""
    for (name, fields), distances in zip(CASES, interpret("between", CASES), strict=True):
        assert len(distances) > 35
        assert all(value < 2e-4 for value in distances.values()), (name, fields, distances)


def test_in_float16_it_rounds_to_eleven_bits() -> None:
    """The interpreter has no bfloat16 to speak of, and float16 goes the same way through the kernels."""
    cases = [(name, fields | {"dtype": "float16"}) for name, fields in CASES[1:3]]
    for (name, fields), distances in zip(cases, interpret("between", cases), strict=True):
        assert 1e-5 < distances["features"] < 0.02, (name, fields)  # of three images, with maps a pixel wide
        assert sum(distances.values()) / len(distances) < 0.1, (name, fields, distances)


def make_images(network: ResidualNetwork, count: int = 32) -> torch.Tensor:
    generator = torch.Generator("cuda").manual_seed(0)
    images = torch.randn(count, *network.spec.input_shape, generator=generator, device="cuda")
    return images.contiguous(memory_format=torch.channels_last)


@pytest.mark.gpu
@needs_cuda
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(("name", "fields"), NAMES)
def test_it_rounds_no_more_than_autocast(name: str, fields: dict[str, object], dtype: torch.dtype) -> None:
    """On the device, gradients and statistics are no farther from float64's than by torch's kernels of its kind."""
    from tests.networks.fused.between import compare_network

    network = make_network(name, input_size=96, **fields).to("cuda")
    images, usual = make_images(network), copy.deepcopy(network)
    ours, theirs = compare_network(network, images, dtype=dtype), round_by_autocast(usual, images, dtype)
    assert_no_farther(ours, theirs, dict(network.named_parameters()))
    assert_no_farther(ours, theirs, dict(network.named_buffers()))


@pytest.mark.gpu
@needs_cuda
def test_the_same_bits_every_time() -> None:
    """On the device, two runs of the same batch give the same gradients to the bit, captured or not."""
    from reslab.networks.fused.normalized import normalize

    found = []
    with torch.backends.cudnn.flags(enabled=True, deterministic=True):
        for captured in (False, False, True):
            network = make_network("resnet-50", input_size=96).to("cuda")
            images, network.stand_in = make_images(network), normalize(network, torch.bfloat16)

            def iterate(network=network, images=images) -> None:
                network.zero_grad(set_to_none=True)
                with torch.autocast("cuda", torch.bfloat16):
                    out = network(images)
                out.float().square().mean().backward()

            (capture(iterate, device=images.device) if captured else iterate)()
            found.append([p.grad.clone() for p in network.parameters() if p.grad is not None])
    for others in found[1:]:
        assert all(torch.equal(first, second) for first, second in zip(found[0], others, strict=True))
