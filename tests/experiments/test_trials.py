"""Trials from files, with fields overridden."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from tests.objects import make_scenes, write_coco
from tests.photographs import make_photos
from tests.trials import DIGITS, PHOTO_FIELDS

from reslab.data.objects.dataset import read_objects
from reslab.data.photos import reader
from reslab.data.photos.editions import Edition
from reslab.data.photos.folder import PhotoDataset, read_folder
from reslab.errors import UserError
from reslab.experiments.trials import go_on_with_earlier, read_trial, read_trial_file, tell_of_network
from reslab.networks import build, create_model, save_model
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener
from reslab.spec import NetworkSpec, cifar
from reslab.spec.codec import encode
from reslab.spec.recipe import RECIPES
from reslab.spec.toml import write_toml
from reslab.spec.trial import DataSpec, Trial, trial_to_dict

TRIAL = read_trial({"network": "cifar-resnet-8", "recipe.batch": "16", "seed": "7"}, DIGITS)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "trial.toml"
    path.write_text(write_toml(trial_to_dict(TRIAL)))
    return path


@pytest.mark.parametrize("name", ["cifar-resnet-8", "lenet-5", "highway-19", "googlenet"])
def test_a_trial_is_the_same_from_its_file(name: str, tmp_path: Path) -> None:
    """Of any kind of network."""
    size = {"network.input_size": "224"} if name in ("lenet-5", "googlenet") else {}
    trial = read_trial({"network": name, **size}, DIGITS)
    path = tmp_path / "trial.toml"
    path.write_text(write_toml(trial_to_dict(trial)))
    assert read_trial_file(path, {}) == trial


def test_photographs_have_a_default_network(tmp_path: Path) -> None:
    """At its usual size; the same trial as by its name, and a sentence says so. Small arrays have none."""
    photos = read_folder(make_photos(tmp_path / "photos"))
    trial = read_trial({}, photos)
    assert trial == read_trial({"network": "resnet-18"}, photos)
    said = "no network= given: training resnet-18 on 224 x 224 pixels, the default"
    assert tell_of_network({}, trial, weights=None) == said
    assert tell_of_network({"network": "resnet-18"}, trial, weights=None) == ""
    with pytest.raises(UserError, match="train needs a network: write network=resnet-20"):
        read_trial({}, DIGITS)


def test_a_detector_by_default_is_told_of_with_its_whole_images(tmp_path: Path) -> None:
    """They are not cropped to what the network takes."""
    data = read_objects(write_coco(tmp_path / "coco", train=make_scenes("a", 3), val=make_scenes("b", 2)))
    said = tell_of_network({}, read_trial({"task.shorter": "300"}, data), weights=None)
    assert said == "no network= given: training resnet-50 on whole images of up to 300 x 1000 pixels, the default"


def test_weights_say_which_network_is_trained(tmp_path: Path) -> None:
    """The one they are of, whatever its name, at its size; a set of several does not."""
    photos = read_folder(make_photos(tmp_path / "photos"))
    spec = cifar(8, shortcut="B")
    spec = replace(spec, stages=(replace(spec.stages[0], width=24), *spec.stages[1:]), input_size=24)
    file = save_model(build(spec), tmp_path / "mine.safetensors")
    trial = read_trial({}, photos, weights=file)
    assert trial.network == replace(spec, classes=2)
    assert trial.start is not None
    assert f"on 24 x 24 pixels, the network of weights={file}" in tell_of_network({}, trial, weights=file)
    with pytest.raises(UserError, match=r"network\.shortcut=C contradicts .*mine.safetensors"):
        read_trial({"network.shortcut": "C"}, photos, weights=file)
    with pytest.raises(UserError, match=r"also give the name of the network: plain-20, .* or resnet-56"):
        read_trial({}, photos, weights="cifar10")


def test_weights_that_know_photographs_bring_the_recipe_for_fine_tuning(tmp_path: Path) -> None:
    """Unless a recipe is named; weights of small images do not, and a dataset of small images keeps its own."""
    photos = read_folder(make_photos(tmp_path / "photos"))
    specs = (replace(cifar(8), input_size=side) for side in (64, 32))
    large, small = (save_model(build(spec), tmp_path / f"{spec.input_size}.safetensors") for spec in specs)
    assert read_trial({}, photos, weights=large).recipe == RECIPES["finetune"]
    assert read_trial({"recipe": "photos"}, photos, weights=large).recipe == RECIPES["photos"]
    assert read_trial({}, photos, weights=small).recipe == read_trial({}, photos).recipe == RECIPES["photos"]
    digits = save_model(build(replace(cifar(8), channels=1, input_size=8)), tmp_path / "digits.safetensors")
    assert read_trial({}, DIGITS, weights=digits).recipe == RECIPES["digits"]


def test_epochs_count_by_batch_and_split() -> None:
    """Of the images trained on, whatever the batch."""
    fields = {"network": "cifar-resnet-8", "recipe.epochs": "2"}
    count = len(DIGITS.train)
    assert read_trial(fields | {"recipe.batch": "32"}, DIGITS).recipe.iterations == round(2 * count / 32)
    tuning = read_trial(fields | {"data.split": "tuning"}, DIGITS)
    assert tuning.recipe.iterations == round(2 * (count - count // 10) / 64)
    with pytest.raises(UserError, match=r"there is no field 'recipe\.epoch'; did you mean 'recipe\.epochs'"):
        read_trial({"network": "cifar-resnet-8", "recipe.epoch": "2"}, DIGITS)
    with pytest.raises(UserError, match=r"recipe\.epochs is 'two'; give a number"):
        read_trial(fields | {"recipe.epochs": "two"}, DIGITS)
    with pytest.raises(UserError, match=r"recipe\.epochs and recipe\.iterations both set the length"):
        read_trial(fields | {"recipe.iterations": "100"}, DIGITS)


def test_some_recipes_are_as_long_as_epochs_of_the_data(tmp_path: Path) -> None:
    """Twelve for detectors, unless a length is given, by a command or a file."""
    data = read_objects(write_coco(tmp_path / "coco", train=make_scenes("a", 40), val=make_scenes("b", 2)))
    recipe = read_trial({"recipe": "detection", "recipe.batch": "4"}, data).recipe
    assert (recipe.iterations, recipe.evaluate_every) == (12 * 40 // 4, 12)
    assert read_trial({"recipe": "detection", "recipe.epochs": "1"}, data).recipe.iterations == 2
    assert read_trial({"recipe": "detection", "recipe.iterations": "7"}, data).recipe.iterations == 7
    file = tmp_path / "mine.toml"
    for text, iterations in (("batch = 8", 60), ("iterations = 9", 9)):
        file.write_text(f'base = "detection"\n{text}\n')
        assert read_trial({"recipe": str(file)}, data).recipe.iterations == iterations
    assert read_trial({"recipe": RECIPES["detection"]}, data).recipe == RECIPES["detection"]
    with pytest.raises(UserError, match=r"augmentation\.scales is .* only for images with boxes"):
        DIGITS.refuse_trial(read_trial({"network": "cifar-resnet-8", "recipe": "detection"}, DIGITS))


@pytest.mark.parametrize(
    ("fields", "every"),
    [
        ({"recipe.iterations": "60"}, 6),
        ({"recipe.epochs": "1"}, 2),  # 23 iterations
        ({"recipe.iterations": "3"}, 1),
        ({"recipe.iterations": "6400"}, 640),
        ({"recipe": "photos", "recipe.iterations": "4000"}, 400),
        ({"recipe": "cifar-paper", "recipe.iterations": "400"}, 40),
        ({"recipe": "cifar-paper", "recipe.iterations": "100000"}, 1_000),  # whose curves are the paper's
        ({"recipe": "cifar-paper", "recipe.iterations": "64000"}, 1_000),
        ({"recipe.iterations": "640", "recipe.batch": "32"}, 40),  # as long as the preset
        ({"recipe.iterations": "60", "recipe.evaluate_every": "40"}, 40),
        ({"recipe": replace(RECIPES["digits"], iterations=50)}, 40),  # nobody gave a length here
    ],
)
def test_a_length_of_ones_own_is_evaluated_about_ten_times(fields: dict[str, object], every: int) -> None:
    """By default, whatever the preset's interval is made for."""
    assert read_trial({"network": "cifar-resnet-8", **fields}, DIGITS).recipe.evaluate_every == every


def test_an_interval_of_ones_own_stays(tmp_path: Path) -> None:
    """Whether a file or a recipe in Python has it, and whatever length fields give."""
    written = tmp_path / "mine.toml"
    written.write_text('base = "digits"\nevaluate_every = 64\n')
    for recipe, every in ((str(written), 64), (replace(RECIPES["digits"], evaluate_every=7), 7), ("digits", 128)):
        fields = {"network": "cifar-resnet-8", "recipe": recipe, "recipe.iterations": "1280"}
        assert read_trial(fields, DIGITS).recipe.evaluate_every == every


def test_the_best_weights_are_kept_by_the_headline_unless_another_score_is_named(tmp_path: Path) -> None:
    """By images that the training goes without, which a seed of their own draws."""
    written = tmp_path / "mine.toml"
    written.write_text('base = "digits"\nkeep_best = true\n')
    fields = {"network": "cifar-resnet-8", "recipe.keep_best": "true", "data.validation": "0.2", "recipe.epochs": "2"}
    trial = read_trial(fields | {"data.held_out_seed": "3"}, DIGITS)
    assert (trial.recipe.keep_best, trial.data.held_out_seed) == ("error_percent", 3)
    assert trial.recipe.iterations == round(2 * 0.8 * len(DIGITS.train) / 64)
    assert read_trial(fields | {"recipe.keep_best": "loss"}, DIGITS).recipe.keep_best == "loss"
    for recipe in (str(written), replace(RECIPES["digits"], keep_best=True)):
        by_file = read_trial({"network": "cifar-resnet-8", "data.validation": "0.2", "recipe": recipe}, DIGITS)
        assert by_file.recipe.keep_best == "error_percent"
    with pytest.raises(UserError, match=r"recipe\.stop_after is 2, .* add recipe\.keep_best=true"):
        read_trial({"network": "cifar-resnet-8", "recipe.stop_after": "2"}, DIGITS)


@pytest.mark.parametrize("epochs", ["0", "-1", r"1e\+300"])
def test_no_epochs_are_refused(epochs: str) -> None:
    """They are no iterations, and not one either; a part of an epoch is one. Nor is more than anyone can wait for."""
    with pytest.raises(UserError, match=f"recipe.epochs is {epochs}; it must be above 0 and at most 1,000,000"):
        read_trial({"network": "cifar-resnet-8", "recipe.epochs": epochs.replace("\\", "")}, DIGITS)
    assert read_trial({"network": "cifar-resnet-8", "recipe.epochs": "1e-9"}, DIGITS).recipe.iterations == 1


def test_fields_are_overridden(file: Path) -> None:
    """Seed and dotted fields; the rest stays."""
    changed = read_trial_file(file, {"seed": "2", "recipe.optimizer.momentum": "0.8", "network.shortcut": "B"})
    assert isinstance(changed, Trial)
    assert (changed.seed, changed.recipe.optimizer.momentum, changed.recipe.batch) == (2, 0.8, 16)
    assert changed.id != TRIAL.id


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"network": "resnet-20"}, "already has its network; change it with network.FIELD"),
        ({"recipe.lr": "1"}, "there is no field 'recipe.lr'"),
        ({"recipe.batch": "x"}, "recipe.batch is 'x'; give"),
        ({"network.dropout": "x"}, "network.dropout is 'x'; give"),
        ({"network.dropout": "2"}, "network.dropout is 2.0; it is a probability"),
        ({"data.splt": "full"}, "there is no field 'data.splt'; did you mean 'data.split'"),
        ({"netwrok": "resnet-20"}, "a trial has no field 'netwrok'; did you mean 'network'"),
        ({"lr": "1"}, "a trial has no field 'lr'; write recipe.optimizer.learning_rate="),
        ({"epochs": "3"}, "a trial has no field 'epochs'; write recipe.epochs="),
        ({"colour": "red"}, "a trial has no field 'colour'; it has data, network, recipe, seed"),
        ({"seed": "-1"}, "seed is -1; it must be from 0"),
        ({"seed": "x"}, "seed is 'x'; give a whole number"),
    ],
)
def test_wrong_fields_are_named(fields: dict[str, str], sentence: str, file: Path) -> None:
    """With the remedy."""
    with pytest.raises(UserError, match=sentence):
        read_trial_file(file, fields)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ('task = "classification"\n', "", r"trial\.toml: the trial lacks task"),
        ("seed = 7\n", "", r"trial\.toml: the trial lacks seed"),
        ('task = "classification"\n', 'task = "segmentation"\n', "choose classification, multi-label or detection"),
        ("seed = 7\n", "sed = 7\n", "a trial has no 'sed'; did you mean 'seed'"),
        ("seed = 7\n", "seed = 7.5\n", "seed is 7.5; give a whole number"),
        ('kind = "residual"\n', "", r"trial\.toml: network\.kind is None; choose residual"),
        ("batch = 16\n", "bach = 16\n", "there is no field 'recipe.bach'; did you mean 'recipe.batch'"),
        ("batch = 16\n", "batch = 0\n", r"trial\.toml: recipe\.batch is 0"),
        ("classes = 10\n", "classes = 0\n", r"trial\.toml: network\.classes is 0"),
        ('split = "full"\n', 'split = "half"\n', "data.split is 'half'; choose full or tuning"),
    ],
)
def test_wrong_files_are_named(before: str, after: str, sentence: str, file: Path) -> None:
    """The file, the field, its value and the remedy."""
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    with pytest.raises(UserError, match=sentence):
        read_trial_file(file, {})


def test_what_is_no_trial_is_told(file: Path) -> None:
    """An empty file, with how to come by a trial; one that is no TOML, its name once."""
    file.write_text("")
    with pytest.raises(UserError, match=r"trial\.toml: this is not a trial, which has task, .*--dry-run` prints one"):
        read_trial_file(file, {})
    file.write_text("network = [")
    with pytest.raises(UserError, match=r"^[^ ]*trial\.toml is not TOML"):
        read_trial_file(file, {})


@pytest.mark.parametrize("network", ["cifar-resnet-8", cifar(8)])
@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("network.dropout", "x", "network.dropout is 'x'; give a number"),
        ("network.dropout", "2", "network.dropout is 2.0; it is a probability"),
        ("network.dropuot", "2", "there is no field 'network.dropuot'; did you mean 'network.dropout'?"),
        ("network.block", "x", "network.block is 'x'; choose single"),
        ("data.splt", "full", "there is no field 'data.splt'; did you mean 'data.split'?"),
        ("recipe.optimizer.learning_rate", "x", "recipe.optimizer.learning_rate is 'x'; give a number"),
        ("recipe.optimizer.learning_rate", "-1", "recipe.optimizer.learning_rate is -1; it must be above 0"),
    ],
)
def test_the_whole_name_is_told(network: str | NetworkSpec, field: str, value: str, sentence: str) -> None:
    """As it was written: whatever is wrong with a field, and whoever finds out."""
    with pytest.raises(UserError) as caught:
        read_trial({"network": network, field: value}, DIGITS)
    assert str(caught.value).startswith(sentence)


def test_a_network_must_be_a_table(file: Path) -> None:
    """A name alone is no spec."""
    file.write_text(write_toml(trial_to_dict(TRIAL) | {"network": "resnet-20"}))
    with pytest.raises(UserError, match="network is 'resnet-20'; give a table of fields"):
        read_trial_file(file, {})


def test_fields_without_effect_are_refused(tmp_path: Path) -> None:
    """They would give the same run another id: no files to be bad, nothing to hold out."""
    with pytest.raises(UserError, match=r"data\.on_bad_image is only for folders of photographs"):
        read_trial({"network": "cifar-resnet-8", "data.on_bad_image": "skip"}, DIGITS)
    photos = read_folder(make_photos(tmp_path / "photos", train=2, val=2))
    with pytest.raises(UserError, match=r"photos has its own test images.* leave out data\.held_out_seed"):
        read_trial({"network": "cifar-resnet-8", "data.held_out_seed": "3"}, photos)


def test_photographs_are_trained_as_such_whatever_their_folder_is_called(tmp_path: Path) -> None:
    """A folder named cifar10 has photographs, and gets their recipe."""
    photos = read_folder(make_photos(tmp_path / "cifar10", train=2, val=2))
    assert read_trial({"network": "cifar-resnet-8"}, photos).recipe == RECIPES["photos"]


def make_trials(seeds: int) -> Callable[[PhotoDataset], list[Trial]]:
    fields = {"network": "cifar-resnet-8", "recipe.epochs": "3", "recipe.batch": "2"}
    return lambda data: [replace(read_trial(fields, data), seed=seed) for seed in range(seeds)]


@pytest.mark.parametrize("seeds", [1, 3])
def test_runs_that_an_earlier_version_began_go_on(seeds: int, tmp_path: Path) -> None:
    """With the images that held out, as many to an epoch; without such runs, as folders are read now."""
    flat, make = make_photos(tmp_path / "photos", train=20) / "train", make_trials(seeds)
    now, then = read_folder(flat), read_folder(flat, edition=Edition.FIRST)
    assert len(now.train) != len(then.train)
    assert go_on_with_earlier(make, now, tmp_path, listener=Listener(warn=pytest.fail)) == (make(now), now)
    RunDirectory.of(make(then)[-1], tmp_path).path.mkdir()
    found, data = go_on_with_earlier(make, now, tmp_path, listener=Listener(warn=pytest.fail))
    assert (found, data.test.files) == (make(then), then.test.files)
    RunDirectory.of(make(now)[0], tmp_path).path.mkdir()
    assert go_on_with_earlier(make, now, tmp_path, listener=Listener(warn=pytest.fail)) == (make(now), now)


def test_what_an_earlier_version_could_not_tell_is_said(tmp_path: Path) -> None:
    """Images without compression, which it knew by their sizes."""
    for split in ("train", "val"):
        for name in ("ant", "bee"):
            (tmp_path / "photos" / split / name).mkdir(parents=True)
            Image.new("RGB", (4, 4)).save(tmp_path / "photos" / split / name / "1.bmp")
    now, said = read_folder(tmp_path / "photos"), []
    before = read_folder(tmp_path / "photos", edition=Edition.FIRST)
    RunDirectory.of(make_trials(1)(before)[0], tmp_path).path.mkdir()
    (found,), _ = go_on_with_earlier(make_trials(1), now, tmp_path, listener=Listener(warn=said.append))
    assert found.data.fingerprint == before.fingerprint
    assert re.search(r"identified uncompressed images by size only; if images of photos have changed, remove", said[0])


def test_what_is_read_alike_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a val, classes by name and compressed images; data by name, too."""
    monkeypatch.setattr(reader, "read_edition", lambda *words, **more: pytest.fail("read again"))
    photos = read_folder(make_photos(tmp_path / "photos"))
    for data in (photos, DIGITS):
        go_on_with_earlier(make_trials(1), data, tmp_path, listener=Listener(warn=pytest.fail))


def test_a_run_of_an_earlier_meaning_is_named(tmp_path: Path) -> None:
    """With the field that goes on with it."""
    fields = {"network": "cifar-resnet-8", "network.order": "pre", "network.dropout": "0.3"}
    trial, said = read_trial(fields, DIGITS), []
    before = RunDirectory.of(replace(trial, network=replace(trial.network, pre_revision=1)), tmp_path)
    before.path.mkdir()
    assert go_on_with_earlier(lambda data: [trial], DIGITS, tmp_path, listener=Listener(warn=said.append)) == (
        [trial],
        DIGITS,
    )
    assert said == [
        f"{before.path} uses an older definition of network.order=pre; add network.pre_revision=1 to resume it"
    ]


def test_weights_of_an_earlier_version_are_tested_on_what_it_held_out(tmp_path: Path) -> None:
    """On the same folder; on a folder that has changed, as folders are read now."""
    flat = make_photos(tmp_path / "photos", train=20) / "train"
    now, then = read_folder(flat), read_folder(flat, edition=Edition.FIRST)
    data = encode(DataSpec(name=then.name, fingerprint=then.fingerprint))
    weights = save_model(create_model("cifar-resnet-8"), tmp_path / "w.safetensors", provenance={"data": data})
    _, found = go_on_with_earlier(make_trials(1), now, tmp_path, weights=weights, listener=Listener(warn=pytest.fail))
    assert found.test.files == then.test.files
    for others in ("cifar10", str(save_model(create_model("cifar-resnet-8"), tmp_path / "others.safetensors"))):
        assert (
            go_on_with_earlier(make_trials(1), now, tmp_path, weights=others, listener=Listener(warn=pytest.fail))[1]
            is now
        )
    make_photos(tmp_path / "photos", train=21)
    now = read_folder(flat)
    assert (
        go_on_with_earlier(make_trials(1), now, tmp_path, weights=weights, listener=Listener(warn=pytest.fail))[1]
        is now
    )


def test_epochs_are_counted_in_images(photos: PhotoDataset) -> None:
    """Twenty-four images in batches of eight are three iterations an epoch."""
    fields = {name: value for name, value in PHOTO_FIELDS.items() if name != "recipe.iterations"}
    assert read_trial(fields | {"recipe.epochs": "5"}, photos).recipe.iterations == 15
