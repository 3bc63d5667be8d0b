"""A trained network becomes a file for another runtime, checked before it is kept; eight bits are tried on images."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reslab.data.dataset import Dataset
from reslab.delivery.deployed import Deployed, Parity, make_pictures, write_onnx, write_program, write_torchvision
from reslab.delivery.intake import make_intake
from reslab.delivery.pictures import LabelledData, OnBad, Picture, Pictures, label_pictures, read_images
from reslab.delivery.quantization import OnnxScore, quantize, score_onnx
from reslab.errors import UserError, choices
from reslab.experiments.preflight import refuse_other_classes
from reslab.experiments.trained import Trained, choose_preprocess

CALIBRATION, CHECKED = 128, 32  # pictures


@dataclass(frozen=True)
class Form:
    """What writes a file, and how its name may end, first as it does by default."""

    write: Callable[[Deployed, Path, Iterable[Picture]], Parity]
    endings: tuple[str, ...]


FORMS = {
    "onnx": Form(write_onnx, (".onnx",)),
    "torch-export": Form(write_program, (".pt2",)),
    "torchvision": Form(write_torchvision, (".pth", ".pt", ".safetensors")),
}


def deploy(trained: Trained, preprocess: Mapping[str, Any]) -> Deployed:
    """Return a trained network with the arithmetic of its preprocessing in front, on the CPU."""
    network = trained.network.cpu()
    return Deployed(network, make_intake(network, preprocess=choose_preprocess(trained, preprocess)))


def export(deployed: Deployed, path: Path, form: str, pictures: Iterable[Picture]) -> Parity:
    """Write a file that agrees with the network on `pictures`."""
    if path.suffix not in FORMS[form].endings:
        raise UserError(f"--out is {path}; a file of {form} ends in {choices(FORMS[form].endings)}")
    return FORMS[form].write(deployed, path, pictures)


def choose_pictures(
    deployed: Deployed,
    *,
    images: Sequence[Path] = (),
    data: Dataset | None = None,
    on_bad: OnBad | None = None,
) -> tuple[str, Iterable[Picture]]:
    """Return what to check a file on, in words and as pictures: the `images` given, else test images of `data`."""
    if images:
        return "images", read_images(images, on_bad=on_bad)
    if data is None:
        return "synthetic photographs, as no real ones are at hand", make_pictures(deployed.intake)
    tested = Pictures(split=data.test, brightest=data.brightest, on_bad=on_bad)
    return f"test images of {data.name}", tested.spread(CHECKED)


def choose_int8_data(deployed: Deployed, data: Dataset | None, *, on_bad: OnBad | None = None) -> LabelledData:
    """Return the pictures that eight bits are tried on, of the classes the network knows."""
    if data is None:
        raise UserError("--int8 takes its ranges from images and is measured on some; write data=NAME|FOLDER")
    labelled = label_pictures(data, on_bad=on_bad)
    refuse_other_classes(deployed.intake.network, deployed.network, data, data.class_names)
    return labelled


def export_int8(
    deployed: Deployed,
    source: Path,
    target: Path,
    data: LabelledData,
    *,
    tell: Callable[[str], None] = lambda what: None,
) -> tuple[OnnxScore, OnnxScore]:
    """Quantize an ONNX file by training images; return how both do on the test images. One that fails them goes."""
    tell(f"testing on {len(data.test):,} images")
    before = score_onnx(deployed, source, data.test)
    tell("calibrating")
    quantize(deployed, source, target, data.train.spread(CALIBRATION))
    tell(f"testing eight bits on {len(data.test):,} images")
    try:
        return before, score_onnx(deployed, target, data.test)
    except UserError:
        target.unlink()
        raise
