"""Training on a folder of photographs: it learns, resumes exactly, and its weights carry what they need."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.counting import count_calls
from tests.photographs import make_photos
from tests.processes import run_in_processes
from tests.trials import PHOTO_FIELDS, make_photo_trial, outcome, stop_after
from torch import Tensor

from reslab.cli import main
from reslab.data.photos.folder import PhotoDataset, PhotoSplit, read_folder
from reslab.data.photos.reading import read_photos
from reslab.data.photos.sharding import write_shards
from reslab.data.photos.words import write_words
from reslab.errors import UserError
from reslab.experiments import photos as of_photos
from reslab.experiments.photos import make_photo_task
from reslab.experiments.run import run_trial
from reslab.experiments.trials import read_trial
from reslab.networks import load_model
from reslab.runs.directory import RunDirectory, list_runs
from reslab.runs.log import StepLog
from reslab.spec.trial import Trial
from reslab.training.loop import Stopped
from reslab.training.processes import ALONE, Processes


def run(trial: Trial, photos: PhotoDataset, root: Path, **options: Any) -> dict[str, Any]:
    return run_trial(trial, photos, root, **options).result()


def test_it_learns_and_its_weights_carry_what_they_need(photos: PhotoDataset, tmp_path: Path) -> None:
    """Two colours are told apart; preprocessing and classes are with the weights."""
    trial = make_photo_trial(photos, recipe__iterations="30")
    result = run(trial, photos, tmp_path / "runs")
    assert result["error_percent"] == 0
    network = load_model(list_runs(tmp_path / "runs")[0].weights)
    assert network.class_names == ("blues", "greens")
    assert network.preprocess is not None
    assert (network.preprocess.resize, network.preprocess.crop) == (27, 24)


def test_bad_test_images_are_counted(photos: PhotoDataset, tmp_path: Path) -> None:
    """The result says how many are in no error; where none can be read there is nothing to test on."""
    trial = make_photo_trial(photos, data__on_bad_image="skip", recipe__iterations="1")
    assert run(trial, photos, tmp_path / "whole")["skipped_images"] == 0
    photos.test.path(2).write_bytes(b"")
    result = run(trial, photos, tmp_path / "lacking")
    assert (result["skipped_images"], sum(map(sum, result["confusion"]))) == (1, 7)
    alone = replace(photos, test=photos.test.take(np.array([2])))
    with pytest.raises(UserError, match="none of the test images can be read"):
        run(trial, alone, tmp_path / "none")


def test_bad_training_images_are_counted_and_recorded(photos: PhotoDataset, tmp_path: Path) -> None:
    """By their paths under the folder, once, with what is wrong; also after a stop, when nobody warns of them again."""
    photos = replace(photos, train=repeat(photos.train, 10))  # many enough for a few to be bad
    trial = make_photo_trial(photos, data__on_bad_image="skip", recipe__iterations="40", recipe__evaluate_every="40")
    photos.train.path(3).write_bytes(b"")
    photos.test.path(2).write_bytes(b"")
    told: list[str] = []
    with pytest.raises(Stopped):
        run(trial, photos, tmp_path / "runs", should_stop=stop_after(30), warn=told.append)
    (found,) = list_runs(tmp_path / "runs")
    first = {"part": "train", "image": photos.train.files[3], "trouble": "is not an image that can be read; remove it"}
    assert found.read("skipped") == {"images": [first]}
    result = run(trial, photos, tmp_path / "runs", warn=told.append)
    assert (result["skipped_training_images"], result["skipped_images"]) == (1, 1)
    assert found.read("skipped")["images"] == [first, first | {"part": "test", "image": photos.test.files[2]}]
    assert [sentence.split()[0] for sentence in told] == ["skipped:"] * 2


def test_nothing_skipped_leaves_no_file(photos: PhotoDataset, tmp_path: Path) -> None:
    """And a file that was damaged is named."""
    trial = make_photo_trial(photos, data__on_bad_image="skip", recipe__iterations="1")
    assert run(trial, photos, tmp_path / "runs")["skipped_training_images"] == 0
    (found,) = list_runs(tmp_path / "runs")
    assert not (found.path / "skipped.json").exists()
    (found.path / "result.json").unlink()
    (found.path / "skipped.json").write_text('{"images": [{"part": "somewhere"}]}')
    with pytest.raises(UserError, match=r"skipped\.json is damaged .*; remove it to go on"):
        run(trial, photos, tmp_path / "runs")


def repeat(split: PhotoSplit, times: int) -> PhotoSplit:
    return PhotoSplit(split.root, split.files * times, np.tile(split.labels, times))


def train_skipping(processes: Processes, trial: Trial, photos: PhotoDataset, root: Path) -> int:
    return run_trial(trial, photos, root, processes=processes).result()["skipped_training_images"]


def test_the_first_process_records_what_others_skipped(photos: PhotoDataset, tmp_path: Path) -> None:
    """Each has met one of two bad images."""
    photos = replace(photos, train=repeat(photos.train, 20))
    trial = make_photo_trial(photos, data__on_bad_image="skip", recipe__iterations="1", recipe__evaluate_every="1")
    keys = make_photo_task(trial, photos, device="cpu").batches.sampler.draw(0, 8)
    ours, theirs = ({image % 24 for _, image in half} for half in (keys[:4], keys[4:]))
    ours, theirs = min(ours - theirs), min(theirs - ours)
    for image in (ours, theirs):
        photos.train.path(image).write_bytes(b"")
    assert run_in_processes(train_skipping, 2, trial, photos, tmp_path / "runs") == [2, 2]
    (found,) = list_runs(tmp_path / "runs")
    images = {one["image"] for one in found.read("skipped")["images"]}
    assert images == {photos.train.files[image] for image in (ours, theirs)}


def test_stopped_and_resumed_it_ends_the_same(photos: PhotoDataset, tmp_path: Path) -> None:
    """Bit for bit, mixing and colours included."""
    trial = make_photo_trial(photos, recipe__augmentation__mixup="0.4", recipe__augmentation__colour="0.1")
    whole = run_trial(trial, photos, tmp_path / "whole")
    with pytest.raises(Stopped):
        run(trial, photos, tmp_path / "parts", should_stop=stop_after(5))
    parts = run_trial(trial, photos, tmp_path / "parts")
    assert outcome(whole) == outcome(parts)


GROWING = {"network__input_size": "64", "recipe__resizing__initial": "0.5", "recipe__resizing__stages": "2"}


@pytest.mark.parametrize("stop", [4, 6])
def test_crops_that_grow_resume_exactly(photos: PhotoDataset, tmp_path: Path, stop: int) -> None:
    """Stopped before they grow or just as they do: the same bits; tests see the whole size all along."""
    fields = {"recipe__iterations": "12", "recipe__evaluate_every": "12", "recipe__augmentation__cutmix": "1"}
    trial = make_photo_trial(photos, **GROWING, **fields)
    task = make_photo_task(trial, photos, device="cpu")
    assert [len(task.load(step, 7)[0]) for step in (4, 5, 6)] == [2, 1, 7]
    assert [task.load(step, 1)[0].shape[-1] for step in (0, 5, 6, 11)] == [32, 32, 64, 64]
    assert {images.shape[-1] for images, _ in task.test_batches()} == {64}
    whole = run_trial(trial, photos, tmp_path / "whole")
    with pytest.raises(Stopped):
        run(trial, photos, tmp_path / "parts", should_stop=stop_after(stop - 1))
    parts = run_trial(trial, photos, tmp_path / "parts")
    assert outcome(whole) == outcome(parts)
    assert math.isfinite(whole.result()["train_loss"])


def test_from_growing_crops_the_mean_colour_is_subtracted(photos: PhotoDataset) -> None:
    """Where the mean image does not fit."""
    trial = make_photo_trial(photos, recipe="imagenet-paper", recipe__augmentation__colour="0", **GROWING)
    task = make_photo_task(trial, photos, device="cpu")
    assert task.mean_image is not None
    pixels = task.batches.crops[32, task.batches.sampler.draw(0, 8)].pixels.permute(0, 3, 1, 2) / 255
    assert torch.allclose(task.load(0, 1)[0][0], pixels - task.mean_image.mean((1, 2), keepdim=True), atol=1e-6)
    pixels = task.batches.crops[64, task.batches.sampler.draw(20, 8)].pixels.permute(0, 3, 1, 2) / 255
    assert torch.allclose(task.load(20, 1)[0][0], pixels - task.mean_image, atol=1e-6)


def train_share(processes: Processes, trial: Trial, photos: PhotoDataset, root: Path) -> list[dict[str, float]]:
    return StepLog(run_trial(trial, photos, root, processes=processes).path / "metrics.jsonl").read()


@pytest.mark.slow
def test_crops_grow_in_all_processes(photos: PhotoDataset, tmp_path: Path) -> None:
    """Two that normalize the whole batch have the losses of one."""
    fields = {"recipe__sync_norms": "true", "recipe__iterations": "6", "recipe__evaluate_every": "1"}
    trial = make_photo_trial(photos, **GROWING, **fields)
    one = train_share(ALONE, trial, photos, tmp_path / "one")
    two, _ = run_in_processes(train_share, 2, trial, photos, tmp_path / "two")
    losses = [[entry["train_loss"] for entry in log] for log in (one, two)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert len(losses[0]) == 6


def train_warned(processes: Processes, trial: Trial, photos: PhotoDataset, root: Path) -> list[str]:
    told: list[str] = []
    run_trial(trial, photos, root, processes=processes, warn=told.append)
    return told


@pytest.mark.slow
def test_bad_images_are_named_whoever_meets_them(photos: PhotoDataset, tmp_path: Path) -> None:
    """The first process, which alone prints, names those of the others' shares too, each once."""
    trial = make_photo_trial(photos, data__on_bad_image="skip", recipe__iterations="2", recipe__evaluate_every="1")
    bad = photos.test.path(len(photos.test) - 1)
    bad.write_bytes(b"")
    told, _ = run_in_processes(train_warned, 2, trial, photos, tmp_path / "runs")
    assert [sentence.split(" is ")[0] for sentence in told] == [f"skipped: {bad}"]


def test_from_shards_it_is_the_same_run(photos: PhotoDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same trial, and the same bits of metrics and weights, a mean image included."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "root"))
    write_shards(photos.root, tmp_path / "shards" / "photos", size=8_000)
    shards = read_photos(tmp_path / "shards" / "photos")
    trials = [make_photo_trial(dataset, recipe="imagenet-paper") for dataset in (photos, shards)]
    assert trials[0].id == trials[1].id
    ours = run_trial(trials[0], photos, tmp_path / "from files")
    theirs = run_trial(trials[1], shards, tmp_path / "from shards")
    assert outcome(ours) == outcome(theirs)


def test_the_papers_preset_subtracts_a_mean_image(photos: PhotoDataset, tmp_path: Path) -> None:
    """Which is stored with the weights; the averages of normalizations are exact."""
    trial = make_photo_trial(photos, recipe="imagenet-paper")
    assert trial.recipe.augmentation.crop == "shorter-side"
    assert trial.recipe.exact_norms
    run(trial, photos, tmp_path / "runs")
    network = load_model(list_runs(tmp_path / "runs")[0].weights)
    assert network.preprocess is not None
    assert network.preprocess.per_pixel_mean
    assert network.mean_image is not None
    assert network.mean_image.shape == (3, 24, 24)


def test_the_mean_image_is_computed_once_and_kept(
    photos: PhotoDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that goes on reads it, and refuses one that was damaged."""
    trial = make_photo_trial(photos, recipe="imagenet-paper")
    with pytest.raises(Stopped):
        run(trial, photos, tmp_path / "runs", should_stop=stop_after(4))
    (found,) = list_runs(tmp_path / "runs")
    kept = (found.path / "mean.safetensors").read_bytes()
    (found.path / "mean.safetensors").write_bytes(kept[:-4] + b"\0\0\0\1")
    with pytest.raises(UserError, match=r"mean\.safetensors"):
        run(trial, photos, tmp_path / "runs")
    (found.path / "mean.safetensors").write_bytes(kept)
    monkeypatch.setattr(of_photos, "mean_photo", None)
    parts = run_trial(trial, photos, tmp_path / "runs")
    monkeypatch.undo()
    whole = run_trial(trial, photos, tmp_path / "whole")
    assert outcome(whole) == outcome(parts)


def find_mean(processes: Processes, trial: Trial, photos: PhotoDataset, root: Path) -> tuple[int, Tensor | None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        computed = count_calls(monkeypatch, of_photos, "mean_photo")
        run = RunDirectory.of(trial, root)
        task = make_photo_task(trial, photos, device="cpu", processes=processes, run=run if processes.first else None)
        return len(computed), task.mean_image


def test_the_first_process_computes_the_mean_image_for_all(photos: PhotoDataset, tmp_path: Path) -> None:
    """The same to the bit as one alone computes; later the first reads it, and the others need no access to the run."""
    trial = make_photo_trial(photos, recipe="imagenet-paper")
    _, alone = find_mean(ALONE, trial, photos, tmp_path / "alone")
    assert alone is not None
    for expected in ([1, 0], [0, 0]):
        found = run_in_processes(find_mean, 2, trial, photos, tmp_path / "runs")
        assert [count for count, _ in found] == expected
        assert all(mean is not None and torch.equal(mean, alone) for _, mean in found)


def test_processes_share_every_batch_and_the_test(photos: PhotoDataset) -> None:
    """Two of them see what one sees, each image once."""
    trial = make_photo_trial(photos)
    alone = make_photo_task(trial, photos, device="cpu")
    pair = [make_photo_task(trial, photos, device="cpu", processes=Processes(rank, 2)) for rank in range(2)]
    images, labels = alone.load(1, 2)
    shares = [task.load(1, 2) for task in pair]
    assert torch.equal(torch.cat([share[0] for share in shares], dim=1), images)
    assert torch.equal(torch.cat([share[1] for share in shares], dim=1), labels)
    tested = [label for task in pair for _, labels in task.test_batches() for label in labels.tolist()]
    assert tested == photos.test.labels.tolist()


def test_epochs_are_counted_in_images(photos: PhotoDataset) -> None:
    """Twenty-four images in batches of eight are three iterations an epoch."""
    fields = {name: value for name, value in PHOTO_FIELDS.items() if name != "recipe.iterations"}
    assert read_trial(fields | {"recipe.epochs": "5"}, photos).recipe.iterations == 15


@pytest.fixture
def uneven(tmp_path: Path) -> PhotoDataset:
    return read_folder(make_photos(tmp_path / "uneven", train=18, val=4, counts={"greens": 2}))


def test_weights_of_classes_are_of_the_images_trained_on(uneven: PhotoDataset) -> None:
    """18 of one and 2 of the other: 20 / (2 * 18) and 20 / (2 * 2)."""
    task = make_photo_task(make_photo_trial(uneven, recipe__class_weights="balanced"), uneven, device="cpu")
    assert task.class_weights is not None
    assert task.class_weights.tolist() == pytest.approx([20 / 36, 5.0])


def test_balanced_sampling_is_shared_and_resumed(uneven: PhotoDataset, tmp_path: Path) -> None:
    """Every batch half and half; two processes see what one sees; stopped and resumed it ends the same, bit for bit."""
    trial = make_photo_trial(uneven, recipe__sampling="balanced", recipe__iterations="12", recipe__evaluate_every="6")
    alone = make_photo_task(trial, uneven, device="cpu")
    images, labels = alone.load(3, 2)
    assert labels.sum(1).tolist() == [4, 4]
    shares = [make_photo_task(trial, uneven, device="cpu", processes=Processes(rank, 2)).load(3, 2) for rank in (0, 1)]
    assert torch.equal(torch.cat([share[0] for share in shares], dim=1), images)
    assert torch.equal(torch.cat([share[1] for share in shares], dim=1), labels)
    whole = run_trial(trial, uneven, tmp_path / "whole")
    with pytest.raises(Stopped):
        run(trial, uneven, tmp_path / "parts", should_stop=stop_after(4))
    parts = run_trial(trial, uneven, tmp_path / "parts")
    assert outcome(whole) == outcome(parts)


def test_from_the_command_line(photos: PhotoDataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path is data; the run is named after the folder; a folder that is not there is told."""
    words = [f"{name}={value}" for name, value in (PHOTO_FIELDS | {"recipe.iterations": "30"}).items()]
    main(["train", f"data={photos.root}", *words, "--runs", str(tmp_path / "runs")])
    assert "test 0.00 % error" in capsys.readouterr().out
    (found,) = list_runs(tmp_path / "runs")
    assert found.path.name.startswith("cifar-resnet-8-photos-")
    with pytest.raises(SystemExit) as error:
        main(["train", f"data={tmp_path}/nowhere", "network=resnet-20"])
    assert error.value.code
    assert "is neither a dataset nor a folder of photographs" in capsys.readouterr().err


def test_the_words_of_classes_go_with_the_weights(photos: PhotoDataset, tmp_path: Path) -> None:
    """Those of its classes; where they cannot be read, that is told before anything is trained."""
    write_words(photos.root, {"blues": "blue things", "mauves": "no class of these"})
    trial = make_photo_trial(photos, recipe__iterations="1")
    trained = run_trial(trial, photos, tmp_path / "runs")
    assert load_model(trained.weights).class_words == {"blues": "blue things"}
    (photos.root / "classes.json").write_text("[")
    with pytest.raises(UserError, match=r"classes\.json cannot be read"):
        run_trial(replace(trial, seed=1), photos, tmp_path / "runs")
    assert not list((tmp_path / "runs").glob("*/metrics.jsonl"))[1:]
