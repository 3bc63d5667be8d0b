"""Objects with names, scores and boxes, as a test would have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tests.delivery.conftest import make_network
from tests.finders import draw_images, make_finder
from tests.objects import CLASSES, make_scenes, write_voc

from reslab.data.objects.dataset import read_objects
from reslab.data.photos.pixels import read_pixels
from reslab.delivery.detector_predictor import DetectorPredictor, keep_best
from reslab.delivery.predictor import Predictor
from reslab.errors import UserError
from reslab.experiments.trained import Trained, choose_inputs
from reslab.networks.detection.detector import Detector
from reslab.runtime.listener import Listener
from reslab.tasks.detection.testing import DetectionBench


@pytest.fixture(scope="module")
def detector() -> Detector:
    torch.set_num_threads(1)
    return make_finder()


def test_objects_are_those_of_a_test(detector: Detector, tmp_path: Path) -> None:
    """Boxes, scores and classes are those of the bench that evaluates, in pixels of the file."""
    root = write_voc(tmp_path / "voc", train=make_scenes("t", 3), val=make_scenes("v", 2, sizes=((60, 45), (45, 60))))
    bench = DetectionBench(
        [choose_inputs(Trained(origin="finder", network=detector), read_objects(root))],
        protocol="1-scale",
        precision="fp32",
    )
    paths = sorted((root / "JPEGImages").glob("v*.jpg"))
    predictor = DetectorPredictor(detector, device="cpu")
    for path, prediction in zip(paths, predictor.predict(paths, threshold=0), strict=True):
        pixels = torch.from_numpy(read_pixels(path).transpose(2, 0, 1).copy())[None]
        _, rows = bench.judge([pixels], 0)
        wanted = rows[0][rows[0, :, 5] >= 0]
        assert prediction.image == str(path) and prediction.size == (pixels.shape[3], pixels.shape[2])
        assert prediction.objects and not prediction.guesses
        assert [found.name for found in prediction.objects] == [CLASSES[int(row[5])] for row in wanted]
        found = torch.tensor([[*one.box, one.score] for one in prediction.objects])
        torch.testing.assert_close(found, wanted[:, :5], atol=1e-3, rtol=1e-4)
        assert [one.score for one in prediction.objects] == sorted(one.score for one in prediction.objects)[::-1]


def test_thresholds_and_the_most_objects(detector: Detector, tmp_path: Path) -> None:
    """Weak objects are left out, by default those below a half; `top` keeps the best; progress counts images."""
    draw_images(tmp_path)
    predictor, paths = DetectorPredictor(detector, device="cpu"), sorted(tmp_path.glob("*.jpg"))
    done: list[int] = []
    every = predictor.predict(paths, threshold=0, listener=Listener(progress=lambda count, _: done.append(count)))
    assert done == [1, 2, 3]
    scores = sorted(found.score for one in every for found in one.objects or ())
    middle = scores[len(scores) // 2]
    assert scores[0] < middle
    some = predictor.predict(paths, threshold=middle, top=2)
    assert some == [keep_best(one, middle, 2) for one in every]
    assert predictor.predict(paths) == [keep_best(one, 0.5) for one in every]
    with pytest.raises(UserError, match="top is 0"):
        predictor.predict(paths, top=0)
    with pytest.raises(UserError, match="threshold is 2; give a score from 0 to 1"):
        predictor.predict(paths, threshold=2)


def test_boxes_are_in_the_upright_picture(detector: Detector, tmp_path: Path) -> None:
    """A photograph that EXIF turns, its Pillow image and the turned array have the same objects."""
    exif = Image.Exif()
    exif[0x0112] = 6
    pixels = np.random.default_rng(0).integers(0, 256, (24, 60, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "turned.png", exif=exif)
    predictor = DetectorPredictor(detector, device="cpu")
    with Image.open(tmp_path / "turned.png") as image:
        given = [tmp_path / "turned.png", image, np.rot90(pixels, -1).copy()]
        of_file, of_image, of_array = (predictor.predict(one, threshold=0)[0] for one in given)
    assert of_file.size == (24, 60)
    assert of_file.objects == of_image.objects == of_array.objects
    assert of_array.image == "image 1"


def test_grey_pictures_and_classes_without_names(tmp_path: Path) -> None:
    """Grey is shown as colour; classes are numbered."""
    detector = make_finder(detections=3)
    detector.class_names = None
    (found,) = DetectorPredictor(detector, device="cpu").predict(np.zeros((40, 30), np.uint8), threshold=0)
    assert {one.name for one in found.objects or ()} <= {"class 0", "class 1", "class 2"}


def test_bad_images_are_handed_over(detector: Detector, tmp_path: Path) -> None:
    """Or stop the work."""
    draw_images(tmp_path, 1)
    (tmp_path / "bad.jpg").write_bytes(b"no image")
    predictor, noted = DetectorPredictor(detector, device="cpu"), []
    assert len(predictor.predict([tmp_path / "bad.jpg", tmp_path / "v000.jpg"], on_bad=noted.append)) == 1
    assert len(noted) == 1
    with pytest.raises(UserError, match=r"bad\.jpg is not an image"):
        predictor.predict(tmp_path / "bad.jpg")


def test_each_takes_its_own_kind(detector: Detector) -> None:
    """A classifier finds no objects, and a detector classifies no images; what it says of images, it says."""
    with pytest.raises(UserError, match="finds no objects; give a detector, or use Predictor"):
        DetectorPredictor(make_network())
    with pytest.raises(UserError, match="finder finds objects, but this needs a network that classifies images"):
        Predictor(detector)
    said = DetectorPredictor(detector, device="cpu").describe_preparation()
    assert said.endswith("shorter side 64, longer side at most 96")


def test_nothing_is_found_with_weights_that_are_not_finite(tmp_path: Path) -> None:
    """The picture and the tensor are named."""
    detector = make_finder()
    torch.nn.init.constant_(detector.outputs.scores.bias, torch.nan)
    draw_images(tmp_path, 1)
    with pytest.raises(UserError, match=r"finder gives detections that are not finite for .*v000.jpg: its outputs"):
        DetectorPredictor(detector, device="cpu").predict(tmp_path / "v000.jpg")
