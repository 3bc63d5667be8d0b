"""What the benchmarks measure is what `reslab train` trains."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from benchmarks import fast

from reslab.data.digits import load_digits
from reslab.errors import UserError
from reslab.experiments.run import run_trial

DIGITS = load_digits()
SETTING = {"network": "cifar-resnet-8", "recipe": "digits", "recipe.iterations": "24", "recipe.average_decay": "0.9"}


def test_the_timed_training_is_the_training(tmp_path: Path) -> None:
    """The same trial run and recorded ends with the same error; nothing of the warm-up is left."""
    (trial,) = fast.make_trials(SETTING, DIGITS, seeds=1)
    outcome = fast.train(trial, DIGITS, device="cpu", compile=False)
    assert outcome.error_percent == run_trial(trial, DIGITS, tmp_path).result()["error_percent"]
    assert outcome.failed_at is None
    assert 0 < outcome.train_error_percent < 100
    assert min(outcome.preparation_seconds, outcome.training_seconds, outcome.evaluation_seconds) > 0


def test_epochs_count_by_batch_and_split() -> None:
    """Of the images trained on, whatever the batch; seeds differ in nothing else."""
    one, two = fast.make_trials(SETTING | {"epochs": "2", "recipe.batch": "32"}, DIGITS, seeds=2)
    assert one.recipe.iterations == round(2 * len(DIGITS.train) / 32)
    assert (one.seed, two.seed, one.recipe) == (1, 2, two.recipe)
    (tuning,) = fast.make_trials(SETTING | {"epochs": "2", "data.split": "tuning"}, DIGITS, seeds=1)
    assert tuning.recipe.iterations == round(2 * (len(DIGITS.train) - len(DIGITS.train) // 10) / 64)
    with pytest.raises(UserError, match="epochs is 'two'; give a number"):
        fast.make_trials(SETTING | {"epochs": "two"}, DIGITS, seeds=1)
    with pytest.raises(UserError, match="set it to none"):
        fast.make_trials(SETTING | {"recipe": "cifar-paper-110"}, DIGITS, seeds=1)


def test_a_grid_is_every_combination() -> None:
    """In the order given; no grid is one setting."""
    assert list(fast.expand(["a=1,2", "b=x"])) == [{"a": "1", "b": "x"}, {"a": "2", "b": "x"}]
    assert list(fast.expand([])) == [{}]
    with pytest.raises(UserError, match="'a' is no field"):
        list(fast.expand(["a"]))


def test_a_grid_has_a_row_a_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One that is not finite says so and does not stop the others; images held back stand in for the test's."""
    grid = ["--grid", "recipe.optimizer.learning_rate=1e30,0.02"]
    fields = ["recipe.iterations=3", "recipe.batch=16", "recipe.precision=fp32", "network.norm=none"]
    arguments = [
        "--data",
        "digits",
        "--network",
        "cifar-resnet-8",
        "--seeds",
        "2",
        "--json",
        str(tmp_path / "out.json"),
    ]
    monkeypatch.setattr(sys, "argv", ["fast.py", *fields, *arguments, *grid])
    fast.main()
    lines = capsys.readouterr().out.splitlines()
    assert "digits, tuning split" in lines[0]
    assert lines[-2].startswith("1e30")
    assert "not finite at" in lines[-2]
    assert "(2)" in lines[-1]
    assert '"split": "tuning"' in (tmp_path / "out.json").read_text()


def test_a_batch_may_be_larger_than_the_data() -> None:
    """Then an epoch is less than an iteration, and the last one stands for it."""
    fields = {"recipe.iterations": "1", "recipe.batch": "1600"}
    (trial,) = fast.make_trials(SETTING | fields, DIGITS, seeds=1)
    assert fast.train(trial, DIGITS, device="cpu", compile=False).train_error_percent > 50
