"""Streams of random numbers."""

from __future__ import annotations

import itertools
import threading
import time

import numpy as np
import torch

from reslab.runtime.randomness import Stream, mix_seed, numbers_for, torch_seeded


def test_numbers_are_found_by_their_place() -> None:
    """The same each time, whatever was drawn before; others for another purpose, seed, epoch or item."""
    places = [dict(zip(("seed", "epoch", "item"), place, strict=True)) for place in itertools.product((1, 2), repeat=3)]
    drawn = [tuple(numbers_for(stream, **place).integers(0, 2**63, 4)) for stream in Stream for place in places]
    assert len(set(drawn)) == len(Stream) * len(places)
    assert drawn[-1] == tuple(numbers_for(list(Stream)[-1], **places[-1]).integers(0, 2**63, 4))


def test_the_numbers_stay_what_they_were() -> None:
    """Runs of earlier versions resume: these are numpy's own for that key and counter."""
    expected = np.random.Generator(np.random.Philox(key=3, counter=[0, 5, 7, 2])).random(8)
    assert np.array_equal(numbers_for(Stream.FIRST_FLIPS, seed=3, epoch=7, item=5).random(8), expected)


def test_every_iteration_of_every_seed_has_a_seed_of_its_own() -> None:
    """That torch takes; those of runs on disks stay what they were."""
    seeds = [mix_seed(seed, step) for seed in (0, 1, 2**31 - 1) for step in (0, 1, 2**32 - 1)]
    assert len(set(seeds)) == len(seeds)
    assert max(seeds) < 2**63
    assert mix_seed(3, 7) == 3 * 2**32 + 7


def test_torchs_generator_is_lent_to_one_thread_at_a_time() -> None:
    """Each draws what torch.manual_seed gives, though others wait with seeds of their own; then it is as before."""
    before = torch.random.get_rng_state()
    drawn: dict[int, list[float]] = {}

    def draw(seed: int) -> None:
        with torch_seeded(seed):
            drawn[seed] = []
            for _ in range(4):
                drawn[seed].append(float(torch.rand(())))
                time.sleep(0.001)  # the other's turn, if it could take one

    threads = [threading.Thread(target=draw, args=(seed,)) for seed in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.equal(torch.random.get_rng_state(), before)
    for seed, numbers in drawn.items():
        assert numbers == torch.rand(4, generator=torch.Generator().manual_seed(seed)).tolist()
