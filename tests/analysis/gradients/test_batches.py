"""Batches are compared with each other, and a measurement goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.analysis.nets import losses, make_batch, make_tiny
from torch import Tensor

from reslab.analysis.gradients.batches import GROUP, gather, split_evenly
from reslab.analysis.gradients.passes import Pass, run_pass
from reslab.analysis.layers import list_layers
from reslab.analysis.workbench import Workbench
from reslab.runtime.execution import EAGER

NETWORK = make_tiny()
LAYERS = list_layers(NETWORK)
RUN = partial(run_pass, NETWORK, LAYERS, losses=losses, execution=EAGER)


def make_batches(count: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Some batches, the same each time."""
    return (make_batch(4, seed=seed) for seed in range(count))


def test_cosines_are_those_of_the_gradients() -> None:
    """Of each layer's, and of all parameters in one vector, by torch."""
    found = gather(make_batches(3), RUN, count=3, workbench=Workbench())
    passes = [RUN(batch) for batch in make_batches(3)]
    (table,) = found.cosines
    assert table.shape == (len(LAYERS) + 1, 3, 3)
    for place in range(len(LAYERS) + 1):
        vectors = [torch.cat(one.gradients) if place == len(LAYERS) else one.gradients[place] for one in passes]
        expected = [[torch.cosine_similarity(a, b, 0).item() for a in vectors] for b in vectors]
        assert np.allclose(table[place], expected, atol=1e-12)
        assert np.allclose(found.norms[:, place], [vector.norm() for vector in vectors])
    assert np.array_equal(found.forward, torch.stack([one.forward for one in passes]))
    assert np.array_equal(found.backward, torch.stack([one.backward for one in passes]))


@pytest.mark.parametrize("count", [1, GROUP, GROUP + 1, 5 * GROUP + 3])
def test_groups_are_even(count: int) -> None:
    """As few as there can be, alike give or take one."""
    groups = split_evenly(count)
    assert sum(groups) == count
    assert max(groups) <= GROUP
    assert max(groups) - min(groups) <= 1


def test_a_stopped_measurement_goes_on(tmp_path: Path) -> None:
    """After the groups it had kept, to the same numbers."""
    whole = gather(make_batches(GROUP + 2), RUN, count=GROUP + 2, workbench=Workbench())
    bench, ran = Workbench(place=tmp_path / "gradients"), 0

    def run(batch: tuple[Tensor, Tensor], *, most: int) -> Pass:
        nonlocal ran
        ran += 1
        if ran > most:
            raise KeyboardInterrupt
        return RUN(batch)

    with pytest.raises(KeyboardInterrupt):
        gather(make_batches(GROUP + 2), partial(run, most=6), count=GROUP + 2, workbench=bench)
    ran = 0
    found = gather(make_batches(GROUP + 2), partial(run, most=5), count=GROUP + 2, workbench=bench)
    assert ran == 5
    for name in ("forward", "backward", "norms"):
        assert np.array_equal(getattr(found, name), getattr(whole, name))
    assert all(np.array_equal(*pair) for pair in zip(found.cosines, whole.cosines, strict=True))
