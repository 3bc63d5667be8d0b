"""Timing leaves no trace."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from reslab.networks import create_model
from reslab.runtime import timing as timing_module
from reslab.runtime.execution import FAST
from reslab.runtime.timing import Timing, measure_fastest, measure_time, measure_usual, time_once

TIMES = ("forward_seconds", "step_seconds")


def test_weights_statistics_and_mode_are_left_as_found() -> None:
    """Timed steps neither train nor count, and both times are positive."""
    network = create_model("cifar-resnet-8").eval()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    timing = measure_time(network, torch.randn(2, 3, 8, 8), execution=FAST, repeats=1)
    assert timing.forward_seconds > 0
    assert timing.step_seconds > 0
    assert not network.training
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, before[name])


def test_the_forward_pass_may_have_a_precision_of_its_own() -> None:
    """As tests are float32 whatever the training is."""
    seen: list[tuple[bool, torch.dtype]] = []
    network = nn.Sequential(nn.Flatten(), nn.Linear(4, 3))
    network.register_forward_hook(lambda module, _, out: seen.append((module.training, out.dtype)))
    measure_time(network, torch.randn(2, 4), execution=FAST, forward_precision="fp32", repeats=1, warmup=0)
    assert seen == [(False, torch.float32), (True, torch.bfloat16)]


def test_the_fastest_of_several_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its two times by itself."""
    seconds = iter([(3.0, 5.0), (1.0, 9.0), (2.0, 8.0), (0.1, 0.1)])
    monkeypatch.setattr(
        timing_module, "measure_time", lambda *_, **__: Timing(**dict(zip(TIMES, next(seconds), strict=True)))
    )
    batch = torch.zeros(1)
    fastest = measure_fastest(nn.Identity(), batch, execution=FAST, seconds=0.0, least=3)
    assert (fastest.forward_seconds, fastest.step_seconds) == (1.0, 5.0)
    assert measure_fastest(nn.Identity(), batch, execution=FAST, seconds=0.0, least=1).step_seconds == 0.1


def test_what_is_usual_is_the_mean_without_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside other programs most steps are slow, and the fastest says nothing about how long a run will take."""
    seconds = iter([(9.0, 9.0), (1.0, 1.0), (3.0, 7.0)])
    monkeypatch.setattr(
        timing_module, "measure_time", lambda *_, **__: Timing(**dict(zip(TIMES, next(seconds), strict=True)))
    )
    usual = measure_usual(nn.Identity(), torch.zeros(1), execution=FAST, seconds=9.0, most=3)
    assert (usual.forward_seconds, usual.step_seconds) == (2.0, 4.0)


def test_the_first_is_enough_where_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A detector's, on a CPU: nobody waits for another."""
    seconds = iter([(6.0, 12.0)])
    monkeypatch.setattr(
        timing_module, "measure_time", lambda *_, **__: Timing(**dict(zip(TIMES, next(seconds), strict=True)))
    )
    usual = measure_usual(nn.Identity(), torch.zeros(1), execution=FAST, seconds=1.0, most=3)
    assert (usual.forward_seconds, usual.step_seconds) == (6.0, 12.0)


def test_once_is_from_beginning_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that the work itself moves."""
    clock = [100.0]
    monkeypatch.setattr(timing_module.time, "perf_counter", lambda: clock[0])
    assert time_once(lambda: clock.__setitem__(0, 102.5), "cpu") == 2.5
