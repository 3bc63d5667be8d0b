"""A trial's task and what feeds it, together: losses by hand, shares, and what a task asks by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.counting import count_calls
from tests.experiments.faults import make_trial
from tests.multilabel import make_labelled
from tests.photographs import make_photos
from tests.processes import run_in_processes
from tests.trials import DIGITS, make_digits_trial, make_photo_trial
from torch import Tensor

from reslab.data.arrays.feed import ArrayFeed
from reslab.data.catalogue import open_data
from reslab.data.photos import feed as of_photos
from reslab.data.photos.feed import PhotoFeed
from reslab.data.photos.folder import PhotoDataset, read_folder
from reslab.networks import build
from reslab.runtime.processes import ALONE, Processes
from reslab.spec.trial import Trial
from reslab.tasks.classification.task import ClassificationTask
from reslab.tasks.task import find_task
from reslab.tasks.trial_task import TrialTask, log_scores, make_task

LOGITS = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
IMAGES, LABELS = torch.zeros(2, 3, 8, 8), torch.tensor([0, 1])
GROWING = {"network__input_size": "64", "recipe__resizing__initial": "0.5", "recipe__resizing__stages": "2"}


@pytest.fixture
def photos(tmp_path: Path) -> PhotoDataset:
    """Twelve of each of two colours, and four to be tested on."""
    return read_folder(make_photos(tmp_path / "photos", train=12, val=4))


def test_the_data_says_which_task(tmp_path: Path) -> None:
    """Arrays, photographs of one class each, or of several labels; a mean of photographs is kept in their folder."""
    task = make_task(make_trial(), DIGITS, device="cpu")
    assert (type(task.feed), task.task) == (ArrayFeed, find_task("classification"))
    photos = open_data(str(make_photos(tmp_path / "photos", train=2, val=1)))
    trial = make_photo_trial(photos, recipe__centring="mean-image")
    task = make_task(trial, photos, device="cpu", folder=tmp_path / "run")
    assert (type(task.feed), task.task) == (PhotoFeed, find_task("classification"))
    assert (tmp_path / "run" / "mean.safetensors").exists()
    tagged = open_data(str(make_labelled(tmp_path / "tagged", count=4)))
    task = make_task(make_photo_trial(tagged), tagged, device="cpu")
    assert (type(task.feed), task.task) == (PhotoFeed, find_task("multi-label"))


class Fixed(torch.nn.Module):
    """Says the same of every two images, and the opposite with any further weight."""

    def __init__(self, *weights: float) -> None:
        super().__init__()
        self.weights = weights or (1.0,)

    def weighted_logits(self, x: Tensor) -> list[tuple[float, Tensor]]:
        return [(weight, sign * LOGITS[: len(x)]) for weight, sign in zip(self.weights, (1, -1), strict=False)]


def find_loss(task: TrialTask, *batch: Tensor, network: Fixed | None = None) -> tuple[float, int]:
    loss, wrong = task.loss(network or Fixed(), batch)  # pyright: ignore[reportArgumentType]
    return loss.item(), int(wrong)


def make_labelled_task(*, smoothing: float = 0.0, class_weights: Tensor | None = None) -> TrialTask:
    trial = make_trial()
    trial = replace(trial, recipe=replace(trial.recipe, label_smoothing=smoothing, precision="fp32"))
    return replace(make_task(trial, DIGITS, device="cpu"), class_weights=class_weights)


def test_outputs_beside_the_main_ones_count_as_much_as_the_network_says() -> None:
    """Images are wrong by the main ones."""
    own, opposite = (-torch.log_softmax(sign * LOGITS, 1)[[0, 1], LABELS].mean().item() for sign in (1, -1))
    loss, wrong = find_loss(make_labelled_task(), IMAGES, LABELS, network=Fixed(1.0, 0.3))
    assert (loss, wrong) == (pytest.approx(own + 0.3 * opposite), 0)


def test_mixed_labels_share_the_loss() -> None:
    """The share of each label's cross-entropy; an image is wrong by its own label."""
    task = make_labelled_task(smoothing=0.0)
    losses = -torch.log_softmax(LOGITS, 1)
    mixed = find_loss(task, IMAGES, torch.tensor([0, 0]), torch.tensor([1, 0]), torch.tensor([0.7, 0.7]))
    expected = (0.7 * losses[0, 0] + 0.3 * losses[0, 1] + losses[1, 0]) / 2
    assert mixed == (pytest.approx(expected.item()), 1)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_weights_of_classes_weigh_each_labels_loss(smoothing: float) -> None:
    """Mixed and not, whatever is smoothed; the mean is over images, so a part of a batch is its part of the sum."""
    weights = torch.tensor([0.6, 5.0])
    task = make_labelled_task(smoothing=smoothing, class_weights=weights)
    logs = -torch.log_softmax(LOGITS, 1)
    losses = (1 - smoothing) * logs + smoothing * logs.mean(1, keepdim=True)
    others = LABELS.flip(0)
    own, other = (weights[labels] * losses[[0, 1], labels] for labels in (LABELS, others))
    assert find_loss(task, IMAGES, LABELS) == (pytest.approx(own.mean().item()), 0)
    assert find_loss(task, IMAGES[:1], LABELS[:1]) == (pytest.approx(own[0].item()), 0)
    loss, _ = find_loss(task, IMAGES, LABELS, others, torch.tensor([0.7, 0.7]))
    assert loss == pytest.approx((0.7 * own + 0.3 * other).mean().item())


def test_from_growing_crops_the_mean_colour_is_subtracted(photos: PhotoDataset) -> None:
    """Where the mean image does not fit."""
    trial = make_photo_trial(photos, recipe="imagenet-paper", recipe__augmentation__colour="0", **GROWING)
    task = make_task(trial, photos, device="cpu")
    assert isinstance(task.feed, PhotoFeed)
    assert task.feed.mean_image is not None
    pixels = task.feed.crops[32, task.feed.sampler.draw(0, 8)].pixels.permute(0, 3, 1, 2) / 255
    assert torch.allclose(task.load(0, 1)[0][0], pixels - task.feed.mean_image.mean((1, 2), keepdim=True), atol=1e-6)
    pixels = task.feed.crops[64, task.feed.sampler.draw(20, 8)].pixels.permute(0, 3, 1, 2) / 255
    assert torch.allclose(task.load(20, 1)[0][0], pixels - task.feed.mean_image, atol=1e-6)


def find_mean(processes: Processes, trial: Trial, photos: PhotoDataset, root: Path) -> tuple[int, Tensor | None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        computed = count_calls(monkeypatch, of_photos, "mean_photo")
        folder = root if processes.first else None
        task = make_task(trial, photos, device="cpu", processes=processes, folder=folder)
        return len(computed), task.feed.mean_image


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
    alone = make_task(trial, photos, device="cpu")
    pair = [make_task(trial, photos, device="cpu", processes=Processes(rank, 2)) for rank in range(2)]
    images, labels = alone.load(1, 2)
    shares = [task.load(1, 2) for task in pair]
    assert torch.equal(torch.cat([share[0] for share in shares], dim=1), images)
    assert torch.equal(torch.cat([share[1] for share in shares], dim=1), labels)
    tested = [label for task in pair for _, labels, _ in task.feed.tests() for label in labels.tolist()]
    assert tested == photos.test.targets.tolist()


@pytest.fixture
def uneven(tmp_path: Path) -> PhotoDataset:
    return read_folder(make_photos(tmp_path / "uneven", train=18, val=4, counts={"greens": 2}))


def test_weights_of_classes_are_of_the_images_trained_on(uneven: PhotoDataset) -> None:
    """18 of one and 2 of the other: 20 / (2 * 18) and 20 / (2 * 2)."""
    task = make_task(make_photo_trial(uneven, recipe__class_weights="balanced"), uneven, device="cpu")
    assert task.class_weights is not None
    assert task.class_weights.tolist() == pytest.approx([20 / 36, 5.0])


def test_balanced_sampling_is_shared(uneven: PhotoDataset) -> None:
    """Every batch half and half; two processes see what one sees."""
    trial = make_photo_trial(uneven, recipe__sampling="balanced")
    alone = make_task(trial, uneven, device="cpu")
    images, labels = alone.load(3, 2)
    assert labels.sum(1).tolist() == [4, 4]
    shares = [make_task(trial, uneven, device="cpu", processes=Processes(rank, 2)).load(3, 2) for rank in (0, 1)]
    assert torch.equal(torch.cat([share[0] for share in shares], dim=1), images)
    assert torch.equal(torch.cat([share[1] for share in shares], dim=1), labels)


class Turned(ClassificationTask):
    """Asks of every image which of two ways it is shown: as it is, or upside down."""

    questions = 2

    def pose(self, images: Tensor, targets: Tensor, *, seed: int) -> tuple[Tensor, Tensor]:
        turned = torch.rand(len(images), generator=torch.Generator().manual_seed(seed)) < 0.5
        return torch.where(turned[:, None, None, None], images.flip(-2), images), turned.long()

    def pose_test(self, images: Tensor, question: int) -> Tensor:
        return images.flip(-2) if question else images

    def answers(self, targets: Tensor, question: int) -> Tensor:
        return torch.full_like(targets, question)


def make_turned(processes: Processes = ALONE) -> tuple[TrialTask, TrialTask]:
    """The same images with their own classes, and turned."""
    trial = make_digits_trial(batch=32, iterations=4)
    trial = replace(trial, network=replace(trial.network, classes=2))
    plain = make_task(trial, DIGITS, device="cpu", processes=processes)
    return plain, replace(plain, task=Turned())


def test_a_task_may_make_its_own_targets() -> None:
    """By the iteration's seed, so that batches are the same however many are loaded at once, and others each time."""
    plain, turned = make_turned()
    images, targets = turned.load(3, 2)
    for index in range(2):
        one, asked = turned.load(3 + index, 1)
        assert torch.equal(one[0], images[index])
        assert torch.equal(asked[0], targets[index])
    assert not torch.equal(targets[0], targets[1])
    stored = plain.load(3, 2)[0]
    expected = torch.where(targets[..., None, None, None] == 1, stored.flip(-2), stored)
    assert torch.equal(images, expected)


def test_every_test_image_is_asked_every_question() -> None:
    """In the log and in the end."""
    (_, turned), network = make_turned(), build(make_turned()[0].trial.network)
    with torch.no_grad():
        network.get_parameter("classifier.bias")[1] = 100
    scores = turned.score(network)
    assert scores.images == 2 * len(DIGITS.test)
    assert scores.recorded()["confusion"] == [[0, len(DIGITS.test)]] * 2
    assert turned.make_evaluation(network, capture=False)() == log_scores(scores)
