"""Fast inference agrees with the network within bfloat16."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from reslab.delivery import inference
from reslab.delivery.inference import FastInference
from reslab.networks import create_model


def test_logits_agree_on_the_cpu() -> None:
    """To bfloat16's digits, as float32; nothing is recorded there."""
    torch.manual_seed(0)
    network = create_model("cifar-resnet-8").eval()
    images = torch.randn(3, 3, 32, 32)
    fast = FastInference(network, device="cpu")
    with torch.no_grad():
        wanted = network(images)
    for _ in range(2):
        found = fast(images)
        assert found.dtype == torch.float32
        assert (found - wanted).norm() < 0.05 * wanted.norm()
    assert not fast.recordings


def test_threads_get_their_own_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although a recording has one place for images; one made in inference mode is written to outside of it."""

    def capture(work: Callable[[], None], *, device: torch.device) -> Callable[[], None]:
        work()

        def replay() -> None:
            time.sleep(0.02)
            (recording,) = fast.recordings.values()
            recording.logits.copy_(fast.network(recording.images))

        return replay

    monkeypatch.setattr(inference, "capture", capture)
    fast = FastInference(create_model("cifar-resnet-8").eval(), device="cpu")
    wanted = {value: fast(torch.full((1, 3, 32, 32), value)) for value in (0.0, 1.0, 2.0)}
    fast.captures = True
    with torch.inference_mode():
        assert not [fast(torch.zeros(1, 3, 32, 32)) for _ in range(2)][-1].is_inference()
    assert len(fast.recordings) == 1
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda value: fast(torch.full((1, 3, 32, 32), value)), wanted))
    for ours, theirs in zip(found, wanted.values(), strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_shape_that_returns_is_recorded() -> None:
    """From its second time on the same logits come from a graph, for whatever images are given."""
    torch.manual_seed(0)
    network = create_model("resnet-18").cuda().eval()
    first, second = torch.randn(2, 4, 3, 64, 64, device="cuda")
    fast = FastInference(network, device="cuda")
    wanted = [fast.network(images.bfloat16()).float() for images in (first, second)]
    found = [fast(images) for images in (first, second, first)]
    assert list(fast.recordings) == [first.shape]
    for ours, theirs in zip(found, (*wanted, wanted[0]), strict=True):
        assert (ours - theirs).norm() < 0.05 * theirs.norm()
