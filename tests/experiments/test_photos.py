"""Training on a folder of photographs: it learns, resumes exactly, and its weights carry what they need."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.photographs import make_photos

from reslab.cli import main
from reslab.data.digits import load_digits
from reslab.data.photos.folder import PhotoDataset, read_folder
from reslab.errors import UserError
from reslab.experiments import photos as of_photos
from reslab.experiments.photos import make_photo_task
from reslab.experiments.run import run_trial
from reslab.experiments.trials import read_trial
from reslab.networks import load_model
from reslab.runs.directory import list_runs
from reslab.spec.trial import Trial
from reslab.training.loop import Stopped
from reslab.training.processes import Processes

FIELDS = {
    "network": "cifar-resnet-8", "network.input_size": "24", "recipe.batch": "8", "recipe.iterations": "30",
    "recipe.evaluate_every": "10", "recipe.precision": "fp32",
}  # fmt: skip


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PhotoDataset:
    monkeypatch.setenv("RESLAB_WORKERS", "0")
    return read_folder(make_photos(tmp_path / "photos", train=12, val=4))


def make_trial(photos: PhotoDataset, **fields: str) -> Trial:
    return read_trial(FIELDS | {name.replace("__", "."): value for name, value in fields.items()}, photos)


def run(trial: Trial, photos: PhotoDataset, root: Path, **options: Any) -> dict[str, Any]:
    return run_trial(trial, photos, root, **options).result()


def test_it_learns_and_its_weights_carry_what_they_need(photos: PhotoDataset, tmp_path: Path) -> None:
    """Two colours are told apart; preprocessing and classes are with the weights."""
    trial = make_trial(photos)
    result = run(trial, photos, tmp_path / "runs")
    assert result["error_percent"] == 0
    network = load_model(list_runs(tmp_path / "runs")[0].weights)
    assert network.class_names == ("blues", "greens")
    assert network.preprocess is not None
    assert (network.preprocess.resize, network.preprocess.crop) == (27, 24)


def test_bad_test_images_are_counted(photos: PhotoDataset, tmp_path: Path) -> None:
    """The result says how many are in no error; where none can be read there is nothing to test on."""
    trial = make_trial(photos, data__on_bad_image="skip", recipe__iterations="1")
    assert run(trial, photos, tmp_path / "whole")["skipped_images"] == 0
    photos.test.path(2).write_bytes(b"")
    result = run(trial, photos, tmp_path / "lacking")
    assert (result["skipped_images"], sum(map(sum, result["confusion"]))) == (1, 7)
    alone = replace(photos, test=photos.test.take(np.array([2])))
    with pytest.raises(UserError, match="none of the test images can be read"):
        run(trial, alone, tmp_path / "none")


def test_stopped_and_resumed_it_ends_the_same(photos: PhotoDataset, tmp_path: Path) -> None:
    """Bit for bit, mixing and colours included."""
    trial = make_trial(photos, recipe__augmentation__mixup="0.4", recipe__augmentation__colour="0.1")
    whole = run_trial(trial, photos, tmp_path / "whole")
    steps = iter([False] * 13 + [True])
    with pytest.raises(Stopped):
        run(trial, photos, tmp_path / "parts", should_stop=lambda: next(steps))
    parts = run_trial(trial, photos, tmp_path / "parts")
    ours, theirs = (load_model(each.weights).state_dict() for each in (whole, parts))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert (whole.path / "metrics.jsonl").read_text() == (parts.path / "metrics.jsonl").read_text()


def test_the_papers_preset_subtracts_a_mean_image(photos: PhotoDataset, tmp_path: Path) -> None:
    """Which is stored with the weights; the averages of normalizations are exact."""
    trial = make_trial(photos, recipe="imagenet-paper")
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
    trial = make_trial(photos, recipe="imagenet-paper")
    steps = iter([False] * 4 + [True])
    with pytest.raises(Stopped):
        run(trial, photos, tmp_path / "runs", should_stop=lambda: next(steps))
    (found,) = list_runs(tmp_path / "runs")
    kept = (found.path / "mean.safetensors").read_bytes()
    (found.path / "mean.safetensors").write_bytes(kept[:-4] + b"\0\0\0\1")
    with pytest.raises(UserError, match=r"mean\.safetensors"):
        run(trial, photos, tmp_path / "runs")
    (found.path / "mean.safetensors").write_bytes(kept)
    monkeypatch.setattr(of_photos, "mean_photo", None)
    parts = run_trial(trial, photos, tmp_path / "runs")
    monkeypatch.undo()
    monkeypatch.setenv("RESLAB_WORKERS", "0")
    whole = run_trial(trial, photos, tmp_path / "whole")
    assert (whole.path / "metrics.jsonl").read_text() == (parts.path / "metrics.jsonl").read_text()


def test_processes_share_every_batch_and_the_test(photos: PhotoDataset) -> None:
    """Two of them see what one sees, each image once."""
    trial = make_trial(photos)
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
    assert make_trial(photos, recipe__epochs="5").recipe.iterations == 15


def test_mixed_labels_share_the_loss(photos: PhotoDataset) -> None:
    """By hand: the share of each label's cross-entropy."""
    task = make_photo_task(make_trial(photos), photos, device="cpu")

    class Fixed(torch.nn.Module):
        def weighted_logits(self, x: torch.Tensor) -> list[tuple[float, torch.Tensor]]:
            return [(1.0, torch.tensor([[2.0, 0.0], [0.0, 1.0]]))]

    task = replace(task, trial=replace(task.trial, recipe=replace(task.trial.recipe, label_smoothing=0.0)))
    batch = (torch.zeros(2, 3, 24, 24), torch.tensor([0, 0]), torch.tensor([1, 0]), torch.tensor([0.7, 0.7]))
    loss, wrong = task.loss(Fixed(), batch)  # pyright: ignore[reportArgumentType]
    losses = -torch.log_softmax(torch.tensor([[2.0, 0.0], [0.0, 1.0]]), 1)
    expected = (0.7 * losses[0, 0] + 0.3 * losses[0, 1] + losses[1, 0]) / 2
    assert loss.item() == pytest.approx(expected.item())
    assert wrong.item() == 1


def test_what_does_not_fit_is_told(photos: PhotoDataset, tmp_path: Path) -> None:
    """A recipe for small images, a tuning split, a network for other classes."""
    with pytest.raises(UserError, match=r"crop is padded, which is for images of one size"):
        run(make_trial(photos, recipe="cifar-paper"), photos, tmp_path)
    with pytest.raises(UserError, match=r"data\.split is tuning"):
        run(make_trial(photos, data__split="tuning"), photos, tmp_path)
    with pytest.raises(UserError, match="classes"):
        run(make_trial(photos, network__classes="5"), photos, tmp_path)


def test_what_would_be_recorded_and_not_done_is_refused(photos: PhotoDataset, tmp_path: Path) -> None:
    """Cutout of photographs; mixing, crops and colours of images of one size."""
    with pytest.raises(UserError, match=r"augmentation\.cutout is 8, which is for images of one size; leave it out"):
        run(make_trial(photos, recipe__augmentation__cutout="8"), photos, tmp_path)
    digits = load_digits()
    for field, value in {"augmentation.mixup": "0.2", "augmentation.crop": "resized", "centring": "imagenet"}.items():
        trial = read_trial({"network": "cifar-resnet-8", f"recipe.{field}": value}, digits)
        with pytest.raises(UserError, match=rf"recipe\.{field} is {value}, which is for photographs"):
            run_trial(trial, digits, tmp_path)


def test_from_the_command_line(photos: PhotoDataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path is data; the run is named after the folder; a folder that is not there is told."""
    words = [f"{name}={value}" for name, value in FIELDS.items()]
    main(["train", f"data={photos.root}", *words, "--runs", str(tmp_path / "runs")])
    assert "test 0.00 % error" in capsys.readouterr().out
    (found,) = list_runs(tmp_path / "runs")
    assert found.path.name.startswith("cifar-resnet-8-photos-")
    with pytest.raises(SystemExit) as error:
        main(["train", f"data={tmp_path}/nowhere", "network=resnet-20"])
    assert error.value.code
    assert "is no dataset and no folder of photographs" in capsys.readouterr().err
