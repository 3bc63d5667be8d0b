"""Inference gives the network's own outputs, or in bfloat16 what agrees with them; captured or not."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from reslab.networks import Network, create_model, inference
from reslab.networks.folding import FoldedLayer
from reslab.networks.inference import Inference, Served, serve
from reslab.runtime.execution import EAGER

PRECISIONS: tuple[Served, ...] = ("fp32", "bf16")


def make_inference(network: Network, precision: Served = "bf16", *, device: str = "cpu") -> Inference:
    served = serve(network, precision, device=device)
    return Inference(served, precision=precision, execution=EAGER, device=device)


def test_in_float32_the_network_itself_is_served() -> None:
    """In bfloat16 a folded copy, and the network stays what it is."""
    network = create_model("cifar-resnet-8").eval()
    assert serve(network, "fp32", device="cpu") is network
    narrow = serve(network, "bf16", device="cpu")
    assert {parameter.dtype for parameter in narrow.parameters()} == {torch.bfloat16}
    assert any(isinstance(module, FoldedLayer) for module in narrow.modules())
    assert {parameter.dtype for parameter in network.parameters()} == {torch.float32}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_logits_agree_on_the_cpu(precision: Served) -> None:
    """To the bit, or to bfloat16's digits, as float32; nothing is recorded there."""
    torch.manual_seed(0)
    network = create_model("cifar-resnet-8").eval()
    images = torch.randn(3, 3, 32, 32)
    fast = make_inference(network, precision)
    with torch.no_grad():
        wanted = network(images)
    for _ in range(2):
        found = fast(images)
        assert found.dtype == torch.float32
        assert not found.requires_grad
        assert (found - wanted).norm() < 0.05 * wanted.norm()
        assert precision == "bf16" or torch.equal(found, wanted)
    assert not fast.recordings


@pytest.mark.parametrize("precision", PRECISIONS)
def test_threads_get_their_own_logits(precision: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although a recording has one place for images; one made in inference mode is written to outside of it."""

    def capture(work: Callable[[], None], *, device: torch.device) -> Callable[[], None]:
        work()

        def replay() -> None:
            time.sleep(0.02)
            (recording,) = fast.recordings.values()
            recording.outputs.copy_(fast.run(recording.images))

        return replay

    monkeypatch.setattr(inference, "capture", capture)
    fast = make_inference(create_model("cifar-resnet-8").eval(), precision)
    wanted = {value: fast(torch.full((1, 3, 32, 32), value)) for value in (0.0, 1.0, 2.0)}
    fast.capture_at = 2
    with torch.inference_mode():
        assert not [fast(torch.zeros(1, 3, 32, 32)) for _ in range(2)][-1].is_inference()
    assert len(fast.recordings) == 1
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda value: fast(torch.full((1, 3, 32, 32), value)), wanted))
    for ours, theirs in zip(found, wanted.values(), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_no_more_graphs_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes that come later run as they are."""

    def capture(work: Callable[[], None], *, device: torch.device) -> Callable[[], None]:
        work()
        return work

    monkeypatch.setattr(inference, "capture", capture)
    monkeypatch.setattr(inference, "MOST_GRAPHS", 2)
    fast = make_inference(create_model("cifar-resnet-8").eval())
    fast.capture_at = 2
    for count in (1, 2, 3):
        for _ in range(2):
            assert fast(torch.zeros(count, 3, 32, 32)).shape == (count, 10)
    assert [shape[0] for shape in fast.recordings] == [1, 2]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_shape_that_returns_is_recorded(precision: Served) -> None:
    """From its second time on the same logits come from a graph, for whatever images are given."""
    torch.manual_seed(0)
    network = create_model("resnet-18").cuda().eval()
    first, second = torch.randn(2, 4, 3, 64, 64, device="cuda")
    fast = make_inference(network, precision, device="cuda")
    wanted = [fast.run(images.to(fast.dtype)).float() for images in (first, second)]
    found = [fast(images) for images in (first, second, first)]
    assert list(fast.recordings) == [first.shape]
    for ours, theirs in zip(found, (*wanted, wanted[0]), strict=True):
        assert (ours - theirs).norm() < 0.05 * theirs.norm()
