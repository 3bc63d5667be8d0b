"""Specs that describe no network are refused in one sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reslab.errors import UserError
from reslab.spec import StageSpec, StemSpec, cifar, dense

IMPOSSIBLE: list[tuple[dict[str, Any], str]] = [
    ({"shortcut": "none", "order": "bn-after-addition"}, "needs an addition"),
    ({"shortcut": "none", "stochastic_depth": 0.5}, "leaves no other path"),
    ({"shortcut": "none", "zero_gamma": True}, "output zero"),
    ({"norm": "none", "zero_gamma": True}, "zero_gamma needs a trained normalization"),
    ({"order": "pre", "zero_gamma": True}, "zero_gamma needs a trained normalization"),
    ({"order": "bn-after-addition", "norm": "none"}, "contradict each other"),
    ({"maxout": 1}, "which is linear"),
    ({"maxout": 2, "order": "pre"}, "in pieces"),
    ({"dimensions": 0}, "set every stride to 1"),
    ({"stages": (StageSpec(blocks=1, width=8),)}, "cannot reduce 16 channels to 8 at conv2_1"),
    ({"stages": ()}, "at least one stage"),
    ({"stages": (StageSpec(blocks=0, width=16),)}, "stages.0.blocks is 0"),
    ({"classes": 0}, "classes is 0; it must be at least 1"),
    ({"classes": 10**30}, "at most 10,000,000"),
    ({"stages": (StageSpec(blocks=30_000, width=16),)}, "at most 20,000 can be built"),
    ({"stem": StemSpec(kernel=4, width=16)}, "stem.kernel is 4; it must be odd"),
    ({"order": "relu-before-addition", "zero_gamma": True}, "has none; use"),
    ({"norm": "frozen", "zero_gamma": True}, "has none; use"),
    ({"dropout": 1.0}, "dropout is 1.0; it is a probability"),
    ({"squeeze_excitation": -1}, "squeeze_excitation is -1"),
    ({"shortcut": "D"}, "shortcut is 'D'; choose none, A, B, C or gated"),
    ({"dimensions": 4}, "dimensions is 4; choose 0, 1, 2 or 3"),
    ({"norm": "layer"}, "norm is 'layer'; choose batch, none, group or frozen"),
]


@pytest.mark.parametrize(("change", "sentence"), IMPOSSIBLE)
def test_impossible_combinations_are_refused(change: dict[str, Any], sentence: str) -> None:
    """Each contradiction names itself and a way out."""
    with pytest.raises(UserError) as caught:
        replace(cifar(20), **change)
    assert sentence in str(caught.value)


def test_a_dense_stack_is_possible() -> None:
    """Zero dimensions are fine where nothing strides."""
    assert dense(4).dimensions == 0
