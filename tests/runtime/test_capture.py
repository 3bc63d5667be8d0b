"""A recording does what was recorded, whatever other threads do on their own streams meanwhile."""

from __future__ import annotations

import threading

import pytest
import torch

from reslab.runtime.capture import alone, capture

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
CUDA = torch.device("cuda")


def test_a_replay_does_the_work_again() -> None:
    """On the memory it was recorded with; rehearsals count, the recording itself does not run."""
    total = torch.zeros(3, device=CUDA)
    replay = capture(lambda: total.add_(1), device=CUDA, rehearsals=2)
    assert total.tolist() == [2, 2, 2]
    replay()
    replay()
    assert total.tolist() == [4, 4, 4]


def test_what_is_drawn_hangs_on_the_seed_at_replay() -> None:
    """Replayed and run as it stands, from the same seed; torch's own generator stays where it was."""
    generator = torch.Generator(CUDA)
    drawn = torch.empty(1000, device=CUDA)
    before = torch.cuda.get_rng_state()

    def draw() -> None:
        drawn.bernoulli_(0.5, generator=generator).add_(torch.empty_like(drawn).bernoulli_(0.3, generator=generator))

    replay = capture(draw, device=CUDA, generator=generator)
    seen = []
    for run, seed in ((replay, 1), (replay, 2), (replay, 1), (draw, 1)):
        generator.manual_seed(seed)
        run()
        seen.append(drawn.clone())
    assert torch.equal(seen[0], seen[2])
    assert torch.equal(seen[0], seen[3])
    assert not torch.equal(seen[0], seen[1])
    assert torch.equal(torch.cuda.get_rng_state(), before)


def test_others_go_on_while_one_records() -> None:
    """Threads that record, allocate, copy and wait, all at once: each gets its own sums."""
    outcomes: dict[int, list[float]] = {}
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            with torch.cuda.stream(torch.cuda.Stream(CUDA)):
                total = torch.zeros((), device=CUDA)
                for round in range(10):
                    replay = capture(lambda: total.add_(torch.full((1000,), number, device=CUDA).sum()), device=CUDA)
                    total.zero_()
                    for _ in range(100):
                        replay()
                    eager = torch.arange(1000 * (round + 1)).to(CUDA).sum().item()
                    assert eager == sum(range(1000 * (round + 1)))
                outcomes[number] = [total.item()]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert outcomes == {number: [100 * 1000 * number] for number in range(1, 5)}


def test_nobody_replays_while_one_is_alone() -> None:
    """A replay asked for meanwhile comes afterwards."""
    total = torch.zeros((), device=CUDA)
    replay = capture(lambda: total.add_(1), device=CUDA, rehearsals=0)
    thread = threading.Thread(target=replay)
    with alone():
        thread.start()
        thread.join(timeout=0.2)
        assert thread.is_alive()
    thread.join()
    assert total.item() == 1
