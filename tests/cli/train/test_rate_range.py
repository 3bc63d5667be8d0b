"""`reslab train ... --find-rate`."""

from __future__ import annotations

from pathlib import Path

import pytest

from reslab.experiments import rates


def test_it_prints_losses_and_a_rate_and_writes_its_plot(
    reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into the current folder, and no run."""
    monkeypatch.setattr(rates, "STEPS", 40)
    monkeypatch.setitem(rates.RANGES, "sgd", (1e-3, 10.0))
    monkeypatch.chdir(tmp_path)
    words = ["train", "data=digits", "network=cifar-resnet-8", "recipe.batch=64", "recipe.precision=fp32"]
    outcome = reslab(*words, "--find-rate")
    assert outcome.code == 0
    assert "suggested: recipe.optimizer.learning_rate=0." in outcome.out
    assert "(the recipe has 0.02)" in outcome.out
    assert "0.001 " in outcome.out
    (plot,) = tmp_path.iterdir()
    assert plot.name.startswith("rates-cifar-resnet-8-digits-")
    assert plot.name in outcome.out + outcome.err
    assert plot.read_text().startswith("<svg ")


def test_it_is_for_one_trial(reslab) -> None:
    """Several seeds are refused, and so are several processes."""
    for option in (["--seeds", "2"], ["--processes", "2"]):
        outcome = reslab("train", "data=digits", "network=cifar-resnet-8", "--find-rate", *option)
        assert outcome.code == 2
        assert "--find-rate is for one trial and one process" in outcome.err


def test_it_is_no_dry_run(reslab) -> None:
    """It trains, and a dry run does not: the two are refused together."""
    outcome = reslab("train", "data=digits", "network=cifar-resnet-8", "--find-rate", "--dry-run")
    assert outcome.code == 2
    assert "--find-rate trains, and --dry-run trains nothing; give one of them" in outcome.err


def test_a_closed_place_is_told_before_the_work(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a folder has the name of the plot."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rates, "sweep_rates", lambda *_, **__: pytest.fail("it trained"))
    words = ["train", "data=digits", "network=cifar-resnet-8", "recipe.precision=fp32"]
    name = reslab(*words, "--dry-run").out.split()[1]
    (tmp_path / f"rates-{name}.svg").mkdir()
    outcome = reslab(*words, "--find-rate")
    assert outcome.code == 2
    assert f"cannot write rates-{name}.svg: Is a directory" in outcome.err
