"""Training from Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.photographs import make_photos

import reslab
from reslab import UserError
from reslab.spec.recipe import find_recipe


def test_a_folder_becomes_a_classifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """README's lines; what is finished is not trained again."""
    monkeypatch.delenv("RESLAB_WORKERS")  # by a process that decodes, as users do
    photos = make_photos(tmp_path / "photos")
    steps: list[int] = []
    fields = {"recipe.epochs": 10, "recipe.batch": 8, "network.input_size": 24, "recipe.precision": "fp32"}
    options = {"runs": tmp_path / "runs", "fields": fields, "progress": lambda step, metrics: steps.append(step)}
    before = torch.get_rng_state()
    run = reslab.train(photos, "cifar-resnet-8", **options)
    assert steps == list(range(1, 21))
    assert torch.equal(torch.get_rng_state(), before)  # a notebook draws on as if nothing had been trained
    assert run.result()["error_percent"] == 0
    network = reslab.load_model(run.weights)
    photo = photos / "val" / "blues" / "000.jpg"
    for prediction in reslab.Predictor(network).predict([photo]):
        assert prediction.guesses[0].name == "blues"
    reslab.train(photos, "cifar-resnet-8", **options)
    assert len(steps) == 20


def test_evaluations_are_lines_unless_that_is_not_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, where it disturbs no output."""
    fields = {"recipe.iterations": 4, "recipe.evaluate_every": 2, "recipe.batch": 8}
    reslab.train("digits", "cifar-resnet-8", fields=fields, runs=tmp_path)
    out, err = capsys.readouterr()
    assert [line.partition(":")[0] for line in err.splitlines()] == ["step 2 of 4", "step 4 of 4"]
    assert not out
    reslab.train("digits", "cifar-resnet-8", fields=fields, runs=tmp_path, seed=1, progress=False)
    assert capsys.readouterr().err == ""


def test_the_network_may_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which one it is, that of the weights here, is said with the lines and recorded."""
    weights = reslab.save_model(reslab.create_model("cifar-resnet-8", in_chans=1), tmp_path / "mine.safetensors")
    fields = {"recipe.iterations": 1, "recipe.batch": 4}
    run = reslab.train("digits", weights=weights, fields=fields, runs=tmp_path / "runs")
    assert run.path.name.startswith("cifar-resnet-8-digits-")
    said, *lines = capsys.readouterr().err.splitlines()
    assert said == f"no network= given: training cifar-resnet-8 on 8 x 8 pixels, the network of weights={weights}"
    assert len(lines) == 1


def test_runs_lie_where_the_command_line_puts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In RESLAB_RUNS, unless a folder is given; in runs without either."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RESLAB_RUNS", str(tmp_path / "here"))
    fields = {"recipe.iterations": 1, "recipe.batch": 8}
    assert reslab.train("digits", "cifar-resnet-8", fields=fields).path.parent == tmp_path / "here"
    assert reslab.train("digits", "cifar-resnet-8", fields=fields, runs="there").path.parent == Path("there")
    monkeypatch.delenv("RESLAB_RUNS")
    assert reslab.train("digits", "cifar-resnet-8", fields=fields).path.parent == Path("runs")


def test_values_are_taken_as_they_are(tmp_path: Path) -> None:
    """A tuple is as good as the command line's list, None as its none; a recipe is a name or a file."""
    values = {"recipe.iterations": 1, "recipe.schedule.drops": (0.25, 0.5), "recipe.warmup": None}
    texts = {"recipe.iterations": "1", "recipe.schedule.drops": "[0.25,0.5]", "recipe.warmup": "none"}
    small = {"recipe.batch": 8, "recipe.precision": "fp32"}
    runs = [
        reslab.train("digits", "cifar-resnet-8", recipe="cifar-paper", runs=tmp_path, fields=fields | small)
        for fields in (values, texts)
    ]
    assert runs[0] == runs[1]
    assert runs[0].trial().recipe.schedule.drops == (0.25, 0.5)
    assert runs[0].trial().recipe.optimizer == find_recipe("cifar-paper").optimizer != find_recipe("digits").optimizer
    (tmp_path / "mine.toml").write_text('base = "digits"\niterations = 1\nbatch = 8\n')
    run = reslab.train("digits", "cifar-resnet-8", recipe=tmp_path / "mine.toml", runs=tmp_path)
    assert run.trial().recipe == find_recipe("digits", {"iterations": 1, "batch": 8, "evaluate_every": 1})


def test_specs_and_recipes_are_taken_as_they_are(tmp_path: Path) -> None:
    """A network nobody named, by a recipe nobody named; the data decides the classes, and weights must fit."""
    stages = (reslab.StageSpec(width=4, blocks=1), reslab.StageSpec(width=8, blocks=1, stride=2))
    spec = reslab.NetworkSpec(stem=reslab.StemSpec(width=4, kernel=3), stages=stages, classes=1000)
    recipe = reslab.Recipe(iterations=2, batch=8, evaluate_every=1)
    run = reslab.train("digits", spec, recipe=recipe, runs=tmp_path, device="cpu", fields={"recipe.batch": 16})
    assert run.trial().recipe == replace(recipe, batch=16)
    assert run.trial().network == replace(spec, classes=10, channels=1, input_size=8)
    again = reslab.train("digits", spec, recipe=recipe, weights=run.weights, runs=tmp_path)
    assert again.trial().start is not None
    with pytest.raises(UserError, match="does not fit the network"):
        reslab.train("digits", replace(spec, stages=stages[:1]), recipe=recipe, weights=run.weights, runs=tmp_path)


def test_what_the_command_line_warns_of_is_warned_of(tmp_path: Path) -> None:
    """As Python does, or to whoever is given; nothing is skipped in silence."""
    photos = make_photos(tmp_path / "photos", train=2, val=1)
    bad = next((photos / "train").rglob("*.jpg"))
    bad.write_bytes(bytes(bad.stat().st_size))
    fields = {"recipe.iterations": 2, "recipe.batch": 4, "network.input_size": 24, "data.on_bad_image": "skip"}
    fields |= {"recipe.precision": "fp32", "recipe.exact_norms": False}
    with pytest.warns(UserWarning, match=bad.name):
        reslab.train(photos, "cifar-resnet-8", runs=tmp_path / "runs", fields=fields)
    told: list[str] = []
    reslab.train(photos, "cifar-resnet-8", runs=tmp_path / "others", fields=fields, warn=told.append)
    assert any(bad.name in sentence for sentence in told)


@pytest.mark.parametrize("name", ["data", "network", "weights", "recipe", "seed"])
def test_arguments_are_no_fields(name: str, tmp_path: Path) -> None:
    """One that was given as a field was once ignored."""
    with pytest.raises(reslab.UserError, match=f"'{name}' is an argument of train, not a field"):
        reslab.train("digits", "cifar-resnet-8", runs=tmp_path, fields={name: "cifar10"})
    assert not list(tmp_path.iterdir())


def test_mistakes_are_told_as_on_the_command_line(tmp_path: Path) -> None:
    """In one sentence."""
    with pytest.raises(reslab.UserError, match="'nothing' is neither a dataset nor a folder of photographs"):
        reslab.train("nothing", "resnet-20", runs=tmp_path)
    with pytest.raises(reslab.UserError, match="a trial has no field 'epochs'"):
        reslab.train("digits", "resnet-20", runs=tmp_path, fields={"epochs": 3})
    with pytest.raises(reslab.UserError, match=r"data\.held_out_seed is 'x'"):
        reslab.train("digits", "resnet-20", runs=tmp_path, fields={"data.held_out_seed": "x"})


def test_weights_are_kept_along_the_way(tmp_path: Path) -> None:
    """After iterations, or parts of the run; what is neither is told before anything is trained."""
    options = {"runs": tmp_path, "fields": {"recipe.iterations": 4, "recipe.batch": 8}}
    with pytest.raises(UserError, match="snapshots are '5'; give steps from 0 to 4"):
        reslab.train("digits", "cifar-resnet-8", snapshots="5", **options)
    assert not list(tmp_path.iterdir())
    run = reslab.train("digits", "cifar-resnet-8", snapshots="0.25,0.5", **options)
    assert [run.snapshot(step).exists() for step in (1, 2, 3, 4)] == [True, True, False, False]
    assert reslab.load_model(run.snapshot(2)).class_names == tuple("0123456789")
