"""Networks with weights meet images, or are told why not."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tests.counting import count_weights
from tests.photographs import make_photos
from tests.trials import DIGITS, make_digits_trial, make_photo_trial

from reslab.data.arrays.split import ArraySplit
from reslab.data.photos.editions import Edition
from reslab.data.photos.folder import read_folder
from reslab.errors import UserError
from reslab.experiments.run import run_trial
from reslab.experiments.trained import Trained, choose_inputs, load_file, load_run
from reslab.networks import create_model, foreign_state_dict, load_model, save_model
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener
from reslab.runtime.sealed import write_tensors
from reslab.spec import Preprocess
from reslab.spec.preprocess import TORCHVISION
from reslab.spec.trial import DataSpec

MOMENT = {"iterations": 4, "batch": 16, "evaluate_every": 4}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A finished run on the tuning split."""
    return run_trial(make_digits_trial(split="tuning", **MOMENT), DIGITS, tmp_path_factory.mktemp("runs"))


def untrained(preprocess: Preprocess | None = None, name: str = "cifar-resnet-8", **fields: object) -> Trained:
    """A network for the digits, with whatever weights."""
    network = create_model(name, **({"channels": 1, "input_size": 8} | fields))  # pyright: ignore[reportArgumentType]
    network.preprocess = preprocess
    return Trained(origin="x.pth", network=network.eval())


def test_a_run_is_tested_on_what_it_held_back(run: RunDirectory) -> None:
    """The tuning split's last tenth, unless the test set is asked for; both are named."""
    trained = load_run(run)
    held, full = choose_inputs(trained, DIGITS), choose_inputs(trained, DIGITS, split="full")
    assert (len(held), held.split, held.own) == (len(DIGITS.train) // 10, "tuning", True)
    assert np.array_equal(held.images.images, DIGITS.train.images[-len(held) :])
    assert (len(full), full.split, full.own) == (len(DIGITS.test), "full", False)
    assert not choose_inputs(trained, DIGITS, preprocess={"std": "[2]"}).own


def test_a_runs_file_knows_its_data(run: RunDirectory) -> None:
    """The weight file alone says what it was trained on; one of someone else's may say anything there."""
    assert load_file(run.weights).data == run.trial().data
    path = save_model(create_model("cifar-resnet-8"), run.path / "other.safetensors", provenance={"data": "my own"})
    assert load_file(path).data is None


@pytest.mark.parametrize("name", [None, "cifar-resnet-8"])
def test_a_weight_file_is_read_once(name: str | None, run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one digest is taken of it, with a name as without."""
    read, hashed = count_weights(monkeypatch)
    load_file(run.weights, name=name)
    assert (len(read), len(hashed)) == (1, 1)


def test_every_image_comes_once_and_in_order(run: RunDirectory) -> None:
    """Whatever the batch size."""
    trained = load_run(run)
    inputs = choose_inputs(trained, DIGITS, split="full")
    once = torch.cat([images for images, _ in inputs.batches(500)])
    assert torch.equal(once, torch.cat([images for images, _ in inputs.batches(7)]))
    assert trained.network.mean_image is not None
    assert torch.equal(once, torch.from_numpy(DIGITS.test.images) / 16 - trained.network.mean_image)
    labels = torch.cat([labels for _, labels in inputs.batches(100)])
    assert labels.tolist() == DIGITS.test.targets.tolist()


def test_what_was_trained_on_is_at_hand(tmp_path: Path) -> None:
    """Without what the tuning split, or the validation, held back."""
    trial = make_digits_trial(split="tuning", **MOMENT)
    subject = choose_inputs(load_run(run_trial(trial, DIGITS, tmp_path)), DIGITS)
    assert (subject.count("train"), subject.trial, subject.step) == (1298, trial, None)
    trial = replace(trial, data=replace(trial.data, split="full", validation=0.25))
    subject = choose_inputs(load_run(run_trial(trial, DIGITS, tmp_path)), DIGITS)
    assert subject.count("train") == 1442 - round(0.25 * 1442)


def test_a_snapshot_is_a_run_at_a_step(tmp_path: Path) -> None:
    """Its weights are those after the step, also of a run that is not finished; a step without one is told."""
    run = run_trial(make_digits_trial(**MOMENT), DIGITS, tmp_path, snapshots=frozenset({2, 4}))
    early, late = (load_run(run, step=step) for step in (2, 4))
    assert (early.origin, early.step) == (f"{run.path.name}@2", 2)
    whole = load_run(run).network.state_dict()
    same = [
        all(torch.equal(tensor, whole[name]) for name, tensor in one.network.state_dict().items())
        for one in (early, late)
    ]
    assert same == [False, True]
    subject = choose_inputs(early, DIGITS)
    assert (subject.own, subject.step, subject.snapshots) == (True, 2, {2: run.snapshot(2), 4: run.snapshot(4)})
    with pytest.raises(UserError, match="has no snapshot of step 3; it has those of steps 2, 4"):
        load_run(run, step=3)
    (run.path / "result.json").unlink()
    assert load_run(run, step=4).step == 4
    shutil.rmtree(run.path / "snapshots")
    with pytest.raises(UserError, match="has no snapshot of step 4; it has none; train it with --snapshots"):
        load_run(run, step=4)


def test_an_unfinished_run_has_no_weights(tmp_path: Path) -> None:
    """It is told so; nor has a finished one whose record alone was kept."""
    run = RunDirectory.of(make_digits_trial(**MOMENT), tmp_path)
    run.begin(make_digits_trial(**MOMENT), {})
    with pytest.raises(UserError, match="is not finished"):
        load_run(run)
    run.finish({"step": 1})
    with pytest.raises(UserError, match="is a record without weights; train it again, or give weights=FILE"):
        load_run(run)


def test_another_runs_weights_are_refused(run: RunDirectory, tmp_path: Path) -> None:
    """Of another network, seed or library; without a word on their run those of the network are taken."""
    here = RunDirectory(shutil.copytree(run.path, tmp_path / run.path.name))
    twin = load_model(run.weights)
    save_model(twin, here.weights)
    assert load_run(here).network.spec == run.trial().network
    plain, padded = (
        create_model(name, channels=1, input_size=8, **fields)
        for name, fields in (("cifar-plain-8", {}), ("cifar-resnet-8", {"zero_padding": "both"}))
    )
    others = {
        replace(run.trial(), seed=1).id: lambda id: save_model(twin, here.weights, provenance={"trial": id}),
        "cifar-plain-8 channels=1 input_size=8": lambda _: save_model(plain, here.weights),
        "an unknown network": lambda _: write_tensors(here.weights, foreign_state_dict(padded, "akamaster"), {}),
    }
    for owner, write in others.items():
        write(owner)
        with pytest.raises(UserError, match=f"holds the weights of {owner}, but the run is {run.path.name}; restore"):
            load_run(here)


def test_other_data_under_the_old_name_is_refused(run: RunDirectory) -> None:
    """By its fingerprint."""
    changed = DIGITS.train.images.copy()
    changed[0, 0, 0, 0] += 1
    other = replace(DIGITS, train=ArraySplit(changed, DIGITS.train.targets))
    with pytest.raises(UserError, match=r"digits is not the data that .* was trained on"):
        choose_inputs(load_run(run), other)


def test_a_fresh_classifier_is_not_tested(run: RunDirectory) -> None:
    """Another number of classes means random guesses."""
    with pytest.raises(UserError, match="trained for 10 classes, so the classifier would be random with classes=3"):
        load_file(run.weights, name="cifar-resnet-8", overrides={"classes": "3"})


@pytest.mark.parametrize(
    ("fields", "options", "sentence"),
    [
        ({"classes": 7}, {}, "has 7 outputs, but digits has 10 classes"),
        ({"channels": 3}, {}, "takes inputs of 3 x 8 x 8, but digits has images of 1 channel;"),
        ({"dimensions": 1}, {}, "takes inputs of 1 x 8, but digits"),
        ({"preprocess": None}, {}, r"give the mean and standard deviation of each channel"),
        ({}, {"preprocess": {"means": "[1]"}}, "there is no field 'preprocess.means'; did you mean 'preprocess.mean'"),
        ({}, {"preprocess": {"std": "[0]"}}, r"^preprocess\.std is \(0.0,\); every value"),
        ({}, {"preprocess": {"per_pixel_mean": "true"}}, "have no mean image"),
        ({"preprocess": TORCHVISION}, {}, "mean has 3 values, but the images have 1 channels"),
        ({"name": "lenet-5", "input_size": 32}, {}, "images of 1x8x8 do not pass through lenet-5"),
    ],
)
def test_what_does_not_fit_is_one_sentence(
    fields: dict[str, object], options: dict[str, object], sentence: str
) -> None:
    """Before any work is done."""
    trained = untrained(**({"preprocess": Preprocess()} | fields))  # pyright: ignore[reportArgumentType]
    with pytest.raises(UserError, match=sentence):
        choose_inputs(trained, DIGITS, **options)  # pyright: ignore[reportArgumentType]


def test_other_classes_are_refused() -> None:
    """As many, but others, or in another order."""
    trained = untrained()
    trained.network.class_names = tuple("1023456789")
    with pytest.raises(UserError, match="'1' where digits has '0'"):
        choose_inputs(trained, DIGITS)


def test_unknown_preprocessing_can_be_told() -> None:
    """What is not said is neither subtracted nor divided."""
    inputs = choose_inputs(untrained(), DIGITS, preprocess={"pixel_range": "0-255"})
    pixels = next(inputs.batches(500))[0]
    assert torch.allclose(pixels, torch.from_numpy(DIGITS.test.images).float() * 255 / 16)


def test_small_images_are_resized_for_large_networks() -> None:
    """As the preprocessing asks."""
    inputs = choose_inputs(untrained(Preprocess(resize=36, crop=32), name="lenet-5", input_size=32), DIGITS)
    assert next(inputs.batches(500, images=3))[0].shape == (3, 1, 32, 32)


def test_the_authors_mean_image_goes_with_their_order_and_range() -> None:
    """Weights that subtract a mean image from 0 to 255, blue first, are tested so; told otherwise, it is refused."""
    trained = untrained(Preprocess(channel_order="BGR", pixel_range="0-255", per_pixel_mean=True))
    trained.network.mean_image = torch.full((1, 8, 8), 100.0)
    pixels = next(choose_inputs(trained, DIGITS).batches(500))[0]
    assert torch.allclose(pixels, torch.from_numpy(DIGITS.test.images).float() * 255 / 16 - 100)
    with pytest.raises(UserError, match=r"preprocess\.pixel_range contradicts the mean image"):
        choose_inputs(trained, DIGITS, preprocess={"pixel_range": "0-1"})


def test_photographs_need_a_crop_and_have_no_tuning_split(tmp_path: Path) -> None:
    """Each is told with its remedy. A folder that changed since is tested if its test images were not drawn from it."""
    for number in range(8):
        folder = tmp_path / "photos" / f"class{number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (9, 9 + number)).save(folder / f"{number}.png")
    photos = read_folder(tmp_path / "photos")
    crop = Preprocess(resize=9, crop=8)
    trained = untrained(crop, channels=3, classes=2)
    assert next(choose_inputs(trained, photos).batches(500))[0].shape == (len(photos.test), 3, 8, 8)
    with pytest.raises(UserError, match=r"x\.pth does not say how large its crops are; give preprocess"):
        choose_inputs(untrained(Preprocess(), channels=3, classes=2), photos)
    with pytest.raises(UserError, match=r"data\.split=tuning is only for named datasets"):
        choose_inputs(trained, photos, split="tuning")
    with pytest.raises(UserError, match=r"takes inputs of 1 x 8 x 8, but photos has images of 3 channels"):
        choose_inputs(untrained(crop, classes=2), photos)
    changed = replace(trained, data=DataSpec(name="photos", fingerprint="0" * 64, held_out_seed=4))
    with pytest.raises(UserError, match=r"restore the folder \(data\.held_out_seed=4 selects its test images\)"):
        choose_inputs(changed, photos)
    warned: list[str] = []
    subject = choose_inputs(changed, replace(photos, held_out=False), listener=Listener(warn=warned.append))
    assert len(subject) == len(photos.test)
    assert warned == ["photos is not the data that x.pth was trained on; testing on the current test images of photos"]


def test_a_folder_named_like_a_dataset_is_not_to_be_fetched() -> None:
    """It is to be given by its path."""
    data = DataSpec(name="digits", fingerprint="0" * 64)
    trained = replace(untrained(Preprocess(resize=9, crop=8)), data=data)
    with pytest.raises(UserError, match=r"it was trained on a folder of photographs; write data=\./digits or the path"):
        choose_inputs(trained, DIGITS)
    with pytest.raises(UserError, match="fetch the dataset again"):
        choose_inputs(replace(untrained(Preprocess()), data=data), DIGITS)


def test_what_another_version_read_otherwise_is_told(tmp_path: Path) -> None:
    """The folder is what it was; networks of before are tested by themselves, as they held out other images."""
    flat = make_photos(tmp_path / "photos", train=20) / "train"
    then = read_folder(flat, edition=Edition.FIRST)
    run = run_trial(make_photo_trial(then, recipe__iterations="1"), then, tmp_path / "runs")
    with pytest.raises(UserError, match=r"an earlier version of reslab read this folder differently; test networks"):
        choose_inputs(load_run(run), read_folder(flat))


def test_classes_in_another_order_are_told(tmp_path: Path) -> None:
    """They are not others."""
    network = create_model("cifar-resnet-8", num_classes=2, input_size=24)
    network.preprocess, network.class_names = Preprocess(resize=27, crop=24), ("greens", "blues")
    trained = load_file(save_model(network, tmp_path / "w.safetensors"))
    with pytest.raises(UserError, match=r"for the same classes in another order: it has 'greens' where"):
        choose_inputs(trained, read_folder(make_photos(tmp_path / "photos")))


def test_damaged_weights_of_a_run_come_back_by_its_command(tmp_path: Path) -> None:
    """Nobody can fetch one's own run."""
    run = run_trial(make_digits_trial(iterations=1), DIGITS, tmp_path)
    run.weights.write_bytes(run.weights.read_bytes()[:-100])
    with pytest.raises(UserError, match=rf"restores its weights: `reslab runs show {run.path.name}`"):
        load_run(run)
