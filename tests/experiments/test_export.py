"""A trained network is deployed with its preprocessing, and written only in a form its name says."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
import pytest
from tests.delivery.conftest import make_network
from tests.networks.detection.scenes import make_detector
from tests.photographs import make_photos
from tests.trials import DIGITS, make_photo_trial

import reslab
from reslab.cli.export import export as export_command
from reslab.data.catalogue import open_data
from reslab.data.photos.folder import PhotoDataset
from reslab.delivery.deployed_detector import DeployedDetector, check_detections
from reslab.delivery.detection_parity import DetectionParity
from reslab.delivery.pictures import Picture, pair_pictures
from reslab.errors import UserError
from reslab.experiments import export as exporting
from reslab.experiments.export import (
    choose_calibration,
    choose_int8_data,
    choose_pictures,
    deploy,
    export_int8,
    write_file,
)
from reslab.experiments.run import run_trial
from reslab.experiments.trained import Trained, find_own_data, load_run
from reslab.networks import create_model, save_model
from reslab.spec import Preprocess
from reslab.spec.trial import DataSpec


def test_fields_change_what_is_inside_and_outside(tmp_path: Path) -> None:
    """The size a file takes is the crop; a wrong ending is told before anything is computed."""
    deployed = deploy(Trained(origin="mine", network=make_network()), {"crop": "12", "mean": "[0.5,0.5,0.5]"})
    assert deployed.input_shape == (3, 12, 12)
    assert deployed.describe()["inside"]["mean"] == [0.5, 0.5, 0.5]
    assert deployed.describe()["resize_first"]["crop"] == 12
    with pytest.raises(UserError, match=r"--format torch-export needs a file that ends in \.pt2"):
        write_file(deployed, tmp_path / "network.onnx", "torch-export", [])
    assert not list(tmp_path.iterdir())


def test_from_python_as_on_the_command_line(tmp_path: Path) -> None:
    """Written and checked, with what a reader must know; mistakes are sentences."""
    weights, told = save_model(make_network(), tmp_path / "mine.safetensors"), []
    path = tmp_path / "mine.pt2"
    written = reslab.export(weights, out=path, format="torch-export", tell=told.append)
    assert (written.path, written.checked_on.split()[0], written.small) == (path, "synthetic", None)
    assert written.parity.agrees
    assert written.description["class_names"] == ("ants", "bees")
    assert told == [f"writing {path}, and checking it"]
    for options, sentence in (
        ({"format": "keras"}, "choose onnx, torch-export or torchvision"),
        ({"fields": {"data": "digits"}}, "'data' is an argument of export"),
        ({"int8": True, "format": "torchvision"}, "--int8 needs --format onnx"),
        ({"calibrate": tmp_path}, "--calibrate is for 8-bit files"),
        ({"out": weights, "format": "torchvision"}, "is the input file"),
    ):
        with pytest.raises(UserError, match=sentence):
            reslab.export(weights, **options)


def test_a_detector_is_written_as_onnx_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From its weights, checked on synthetic photographs; what only classifiers have is refused in a sentence."""
    detector = make_detector(shorter=64, longest=96)
    detector.preprocess, detector.class_names = Preprocess(mean=(0.5,), std=(0.5,)), ("bar", "disc")
    weights = str(save_model(detector, tmp_path / "it.safetensors"))
    for options, sentence in (
        ({"format": "torch-export"}, "--format torch-export is for classifiers; export a detector with --format onnx"),
        ({"format": "torchvision"}, "--format torchvision is for classifiers"),
        ({"int8": True}, "--int8 is for classifiers; leave it out to export a detector"),
    ):
        with pytest.raises(UserError, match=sentence):
            reslab.export(weights, out=tmp_path / "it.onnx", **options)  # pyright: ignore[reportArgumentType]
    monkeypatch.setattr(exporting, "write_detector", _write_nothing)
    export_command(weights, out=tmp_path / "it.onnx")
    said = " ".join(capsys.readouterr().out.split())
    assert "takes pixels batch x 3 x height x width, RGB, 0 to 255: images whose shorter side is 64" in said
    assert "gives detections batch x 10 x 6: box, score and class: bar, disc" in said
    assert "check 8 synthetic photographs (no images given): 160 of 160 detections of both alike" in said


def _write_nothing(deployed: DeployedDetector, path: Path, pictures: Iterable[Picture]) -> DetectionParity:
    """Write an empty file, and compare the network with itself."""
    path.touch()
    return check_detections(deployed, deployed, pictures)


@pytest.fixture
def trained(photos: PhotoDataset, tmp_path: Path) -> Trained:
    """A network trained, for an iteration, on a folder that is still there."""
    return load_run(run_trial(make_photo_trial(photos, recipe__iterations="1"), photos, tmp_path / "runs"))


def test_a_run_is_checked_on_its_own_test_images(trained: Trained, tmp_path: Path) -> None:
    """Those of the folder it was trained on, if that is there as it was; and it is said on what."""
    deployed = deploy(trained, {})
    what, pictures = choose_pictures(deployed, data=find_own_data(trained))
    tested = sorted((tmp_path / "photos" / "val").rglob("*.*"))
    assert what == "test images of photos"
    assert [picture.name for picture in pictures] == [str(path.relative_to(tmp_path / "photos")) for path in tested]
    assert write_file(deployed, tmp_path / "it.pt2", "torch-export", pictures).images == len(tested)
    shutil.copy(tested[0], tested[0].with_stem("another"))
    assert choose_pictures(deployed, data=find_own_data(trained))[0].startswith("synthetic photographs")
    shutil.rmtree(tmp_path / "photos")
    assert choose_pictures(deployed, data=find_own_data(trained))[0] == "synthetic photographs (no images given)"


def test_what_is_given_comes_first(trained: Trained, tmp_path: Path) -> None:
    """Images, then the data; of many images some, from first to last."""
    deployed, photo = deploy(trained, {}), next((tmp_path / "photos").rglob("*.jpg"))
    data = open_data(str(make_photos(tmp_path / "others", val=30)))
    what, pictures = choose_pictures(deployed, images=[photo], data=data)
    assert (what, [picture.name for picture in pictures]) == ("images", [str(photo)])
    what, pictures = choose_pictures(deployed, data=data)
    names = [picture.name for picture in pictures]
    assert (what, len(names)) == ("test images of others", 32)
    assert (names[0], names[-1]) == ("val/blues/000.jpg", "val/greens/029.jpg")


def test_data_by_name_is_at_hand_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The digits always are; what was never fetched is no error."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path))
    network = create_model("cifar-resnet-8", channels=1, input_size=8)
    network.preprocess = Preprocess(mean=(0.5,))
    for name, words in (("digits", "test images of digits"), ("cifar10", "synthetic photographs")):
        data = DataSpec(name=name, fingerprint=DIGITS.fingerprint)
        trained = Trained(origin="mine", network=network, data=data)
        assert choose_pictures(deploy(trained, {}), data=find_own_data(trained))[0].startswith(words)


def test_eight_bits_are_tried_on_images_of_its_classes(trained: Trained, tmp_path: Path) -> None:
    """As many of others, or more of them, are refused."""
    deployed = deploy(trained, {})
    assert choose_int8_data(deployed, open_data(str(tmp_path / "photos"))).class_names == ("blues", "greens")
    (tmp_path / "photos").rename(tmp_path / "others")
    for part in ("train", "val"):
        (tmp_path / "others" / part / "greens").rename(tmp_path / "others" / part / "reds")
    with pytest.raises(UserError, match="other classes: it has 'greens' where others has 'reds'"):
        choose_int8_data(deployed, open_data(str(tmp_path / "others")))
    with pytest.raises(UserError, match="has 2 outputs, but digits has 10 classes; give the data it was trained for"):
        choose_int8_data(deployed, DIGITS)


def test_ranges_come_from_images_that_are_not_tested(tmp_path: Path) -> None:
    """Of those to train on, or of a folder without labels, evenly spread; of a test image, by whatever name, none."""
    root = make_photos(tmp_path / "photos")
    data = pair_pictures(open_data(str(root)))
    trained = choose_calibration(data)
    assert (trained.words, len(list(trained.pictures))) == ("16 training images of photos", 16)
    photos = [(root / file).rename(tmp_path / f"{number}.jpg") for number, file in enumerate(data.train.split.files)]
    shutil.rmtree(root / "train")
    data, many = pair_pictures(open_data(str(root))), photos * 10
    with pytest.raises(UserError, match="photos has no training images to calibrate on; give a folder"):
        choose_calibration(data)
    given = choose_calibration(data, images=many)
    assert given.words == "128 of 160 images given"
    names = [picture.name for picture in given.pictures]
    assert (len(names), names[0], names[-1], set(names)) == (
        128,
        str(photos[0]),
        str(photos[-1]),
        set(map(str, photos)),
    )
    copied = shutil.copy(root / data.test.split.files[0], tmp_path / "another.jpg")
    with pytest.raises(UserError, match="1 of the 17 images to calibrate on are test images of photos"):
        choose_calibration(data, images=[*photos, Path(copied)])


def test_eight_bits_that_give_no_numbers_are_not_kept(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file in full stays: it agrees with the network."""
    deployed, data = deploy(trained, {}), open_data(str(tmp_path / "photos"))
    source, target = tmp_path / "it.onnx", tmp_path / "it-int8.onnx"
    write_file(deployed, source, "onnx", choose_pictures(deployed, data=data)[1])
    labelled = choose_int8_data(deployed, data)
    monkeypatch.setattr(exporting, "quantize", lambda deployed, source, target, pictures: _write_nan(source, target))
    with pytest.raises(UserError, match=rf"{target} gives logits that are not finite for val/blues/000\.jpg"):
        export_int8(deployed, source, target, labelled, calibration=labelled.train)
    assert source.exists() and not target.exists()


def _write_nan(source: Path, target: Path) -> None:
    """Write an ONNX file whose classifier is not finite."""
    model = onnx.load(source)
    bias = next(tensor for tensor in model.graph.initializer if tensor.name.endswith("classifier.bias"))
    bias.CopyFrom(onnx.numpy_helper.from_array(np.full(2, np.nan, np.float32), bias.name))
    onnx.save(model, target)
