"""Recipes, the paper's to the letter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reslab.errors import UserError
from reslab.spec.augmentation import AugmentationSpec
from reslab.spec.codec import encode
from reslab.spec.optimization import OptimizerSpec, ScheduleSpec, WarmupSpec
from reslab.spec.recipe import RECIPES, Recipe, find_epochs, find_recipe
from reslab.spec.toml import write_toml


def test_the_papers_recipe() -> None:
    """Section 4.2: SGD 0.1, momentum 0.9, decay 1e-4, batch 128, 64k iterations, pad 4, flips, no dropout."""
    recipe = find_recipe("cifar-paper")
    assert (recipe.iterations, recipe.batch, recipe.schedule.drops) == (64_000, 128, (0.5, 0.75))
    optimizer = recipe.optimizer
    assert (optimizer.learning_rate, optimizer.momentum, optimizer.weight_decay) == (0.1, 0.9, 1e-4)
    assert (recipe.augmentation.padding, recipe.augmentation.flip, recipe.warmup) == (4, True, None)
    assert recipe.precision == "fp32"


@pytest.mark.parametrize(
    ("name", "field", "kind"),
    [("cifar-paper", "final", "one-cycle"), ("fast", "drops", "steps"), ("imagenet-paper", "rise", "one-cycle")],
)
def test_what_a_schedule_does_not_heed_is_refused(name: str, field: str, kind: str) -> None:
    """It would be recorded and not be done; another kind may be asked for all the same."""
    value = "[0.5]" if field == "drops" else "0.5"
    with pytest.raises(
        UserError, match=rf"schedule\.{field} has no effect with .* write recipe\.schedule\.kind={kind}"
    ):
        find_recipe(name, {f"schedule.{field}": value})
    assert find_recipe(name, {"schedule.kind": kind, f"schedule.{field}": value}).schedule.kind == kind


def test_110_layers_warm_up() -> None:
    """0.01 until the training error is below 80 %: over an epoch, so for the paper's "about 400 iterations"."""
    warmup = find_recipe("cifar-paper-110").warmup
    assert warmup is not None
    assert (warmup.learning_rate, warmup.until_error_percent, warmup.window) == (0.01, 80.0, 391)


def test_a_part_that_is_not_there_begins_with_its_usual_fields() -> None:
    """The paper's recipe has no warm-up, and gets one by any of its fields, as in a file."""
    assert find_recipe("cifar-paper", {"warmup.window": 391}) == find_recipe("cifar-paper-110")
    assert find_recipe("cifar-paper", {"warmup.iterations": "400"}).warmup == WarmupSpec(iterations=400)


def test_highways_have_their_authors_recipe() -> None:
    """Nesterov's momentum 0.9, 0.025 divided by ten at 100k, 150k and 175k of 200k iterations of 100, decay 0.001.

    Biases at twice the rate do not decay, and the classifier does ten times as much.
    """
    recipe = find_recipe("highway")
    optimizer = recipe.optimizer
    assert (optimizer.learning_rate, optimizer.momentum, optimizer.nesterov) == (0.025, 0.9, True)
    assert (optimizer.weight_decay, recipe.batch, recipe.warmup) == (1e-3, 100, None)
    assert (optimizer.bias_rate, optimizer.decay, optimizer.head_decay) == (2.0, "weights", 10.0)
    assert [drop * recipe.iterations for drop in recipe.schedule.drops] == [100_000, 150_000, 175_000]


@pytest.mark.parametrize(
    ("name", "iterations", "drop"), [("voc-paper", 70_000, 50_000), ("coco-paper", 490_000, 350_000)]
)
def test_detectors_have_the_recipe_of_faster_rcnn(name: str, iterations: int, drop: int) -> None:
    """Two images, 0.001 divided by ten once, decay 0.0005, of biases too, which learn twice as fast."""
    recipe = find_recipe(name)
    optimizer = recipe.optimizer
    assert (recipe.iterations, recipe.batch, recipe.schedule.factor) == (iterations, 2, 0.1)
    assert [round(place * iterations) for place in recipe.schedule.drops] == [drop]
    assert (optimizer.learning_rate, optimizer.momentum, optimizer.weight_decay) == (1e-3, 0.9, 5e-4)
    assert (optimizer.bias_rate, optimizer.decay, optimizer.head_decay) == (2.0, "all", 1.0)


def test_detectors_have_a_usual_recipe() -> None:
    """As Detectron2 trains them once through COCO's usual schedule: 60k, 20k and 10k of 90k, warmed up linearly."""
    recipe = find_recipe("detection")
    assert recipe.warmup is not None and not recipe.warmup.is_by_error
    assert (recipe.iterations, recipe.batch) == (90_000, 16)
    assert [round(drop * recipe.iterations) for drop in recipe.schedule.drops] == [60_000, 80_000]
    assert (recipe.optimizer.learning_rate, recipe.optimizer.weight_decay) == (0.02, 1e-4)
    assert [round(800 * scale) for scale in recipe.augmentation.scales] == [640, 672, 704, 736, 768, 800]
    assert (find_epochs("detection"), find_epochs("voc-paper"), find_epochs(recipe)) == (12, None, None)


@pytest.mark.parametrize(
    ("name", "batch", "first", "then"),
    [
        ("voc-paper", 2, 50_000, 20_000),
        ("voc-proposals", 1, 60_000, 20_000),
        ("voc-regions", 2, 30_000, 30_000),
        ("coco-proposals", 8, 240_000, 80_000),
        ("coco-regions", 16, 240_000, 80_000),
    ],
)
def test_detectors_train_as_long_as_their_authors(name: str, batch: int, first: int, then: int) -> None:
    """At a rate of 0.001, and then at a tenth of it."""
    recipe = find_recipe(name)
    assert (recipe.batch, recipe.iterations) == (batch, first + then)
    assert recipe.optimizer.learning_rate == 0.001
    assert [drop * recipe.iterations for drop in recipe.schedule.drops] == pytest.approx([first])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"iterations": 0}, "recipe.iterations is 0"),
        ({"iterations": 10**23}, "recipe.iterations is 1000+; it must be at most 1,000,000,000"),
        ({"batch": 10**8}, "recipe.batch is 100000000; it must be at most 10,000,000"),
        ({"batch": "x"}, "recipe.batch is 'x'; give a whole number"),
        ({"window": 3}, "there is no field 'recipe.window'; did you mean 'recipe.warmup.window'?"),
        (
            {"learning_rate": 3},
            "did you mean 'recipe.optimizer.learning_rate' or 'recipe.warmup.learning_rate'?",
        ),
        ({"bach": 3}, "there is no field 'recipe.bach'; did you mean 'recipe.batch'"),
        ({"optimizer.learning_rate": "x"}, "recipe.optimizer.learning_rate is 'x'; give a number"),
        ({"optimizer.learning_rate": -1}, "recipe.optimizer.learning_rate is -1; it must be above 0"),
        ({"accumulate": 3}, "must divide the batch of 128"),
        ({"schedule.drops": "[32000]"}, "fractions of the run"),
        ({"label_smoothing": 1.0}, "recipe.label_smoothing is 1.0"),
        ({"resizing.initial": 0}, "recipe.resizing.initial is 0; give a fraction of the side"),
        ({"resizing.stages": 1}, "recipe.resizing.stages is 1; it must be at least 2"),
        ({"lr": 0.1}, "there is no field 'recipe.lr'"),
        ({"schedule.kind": "steep"}, "choose steps, cosine, constant or one-cycle"),
        (
            {"augmentation.flip": False, "augmentation.alternating_flips": True},
            "set recipe.augmentation.flip=true",
        ),
        ({"augmentation.scales": "[0.5,1.5]"}, r"scales is \[0.5, 1.5\]; give fractions of task.shorter up to 1"),
        ({"augmentation.edges": "mirror"}, "choose zero or reflect"),
        ({"class_weights": "equal"}, "choose none or balanced"),
        ({"sampling": "balanced", "class_weights": "balanced"}, "favour rare classes twice; choose one of them"),
    ],
)
def test_mistakes_are_named(changes: dict[str, object], sentence: str) -> None:
    """The field, its value and the remedy."""
    with pytest.raises(UserError, match=sentence):
        find_recipe("cifar-paper", changes)


@pytest.mark.parametrize(
    ("make", "fields", "sentence"),
    [
        (
            ScheduleSpec,
            {"kind": "cosin"},
            "recipe.schedule.kind is 'cosin'; choose steps, cosine, constant or one-cycle",
        ),
        (ScheduleSpec, {"fall": "line"}, "recipe.schedule.fall is 'line'; choose linear or cosine"),
        (OptimizerSpec, {"decay": None}, "recipe.optimizer.decay is None; choose all or weights"),
        (AugmentationSpec, {"policy": "auto"}, "recipe.augmentation.policy is 'auto'; choose none, trivial or rand"),
        (Recipe, {"precision": "fp64"}, "recipe.precision is 'fp64'; choose fp32, bf16 or fp16"),
        (Recipe, {"centring": "mean"}, "recipe.centring is 'mean'; choose mean-image or imagenet"),
    ],
)
def test_mistakes_in_python_are_named_too(make: Callable[..., object], fields: dict[str, Any], sentence: str) -> None:
    """Else the schedule would be constant, the precision fp32."""
    with pytest.raises(UserError) as caught:
        make(**fields)
    assert str(caught.value) == sentence


def test_unknown_recipes_are_told() -> None:
    """With the nearest one."""
    with pytest.raises(UserError, match="did you mean 'cifar-paper'"):
        find_recipe("cifar-papr")


def write(folder: Path, text: str) -> str:
    path = folder / "my.toml"
    path.write_text(text)
    return str(path)


def test_a_file_gives_fields_over_its_base(tmp_path: Path) -> None:
    """Nested ones one by one; what it leaves out is the base's, or the paper's; overrides come last."""
    text = 'base = "cifar-paper-110"\nbatch = 64\n[optimizer]\nlearning_rate = 0.05\n[warmup]\nwindow = 7\n'
    recipe = find_recipe(write(tmp_path, text), {"batch": "32"})
    assert (recipe.batch, recipe.iterations) == (32, 64_000)
    assert (recipe.optimizer.learning_rate, recipe.optimizer.momentum) == (0.05, 0.9)
    assert recipe.warmup is not None
    assert (recipe.warmup.window, recipe.warmup.learning_rate) == (7, 0.01)
    assert find_recipe(write(tmp_path, "")) == find_recipe("cifar-paper")
    assert find_recipe(write(tmp_path, 'base = "cifar-paper-110"\nwarmup = "none"\n')) == find_recipe("cifar-paper")
    warmed = find_recipe(write(tmp_path, "[warmup]\nwindow = 7\n"))
    assert warmed.warmup is not None
    assert warmed.warmup.window == 7


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_can_be_a_file(name: str, tmp_path: Path) -> None:
    """Written and read back, it is the same."""
    assert find_recipe(write(tmp_path, write_toml(encode(RECIPES[name])))) == RECIPES[name]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("iteratons = 5\n", r"my.toml: there is no field 'iteratons'; did you mean 'iterations'"),
        (
            "[optimizer]\nlearning_rat = 5\n",
            r"'optimizer.learning_rat'; did you mean 'optimizer.learning_rate'",
        ),
        ("optimizer = 5\n", "give its fields"),
        ("batch = 2.5\n", "give a whole number"),
        ("batch = 2024-01-01\n", "give a whole number"),
        ("batch = 0\n", "my.toml: batch is 0"),
        ("[optimizer]\nlearning_rate = -1\n", "my.toml: optimizer.learning_rate is -1"),
        ("accumulate = 3\n", "my.toml: accumulate is 3"),
        ('base = "cifar-papr"\n', "my.toml: base is 'cifar-papr'; choose cifar-paper"),
        ("base = 3\n", "my.toml: base is 3; choose cifar-paper"),
        ("[recipe]\nbatch = 3\n", "a whole trial, not a recipe; train it with"),
    ],
)
def test_mistakes_in_files_are_named(text: str, sentence: str, tmp_path: Path) -> None:
    """The file, the field, its value and the remedy."""
    with pytest.raises(UserError, match=sentence):
        find_recipe(write(tmp_path, text))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("optimizer.learning_rate", -1),
        ("optimizer.momentum", 5),
        ("optimizer.stage_decay", 0),
        ("optimizer.bias_rate", 0),
        ("optimizer.head_decay", -1),
        ("optimizer.stage_decay", 1.5),
        ("optimizer.weight_decay", -1),
        ("optimizer.clip_norm", -1),
        ("schedule.factor", -2),
        ("schedule.drops", "[1.5]"),
        ("schedule.rise", 1),
        ("schedule.final", -0.1),
        ("average_from", 1),
        ("warmup", {"window": 0}),
        ("augmentation.padding", -1),
        ("augmentation.cutout", -1),
        ("batch", 0),
    ],
)
def test_nonsense_is_refused_by_name(field: str, value: object) -> None:
    """One sentence with the field and what it must be."""
    with pytest.raises(UserError, match=rf"recipe\.{field}.* is "):
        find_recipe("cifar-paper", {field: value})
