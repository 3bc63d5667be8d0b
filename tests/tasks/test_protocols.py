"""Protocols against a slow and obvious way to do the same: crop by crop, window by window, in float64."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest
import torch
import torchvision.transforms.v2.functional as theirs
from PIL import Image
from torch import Tensor

from reslab.data.photos.pixels import read_pixels
from reslab.errors import UserError
from reslab.networks import Network, build, create_model
from reslab.networks.finite import rows_not_finite
from reslab.networks.resnet import ResidualNetwork
from reslab.runtime.execution import Execution
from reslab.spec import Preprocess, find
from reslab.tasks.averages import average_softmax
from reslab.tasks.classification.task import ClassificationTask
from reslab.tasks.output_task import OutputTask
from reslab.tasks.protocols import Judge, find_dense_parts, score_windows
from reslab.tasks.task import find_task
from reslab.tasks.views import Viewing

PHOTOS = Path(os.environ.get("RESLAB_PHOTOS") or Path(__file__).parents[3] / "shared" / "data" / "ants-bees")
# ResNet-18 at an eighth of its width.
NARROW = {"stem.width": 8} | {f"stages.{index}.width": 8 << index for index in range(4)}
PREPROCESS = Preprocess(resize=73, crop=64, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))


def make_network(name: str = "resnet-18", **fields: object) -> Network:
    """A network of small images with random weights, and statistics as of a few batches."""
    fields = {"classes": 5, "input_size": 64} | (NARROW if name == "resnet-18" else {}) | fields
    network = create_model(name, **fields)  # pyright: ignore[reportArgumentType]
    if isinstance(network, ResidualNetwork):
        torch.nn.init.normal_(network.classifier.weight, std=0.15)  # sure of itself: softmax is not nearly linear then
    for _ in range(3):
        network(torch.randn(8, *network.spec.input_shape))
    return network.eval()


def make_judge(network: Network, protocol: str, preprocess: Preprocess = PREPROCESS, **more: object) -> Judge:
    """A judge of photographs."""
    side = preprocess.crop or network.spec.input_size
    viewing = Viewing(protocol=protocol, preprocess=preprocess, side=side, brightest=255, **more)  # pyright: ignore[reportArgumentType]
    task = find_task(network.task)
    assert isinstance(task, OutputTask)
    return Judge(network, task, viewing, Execution(channels_last=True))


def synthetic(*sizes: tuple[int, int]) -> list[np.ndarray]:
    """Photographs of these heights and widths: smooth, with some noise."""
    generator = np.random.default_rng(0)
    photos = []
    for height, width in sizes:
        rough = generator.integers(0, 256, (7, 5, 3), dtype=np.uint8)
        smooth = np.asarray(Image.fromarray(rough).resize((width, height))).astype(int)
        photos.append((smooth + generator.integers(-20, 21, smooth.shape)).clip(0, 255).astype(np.uint8))
    return photos


def as_bytes(photos: list[np.ndarray]) -> list[Tensor]:
    """Photographs as a judge takes them: each a batch of one."""
    return [torch.tensor(photo).permute(2, 0, 1)[None] for photo in photos]


def resize(photo: np.ndarray, shorter: int) -> Tensor:
    """A photograph from 0 to 1, by torchvision."""
    return theirs.resize(torch.tensor(photo).permute(2, 0, 1) / 255, [shorter], antialias=True)


def normalize(image: Tensor) -> Tensor:
    return theirs.normalize(image, list(PREPROCESS.mean), list(PREPROCESS.std))


@torch.no_grad()
def slow_ten_crop(network: Network, photo: np.ndarray) -> Tensor:
    """Probabilities, one crop after the other."""
    side, total = 64, torch.zeros(5, dtype=torch.float64)
    resized = resize(photo, 73)
    for image in (resized, theirs.horizontal_flip(resized)):
        for crop in theirs.five_crop(image, [side, side]):
            total += network(normalize(crop)[None])[0].double().softmax(0)
    return total / 10


@torch.no_grad()
def slow_multi_scale(network: Network, photo: np.ndarray) -> Tensor:
    """Probabilities, one window of one map after the other; windows of 2x2, sizes of 2/7 of the paper's."""
    total = torch.zeros(5, dtype=torch.float64)
    for shorter in (64, 73, 110, 137, 183):
        at_size, count = torch.zeros(5, dtype=torch.float64), 0
        for image in (resize(photo, shorter), theirs.horizontal_flip(resize(photo, shorter))):
            seen = network.activations(normalize(image)[None])
            last = [value for value in seen.values() if value.dim() == 4][-1][0]
            for top in range(last.shape[1] - 1):
                for left in range(last.shape[2] - 1):
                    pooled = last[:, top : top + 2, left : left + 2].mean((1, 2))
                    at_size += network.classifier(pooled).double().softmax(0)  # pyright: ignore[reportCallIssue]
                    count += 1
        total += at_size / count
    return total / 5


@pytest.mark.parametrize(("protocol", "slowly"), [("10-crop", slow_ten_crop), ("multi-scale", slow_multi_scale)])
def test_protocols_equal_the_slow_way(protocol: str, slowly) -> None:
    """On photographs of odd sizes, tall, wide, small and two alike, judged together."""
    network, photos = make_network(), synthetic((75, 121), (131, 77), (40, 61), (40, 61), (64, 64))
    logits = make_judge(network, protocol).judge(as_bytes(photos))
    expected = torch.stack([slowly(network, photo) for photo in photos])
    assert logits.shape == (5, 5)
    assert expected.std(0).max() > 0.02  # or the comparison would say little
    assert torch.allclose(logits.double().softmax(1), expected, atol=1e-5)
    assert torch.allclose(logits.double().logsumexp(1), torch.zeros(5, dtype=torch.float64), atol=1e-5)


@pytest.mark.data
@pytest.mark.skipif(not PHOTOS.is_dir(), reason=f"there are no photographs in {PHOTOS}")
@pytest.mark.parametrize(("protocol", "slowly"), [("10-crop", slow_ten_crop), ("multi-scale", slow_multi_scale)])
def test_protocols_equal_the_slow_way_on_real_photographs(protocol: str, slowly) -> None:
    """Some of each class, in the sizes they came in."""
    network = make_network()
    paths = [path for name in ("ants", "bees") for path in sorted((PHOTOS / "val" / name).glob("*.jpg"))[:4]]
    photos = [read_pixels(path) for path in paths]
    logits = make_judge(network, protocol).judge(as_bytes(photos))
    expected = torch.stack([slowly(network, photo) for photo in photos])
    assert torch.allclose(logits.double().softmax(1), expected, atol=1e-5)


@pytest.mark.parametrize("name", ["resnet-18", "resnet-50", "resnet-50-v1.5", "plain-18"])
def test_score_grids_are_the_papers(name: str) -> None:
    """7x7 windows on square images of 224, 256, 384, 480 and 640: 1, 2, 6, 9 and 14 places a side."""
    network = build(find(name), device="meta").eval()
    parts = find_dense_parts(network, protocol="multi-scale")
    grids = []
    for side in (224, 256, 384, 480, 640):
        scores = score_windows(parts, torch.empty(1, 3, side, side, device="meta"), (7, 7))
        assert scores.shape[3] == 1000
        grids.append(tuple(scores.shape[1:3]))
    assert grids == [(places, places) for places in (1, 2, 6, 9, 14)]


@pytest.mark.parametrize(
    ("name", "crop", "window"), [("resnet-18", 64, 2), ("resnet-18", 224, 7), ("resnet-20", 32, 8)]
)
def test_windows_are_as_large_as_the_map_of_one_crop(name: str, crop: int, window: int) -> None:
    """7x7 for 224, 2x2 for 64, 8x8 for the CIFAR networks' 32: so many places fit a map twice as large."""
    network = make_network(name, input_size=32 if name == "resnet-20" else 64)
    answers = make_judge(network, "multi-scale", Preprocess(crop=crop)).answer(torch.randn(1, 3, 2 * crop, 2 * crop))
    assert answers.shape == (1, (window + 1) ** 2, network.spec.classes)


@torch.no_grad()
@pytest.mark.parametrize("name", ["resnet-20", "highway-19", "lenet-5", "cifar-resnet-8 order=pre"])
def test_one_window_is_the_network_itself(name: str) -> None:
    """A crop has one window, whose scores are the network's own: whatever the family."""
    name, *fields = name.split()
    network = make_network(name, input_size=32, channels=3, **dict(field.split("=") for field in fields))
    judge, x = make_judge(network, "multi-scale", Preprocess()), torch.randn(2, 3, 32, 32)
    answers = judge.answer(x)
    assert answers.shape[:2] == (2, 1)
    assert torch.allclose(answers[:, 0], network(x), atol=1e-5)


def test_networks_without_a_map_are_told() -> None:
    """They can be tested by crops."""
    network = build(find("alexnet"), device="meta")
    with pytest.raises(UserError, match=r"multi-scale needs a feature map .* alexnet .* use protocol=10-crop"):
        make_judge(network.eval(), "multi-scale")


@torch.no_grad()
def test_one_crop_is_what_the_preprocessing_says() -> None:
    """To the bit, with no softmax between."""
    network, photos = make_network(), synthetic((75, 121), (131, 77))
    logits = make_judge(network, "1-crop").judge(as_bytes(photos))
    crops = [normalize(theirs.center_crop(resize(photo, 73), [64, 64])) for photo in photos]
    assert torch.allclose(logits, network(torch.stack(crops)), atol=1e-4)


@pytest.mark.parametrize("task", ["classification", "multi-label"])
@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_an_average_does_not_hide_what_is_infinite(task: str, value: float) -> None:
    """The softmax or sigmoid of one crop may well be a number, and the average of all of them."""
    network = make_network()
    network.task = task
    judge, forward = make_judge(network, "10-crop"), network.forward

    def overflow(x: Tensor) -> Tensor:
        logits = forward(x)
        logits[3, 1] = value  # one crop of the first image
        return logits

    network.forward = overflow
    found = judge.judge([image.expand(2, -1, -1, -1) for image in as_bytes(synthetic((80, 80)))])
    assert rows_not_finite(found).tolist() == [True, False]


def test_what_becomes_alike_is_shown_together_and_no_more_of_it_than_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers come in the order of the images, however they were put together."""
    network, photos = make_network(), synthetic((75, 121), (131, 77), (75, 121), (40, 61), (131, 77), (75, 121))
    judge = make_judge(network, "multi-scale")
    whole = judge.judge(as_bytes(photos))
    for pixels in (1, 3 * judge.viewing.pixels):
        judge.most_pixels = pixels
        assert torch.allclose(judge.judge(as_bytes(photos)), whole, atol=1e-5)
    shown: list[int] = []
    monkeypatch.setattr(judge, "answer", lambda views, answer=judge.answer: shown.append(len(views)) or answer(views))
    judge.most_pixels = 10**9
    judge.judge(as_bytes(photos))
    assert shown == [6, 4, 2] * 5  # each with its mirror image, at five sizes


class Twice(ClassificationTask):
    """Asks about every image as it is, and upside down."""

    questions = 2

    def pose_test(self, images: Tensor, question: int) -> Tensor:
        return images.flip(-2) if question else images


@torch.no_grad()
@pytest.mark.parametrize("protocol", ["1-crop", "10-crop"])
def test_a_task_says_how_a_question_shows_images(protocol: str) -> None:
    """All views of them; the first question is asked where none is named."""
    network, images = make_network(), as_bytes(synthetic((75, 121), (64, 64)))
    judge = make_judge(network, protocol)
    judge.task = Twice()
    (shorter,) = judge.viewing.shorter_sides
    turned = [network(judge.viewing.show(image, shorter)[0].flip(-2)) for image in images]
    expected = torch.cat([average_softmax(answers[None]) for answers in turned])
    assert torch.allclose(judge.judge(images, 1), expected, atol=1e-4)
    assert torch.equal(judge.judge(images), judge.judge(images, 0))
    assert not torch.allclose(judge.judge(images), expected, atol=1e-2)
