"""Guesses with names and probabilities, as evaluation would have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tests.delivery.conftest import SMALL

import reslab
from reslab.data.photos.pixels import read_pixels
from reslab.data.preprocessing import preprocess_images
from reslab.delivery.prediction import to_plain
from reslab.delivery.predictor import Predictor, Served
from reslab.errors import UserError
from reslab.networks import Network, create_model, load_model, save_model
from reslab.runtime.listener import Listener
from reslab.spec.task import CLASSIFICATION, MultiLabel


def test_probabilities_are_the_networks(network: Network, photos: Path, tmp_path: Path) -> None:
    """Through a weight file: names, order and numbers are those of the network on images prepared as for a test."""
    paths = sorted((photos / "val" / "bees").glob("*.png"))
    predictor = Predictor(load_model(save_model(network, tmp_path / "w.safetensors")))
    predictions = predictor.predict(paths)
    assert [prediction.image for prediction in predictions] == [str(path) for path in paths]
    for path, prediction in zip(paths, predictions, strict=True):
        pixels = torch.from_numpy(read_pixels(path).transpose(2, 0, 1).copy())[None]
        with torch.no_grad():
            wanted = network(preprocess_images(pixels, SMALL, brightest=255)).softmax(1)[0]
        assert [guess.name for guess in prediction.guesses] == [("ants", "bees")[i] for i in wanted.argsort().flip(0)]
        found = [guess.probability for guess in prediction.guesses]
        assert found == pytest.approx(wanted.sort(descending=True).values.tolist(), rel=1e-4)
    assert to_plain(predictions[0])["guesses"][0].keys() == {"class", "probability"}


def test_shipped_weights_on_real_images() -> None:
    """ResNet-20 as trained gives the probabilities recorded with a hundred images of CIFAR-10."""
    with np.load(Path(__file__).parent.parent / "shipped" / "cifar10-subset.npz") as file:
        images, logits = file["images"].transpose(0, 2, 3, 1), torch.from_numpy(file["resnet-20"])
    predictor = Predictor(create_model("resnet-20", weights="cifar10"))
    wanted = logits.softmax(1).max(1)
    for index, prediction in enumerate(predictor.predict(list(images), top=1)):
        (guess,) = prediction.guesses
        assert guess.name == predictor.class_names[int(wanted.indices[index])]
        assert guess.probability == pytest.approx(float(wanted.values[index]), abs=1e-4)


def test_a_pillow_image_gives_what_its_file_gives(network: Network, tmp_path: Path) -> None:
    """Guesses and explanations, of a photograph that EXIF turns."""
    exif = Image.Exif()
    exif[0x0112] = 6
    path = tmp_path / "turned.jpg"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (24, 60, 3), np.uint8)).save(path, exif=exif)
    predictor = Predictor(network)
    with Image.open(path) as image:
        (of_image,), (of_file,) = predictor.predict(image), predictor.predict(path)
        assert of_image.guesses == of_file.guesses
        assert np.array_equal(predictor.explain(image), predictor.explain(path))
    (sideways,) = predictor.predict(np.asarray(Image.open(path)))
    assert sideways.guesses != of_file.guesses


def test_one_image_some_guesses_and_classes_without_names(network: Network, photos: Path) -> None:
    """A path alone is an image; `top` names as many; classes without names are numbered."""
    network.class_names = None
    predictor = Predictor(network)
    (prediction,) = predictor.predict(str(photos / "val/ants/photo-0.png"), top=1)
    assert [guess.name in ("class 0", "class 1") for guess in prediction.guesses] == [True]
    done: list[int] = []
    listener = Listener(progress=lambda count, metrics: done.append(count))
    assert len(predictor.predict([np.zeros((30, 40, 3), np.uint8)] * 33, listener=listener)) == 33
    assert done == [32, 33]
    with pytest.raises(UserError, match="top is 0"):
        predictor.predict([], top=0)


def test_bfloat16_guesses_the_same(network: Network, photos: Path) -> None:
    """With probabilities that differ by its rounding."""
    image = photos / "val/ants/photo-0.png"
    exact, fast = (Predictor(network, precision=precision).predict(image)[0] for precision in ("fp32", "bf16"))
    assert exact != fast
    for ours, theirs in zip(fast.guesses, exact.guesses, strict=True):
        assert (ours.name, ours.probability) == (theirs.name, pytest.approx(theirs.probability, abs=0.02))
    with pytest.raises(UserError, match="precision is 'fp16'; choose fp32 or bf16"):
        Predictor(network, precision="fp16")  # pyright: ignore[reportArgumentType]


def test_several_labels_have_probabilities_of_their_own(network: Network, photos: Path) -> None:
    """Those that reach the threshold are the image's labels, and all of them are told."""
    network.task = MultiLabel()
    predictor, image = Predictor(network), photos / "val/ants/photo-0.png"
    (every,) = predictor.predict(image, threshold=0)
    pixels = torch.from_numpy(read_pixels(image).transpose(2, 0, 1).copy())[None]
    with torch.no_grad():
        wanted = network(preprocess_images(pixels, SMALL, brightest=255)).sigmoid()[0]
    assert {guess.name: guess.probability for guess in every.guesses} == pytest.approx(
        dict(zip(("ants", "bees"), wanted.tolist(), strict=True)), rel=1e-4
    )
    assert every.labels == tuple(guess.name for guess in every.guesses)
    (first,) = predictor.predict(image, top=1, threshold=every.guesses[0].probability)
    assert (first.labels, len(first.guesses)) == ((every.guesses[0].name,), 1)
    assert to_plain(first)["labels"] == [every.guesses[0].name]
    (usual,) = predictor.predict(image)
    assert usual.labels == tuple(guess.name for guess in every.guesses if guess.probability >= 0.5)
    with pytest.raises(UserError, match="threshold is 2; give a probability from 0 to 1"):
        predictor.predict(image, threshold=2)
    network.task = CLASSIFICATION
    assert Predictor(network).predict(image)[0].labels is None
    with pytest.raises(UserError, match="threshold is for multi-label networks"):
        Predictor(network).predict(image, threshold=0.5)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_device_gives_the_same(network: Network, photos: Path) -> None:
    """Guesses and explanations come back from it."""
    image = photos / "val/ants/photo-0.png"
    (here,), (there,) = (Predictor(network, device=device).predict(image) for device in ("cpu", "cuda"))
    for ours, theirs in zip(here.guesses, there.guesses, strict=True):
        assert (ours.name, ours.probability) == (theirs.name, pytest.approx(theirs.probability, abs=1e-3))
    assert Predictor(network, device="cuda").explain(image).shape == (224, 452, 3)


def test_an_explanation_shows_both(network: Network, photos: Path) -> None:
    """The picture as the network sees it, a gap and the picture under evidence; an unknown class is told."""
    predictor = Predictor(network)
    image = photos / "val/ants/photo-0.png"
    assert predictor.explain(image).shape == (224, 224 + 4 + 224, 3)
    assert not np.array_equal(predictor.explain(image, target="ants"), predictor.explain(image, target="bees"))
    with pytest.raises(
        UserError, match="the network has no class 'wasps'; choose one that it has, such as ants or bees"
    ):
        predictor.explain(image, target="wasps")


def test_a_device_that_is_not_here_is_told(network: Network) -> None:
    """As of training."""
    with pytest.raises(UserError, match="device is 'tpu9', which this machine does not have"):
        Predictor(network, device="tpu9")
    with pytest.raises(UserError, match="device is 'tpu9', which this machine does not have"):
        reslab.train("digits", "cifar-resnet-8", device="tpu9")


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_no_probability_is_made_of_what_is_not_finite(network: Network, photos: Path, precision: Served) -> None:
    """The picture and the tensor are named, and nothing is explained either."""
    torch.nn.init.constant_(network.classifier.bias, torch.nan)  # pyright: ignore[reportAttributeAccessIssue]
    network.origin = "mine.safetensors"
    predictor = Predictor(network, precision=precision, device="cpu")
    picture = next(photos.rglob("*.png"))
    refusal = rf"mine\.safetensors gives logits that are not finite for {picture}: its classifier\.bias is not finite"
    with pytest.raises(UserError, match=refusal):
        predictor.predict(picture)
    with pytest.raises(UserError, match=r"logits that are not finite for an image to explain: its classifier\.bias"):
        predictor.explain(picture)
