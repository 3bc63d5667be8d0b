"""Activation checkpointing: the same numbers in a fraction of the memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import torch
from torch import Tensor, nn

from reslab.networks import create_model
from reslab.networks.checkpointing import run_checkpointed
from reslab.networks.dropout import Dropout, draw_from

PEAK = """
import json, resource, sys, torch
from reslab.networks import create_model
torch.set_num_threads(1)
network = create_model("cifar-resnet-602", checkpointing=sys.argv[1] == "True")
images = torch.randn(24, 3, 32, 32)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
network(images).sum().backward()
print(json.dumps([before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))
"""


@pytest.mark.parametrize("own", [False, True], ids=["torch's generator", "a generator of its own"])
@pytest.mark.parametrize("overrides", [{}, {"block": "bottleneck"}, {"dropout": 0.3, "stochastic_depth": 0.3}])
def test_gradients_and_buffers_are_the_same(overrides: dict[str, object], own: bool) -> None:
    """Two steps with and without: equal logits, gradients, statistics and step counters, to the bit."""
    network = create_model("resnet-56", **overrides)
    twin = create_model("resnet-56", checkpointing=True, **overrides)
    twin.load_state_dict(network.state_dict())
    generators = [torch.Generator() if own else torch.default_generator for _ in range(2)]
    for one, generator in zip((network, twin), generators, strict=True):
        draw_from(one, generator if own else None)
    for step in range(2):
        x = torch.randn(4, 3, 32, 32)
        for one, generator in zip((network, twin), generators, strict=True):
            generator.manual_seed(step)
            one(x).square().sum().backward()
    for name, parameter in network.named_parameters():
        assert torch.equal(parameter.grad, twin.get_parameter(name).grad), name  # pyright: ignore[reportArgumentType]
    for name, buffer in network.named_buffers():
        assert torch.equal(buffer, twin.get_buffer(name)), name
    assert network.get_buffer("stem.norm.num_batches_tracked") == 2


class FailsAgain(nn.Module):
    """Passes its input on the first time, without gradients, and fails the second time."""

    def forward(self, x: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            raise MemoryError
        return x


def test_a_second_pass_that_fails_leaves_the_generator_where_it_was() -> None:
    """Whoever catches the error draws on, and not the same again."""
    segment = nn.Sequential(FailsAgain(), Dropout(0.5))
    generator = torch.Generator()
    draw_from(segment, generator)
    loss = run_checkpointed([segment], torch.ones(8, requires_grad=True)).sum()
    now = generator.get_state()
    with pytest.raises(MemoryError):
        loss.backward()
    assert torch.equal(generator.get_state(), now)


def test_evaluation_with_gradients_leaves_statistics_alone() -> None:
    """Recomputing in evaluation uses the running statistics, as the first pass did."""
    network = create_model("resnet-20", checkpointing=True).eval()
    before = {name: buffer.clone() for name, buffer in network.named_buffers()}
    x = torch.randn(2, 3, 32, 32, requires_grad=True)
    network(x).sum().backward()
    assert x.grad is not None
    for name, buffer in network.named_buffers():
        assert torch.equal(buffer, before[name])


def _added(checkpointing: bool) -> float:
    # Maps of a quarter of a megabyte and more go back to the system when freed, so that the peak is what was held at
    # once and not how the C library's heap happened to break up.
    returned = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(2**18)}
    words = [sys.executable, "-c", PEAK, str(checkpointing)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=returned)
    before, peak = json.loads(done.stdout)
    return (peak - before) / 2**20


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_602_layers_train_in_a_third_of_the_memory() -> None:
    """What one step at batch 24 added to the process (docs/inside/log.md has 1202 layers)."""
    usual, checkpointed = _added(False), _added(True)
    print(f"cifar-resnet-602, batch 24, GiB added: {usual:.2f} without, {checkpointed:.2f} with checkpointing")
    assert checkpointed < usual / 3
