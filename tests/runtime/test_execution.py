"""Layout and precision change how a network runs, not what it computes."""

from __future__ import annotations

import pytest
import torch

from reslab.errors import UserError
from reslab.networks import create_model
from reslab.runtime.execution import FAST, NARROW, Execution, choose_device
from reslab.spec.recipe import Precision


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_channels_last_computes_the_same(dimensions: int) -> None:
    """Images and volumes change layout, sequences have none to change."""
    network = create_model("cifar-resnet-8", dimensions=dimensions).eval()
    x = torch.randn(2, 3, *[8] * dimensions)
    expected = network(x)
    execution = Execution(channels_last=True)
    execution.prepare_network(network)
    prepared = execution.prepare(x)
    assert prepared.is_contiguous() == (dimensions == 1)
    assert torch.allclose(network(prepared), expected, rtol=1e-4, atol=1e-5)


def test_fast_is_bfloat16_and_near() -> None:
    """Logits come in bfloat16 and differ little."""
    network = create_model("resnet-20").eval()
    x = torch.randn(4, 3, 32, 32)
    expected = network(x)
    FAST.prepare_network(network)
    with FAST.autocast("cpu"):
        logits = network(FAST.prepare(x))
    assert logits.dtype == torch.bfloat16
    assert (logits - expected).abs().max() < 0.05 * expected.abs().max() + 0.01


def test_float16_rounds_less_than_bfloat16() -> None:
    """Eleven bits against eight: logits are nearer those of float32."""
    network = create_model("resnet-20").eval()
    x = torch.randn(4, 3, 32, 32)
    expected = network(x)
    distances: dict[Precision, float] = {}
    for precision, dtype in NARROW.items():
        with Execution(precision=precision).autocast("cpu"):
            logits = network(x)
        assert logits.dtype == dtype
        distances[precision] = (logits - expected).norm().item()
    assert 0 < distances["fp16"] < 0.3 * distances["bf16"]


def test_the_map_stays_channels_last_throughout() -> None:
    """No block, zero padding included, falls back to the contiguous layout."""
    network = create_model("resnet-20")
    execution = Execution(channels_last=True)
    execution.prepare_network(network)
    seen = network.activations(execution.prepare(torch.randn(2, 3, 32, 32)))
    for name, tensor in seen.items():
        if tensor.dim() == 4:
            assert tensor.is_contiguous(memory_format=torch.channels_last), name


@pytest.mark.parametrize("device", ["tpu9", "cuda:99"])
def test_a_device_that_is_not_here_is_told(device: str) -> None:
    """One that nobody knows, and one that this machine does not have."""
    assert choose_device("cpu") == "cpu"
    with pytest.raises(UserError, match=f"device is '{device}', which this machine does not have; give cpu"):
        choose_device(device)
