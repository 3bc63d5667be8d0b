"""Optimizers and warm-ups as a recipe asks for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from reslab.errors import UserError
from reslab.spec.codec import decode, encode
from reslab.spec.optimization import OptimizerSpec
from reslab.spec.recipe import RECIPES, find_recipe


def test_another_optimizer_brings_its_usual_rate_and_decay(tmp_path: Path) -> None:
    """SGD's would be a hundred times too large for AdamW; what is given stays, and so does what both heed."""
    chosen = find_recipe("photos", {"optimizer.kind": "adamw"})
    assert (chosen.optimizer.learning_rate, chosen.optimizer.weight_decay) == (1e-3, 0.01)
    assert chosen.optimizer.decay == "weights"
    given = find_recipe("photos", {"optimizer.kind": "AdamW", "optimizer.learning_rate": 0.01}).optimizer
    assert (given.kind, given.learning_rate, given.weight_decay) == ("adamw", 0.01, 0.01)
    assert find_recipe("photos", {"optimizer.kind": "sgd"}) == RECIPES["photos"]
    file = tmp_path / "mine.toml"
    file.write_text('base = "photos"\n[optimizer]\nkind = "adamw"\n')
    assert find_recipe(str(file)) == chosen
    assert OptimizerSpec(kind="adamw").learning_rate == 1e-3
    assert decode(OptimizerSpec, {"kind": "adamw", "learning_rate": 0.1}).learning_rate == 0.1


@pytest.mark.parametrize(
    "whole",
    [
        {"kind": "adamw", "learning_rate": 0.01, "weight_decay": 0.3},
        '{"kind": "adamw", "learning_rate": 0.01, "weight_decay": 0.3}',
        OptimizerSpec(kind="adamw", learning_rate=0.01, weight_decay=0.3),
    ],
    ids=["table", "JSON", "spec"],
)
def test_what_is_given_as_a_whole_stays(whole: object) -> None:
    """A rate in it is not replaced by the usual one."""
    optimizer = find_recipe("photos", {"optimizer": whole}).optimizer
    assert (optimizer.learning_rate, optimizer.weight_decay) == (0.01, 0.3)


@pytest.mark.parametrize(
    ("kind", "left_out"),
    [("sgd", {}), ("adamw", {"kind": "adamw", "learning_rate": 0.001, "weight_decay": 0.01})],
)
def test_ids_leave_out_what_sgd_has_by_default(kind: Literal["sgd", "adamw"], left_out: dict[str, Any]) -> None:
    """As they did before there was another optimizer."""
    assert encode(OptimizerSpec(kind=kind), sparse=True) == left_out


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"optimizer.betas": "[0.9,0.99]"}, r"betas has no effect with recipe\.optimizer\.kind=sgd"),
        ({"optimizer.kind": "adamw", "optimizer.momentum": "0.8"}, r"write recipe\.optimizer\.kind=sgd"),
        ({"optimizer": "adamw"}, r"recipe\.optimizer is 'adamw'; write recipe\.optimizer\.kind=adamw"),
        ({"optimizer.kind": "adam"}, r"recipe\.optimizer\.kind is 'adam'; choose sgd or adamw"),
        ({"optimizer.kind": "adamw", "optimizer.betas": "[0.9]"}, r"betas is \[0\.9\]; give two numbers"),
        ({"warmup.initial": "0.1"}, r"warmup\.initial has no effect without recipe\.warmup\.iterations"),
        (
            {"warmup.iterations": 9, "warmup.window": 9},
            r"warmup\.window has no effect together with recipe\.warmup\.iterations",
        ),
        ({"warmup.iterations": 9, "warmup.initial": 2}, r"recipe\.warmup\.initial is 2; it is a fraction"),
        (
            {"optimizer": {"kind": "adamw", "momentum": 0.8}},
            r"momentum has no effect with recipe\.optimizer\.kind=adamw",
        ),
        ({"warmup.iterations": -1}, r"recipe\.warmup\.iterations is -1; it must be at least 0"),
    ],
)
def test_what_an_optimizer_or_warm_up_does_not_heed_is_refused(changes: dict[str, Any], sentence: str) -> None:
    """In a sentence that names it."""
    with pytest.raises(UserError, match=sentence):
        find_recipe("cifar-paper", changes)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[optimizer]\nkind = "adamw"\nmomentum = 0.5\n', r"my\.toml: recipe\.optimizer\.momentum has no effect"),
        ("[warmup]\niterations = 10\nlearning_rate = 0.3\n", r"recipe\.warmup\.learning_rate has no effect"),
    ],
)
def test_a_file_is_told_too(text: str, sentence: str, tmp_path: Path) -> None:
    """What it has would be part of a run's id, and do nothing."""
    file = tmp_path / "my.toml"
    file.write_text(text)
    with pytest.raises(UserError, match=sentence):
        find_recipe(str(file))
