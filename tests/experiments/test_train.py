"""Training from Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.photographs import make_photos

import reslab


def test_a_folder_becomes_a_classifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """README's lines; what is finished is not trained again."""
    monkeypatch.delenv("RESLAB_WORKERS")  # by a process that decodes, as users do
    photos = make_photos(tmp_path / "photos")
    steps: list[int] = []
    fields = {"recipe.epochs": 10, "recipe.batch": 8, "network.input_size": 24, "recipe.precision": "fp32"}
    options = {"runs": tmp_path / "runs", "fields": fields, "progress": lambda step, metrics: steps.append(step)}
    run = reslab.train(photos, "cifar-resnet-8", **options)
    assert steps == list(range(1, 21))
    assert run.result()["error_percent"] == 0
    network = reslab.load_model(run.weights)
    photo = photos / "val" / "blues" / "000.jpg"
    for prediction in reslab.Predictor(network).predict([photo]):
        assert prediction.guesses[0].name == "blues"
    reslab.train(photos, "cifar-resnet-8", **options)
    assert len(steps) == 20


def test_runs_lie_where_the_command_line_puts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In RESLAB_RUNS, unless a folder is given; in runs without either."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RESLAB_RUNS", str(tmp_path / "here"))
    fields = {"recipe.iterations": 1, "recipe.batch": 8}
    assert reslab.train("digits", "cifar-resnet-8", fields=fields).path.parent == tmp_path / "here"
    assert reslab.train("digits", "cifar-resnet-8", fields=fields, runs="there").path.parent == Path("there")
    monkeypatch.delenv("RESLAB_RUNS")
    assert reslab.train("digits", "cifar-resnet-8", fields=fields).path.parent == Path("runs")


def test_mistakes_are_told_as_on_the_command_line(tmp_path: Path) -> None:
    """In one sentence."""
    with pytest.raises(reslab.UserError, match="'nothing' is no dataset and no folder of photographs"):
        reslab.train("nothing", "resnet-20", runs=tmp_path)
    with pytest.raises(reslab.UserError, match="train knows no field 'epochs'"):
        reslab.train("digits", "resnet-20", runs=tmp_path, fields={"epochs": 3})
    with pytest.raises(reslab.UserError, match=r"data\.held_out_seed is 'x'"):
        reslab.train("digits", "resnet-20", runs=tmp_path, fields={"data.held_out_seed": "x"})
