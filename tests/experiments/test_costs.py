"""Table 1, counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from reslab.experiments import costs
from reslab.experiments.costs import Counted, count_depths, estimate_measuring, measure_depths, write_largest
from reslab.runtime.timing import Timing


@pytest.fixture(scope="module")
def counted() -> dict[str, Counted]:
    return {one.network: one for one in count_depths()}


def test_counts_are_the_fact_sheets(counted: dict[str, Counted]) -> None:
    """To the unit; all but ResNet-50's round to what the paper prints, and that one is printed cut off."""
    assert {name: (one.params, one.multiply_adds) for name, one in counted.items()} == {
        "resnet-18": (11_515_688, 1_794_805_760),
        "resnet-34": (21_623_848, 3_644_493_824),
        "resnet-50": (25_557_032, 3_857_973_248),
        "resnet-101": (44_549_160, 7_570_194_432),
        "resnet-152": (60_192_808, 11_282_415_616),
    }
    words = {name: one.word for name, one in counted.items()}
    assert words == dict.fromkeys(counted, "reproduced") | {"resnet-50": "deviates"}
    assert "cut off" in counted["resnet-50"].remark
    assert replace(counted["resnet-50"], published=3.9e9).word == "reproduced"
    assert replace(counted["resnet-50"], published=3.7e9).remark == ""


def test_layers_are_table_1s(counted: dict[str, Counted]) -> None:
    """Blocks, widths and output sizes, a stage at a time."""
    for one in counted.values():
        assert [side for side, _ in one.stages.values()] == [112, 56, 28, 14, 7]
    blocks = {
        name: [int(what.split("x")[-1]) for _, what in one.stages.values() if what.startswith("[")]
        for name, one in counted.items()
    }
    assert blocks == {
        "resnet-18": [2, 2, 2, 2],
        "resnet-34": [3, 4, 6, 3],
        "resnet-50": [3, 4, 6, 3],
        "resnet-101": [3, 4, 23, 3],
        "resnet-152": [3, 8, 36, 3],
    }
    assert counted["resnet-34"].stages["conv3_x"][1] == "[3x3, 128; 3x3, 128] x4"
    assert counted["resnet-50"].stages["conv5_x"][1] == "[1x1, 512; 3x3, 512; 1x1, 2048] x3"


def test_memory_grows_with_the_batch(counted: dict[str, Counted]) -> None:
    """In proportion but for what normalizations keep a channel, and with depth."""
    for one in counted.values():
        assert one.activation_bytes[256] / 256 == pytest.approx(one.activation_bytes[1], rel=0.01)
    sizes = [one.activation_bytes[32] for one in counted.values()]
    assert sizes == sorted(sizes)


def test_a_depth_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the CPU nobody looks for the largest batch."""
    monkeypatch.setattr(costs, "ROWS", costs.ROWS[:1])
    monkeypatch.setattr(costs, "SECONDS", {"cpu": 0.0})
    (one,) = measure_depths(device="cpu")
    assert (one.network, one.precision, one.batch) == ("resnet-18", "fp32", 1)
    assert one.peak_memory_bytes is one.largest_batch is one.iteration_seconds is None
    assert one.forward_seconds > 0
    assert one.step_seconds > 0


def test_how_long_it_takes_is_reckoned_by_multiply_adds(
    counted: dict[str, Counted], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five seconds a network, and more where two measurements take more: ResNet-152 has 6.29 times ResNet-18's."""
    monkeypatch.setattr(costs, "measure_time", lambda *_, **__: Timing(forward_seconds=0.5, step_seconds=1.5))
    chosen = [counted["resnet-18"], counted["resnet-152"]]
    assert estimate_measuring(chosen, device="cpu") == pytest.approx(5 + 2 * 2 * 6.286, abs=0.01)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_memory_and_the_largest_batch_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where more would fit than is tried, the most that is tried; half the bytes a number take less memory."""
    monkeypatch.setattr(costs, "ROWS", costs.ROWS[:1])
    monkeypatch.setattr(costs, "MOST", 64)
    full, narrow = measure_depths(device="cuda")
    assert (full.precision, narrow.precision) == ("fp32", "bf16")
    assert full.batch == narrow.batch == 32
    assert full.largest_batch == narrow.largest_batch == 64
    assert full.peak_memory_bytes is not None
    assert narrow.peak_memory_bytes is not None
    assert narrow.peak_memory_bytes < full.peak_memory_bytes
    assert 0 < (narrow.iteration_seconds or 0) < (full.iteration_seconds or 0)


def test_where_the_search_ended_more_may_fit() -> None:
    """And elsewhere not."""
    assert [write_largest(batch) for batch in (None, 512, costs.MOST)] == ["", "512", "≥ 4,096"]
