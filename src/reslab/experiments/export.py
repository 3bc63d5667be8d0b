"""A trained network becomes a file for another runtime, checked before it is kept; eight bits are tried on images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from reslab.delivery.export import Deployed, Parity, make_pictures, write_onnx, write_program
from reslab.delivery.intake import make_intake
from reslab.delivery.pictures import LabelledData, OnBad, Picture, open_labelled
from reslab.delivery.quantization import OnnxScore, quantize, refuse_other_classes, score_onnx
from reslab.delivery.torchvision import write_torchvision
from reslab.errors import UserError, choices
from reslab.experiments.trained import Trained, choose_preprocess

WRITERS: dict[str, Callable[[Deployed, Path, Iterable[Picture]], Parity]] = {
    "onnx": write_onnx,
    "torch-export": write_program,
    "torchvision": write_torchvision,
}
ENDINGS = {"onnx": (".onnx",), "torch-export": (".pt2",), "torchvision": (".pth", ".pt", ".safetensors")}
CALIBRATION = 128  # pictures


def deploy(trained: Trained, preprocess: Mapping[str, Any]) -> Deployed:
    """Return a trained network with the arithmetic of its preprocessing in front, on the CPU."""
    network = trained.network.cpu()
    return Deployed(network, make_intake(network, preprocess=choose_preprocess(trained, preprocess)))


def export(deployed: Deployed, path: Path, form: str, pictures: Iterable[Picture] | None = None) -> Parity:
    """Write a file that agrees with the network on `pictures`, or on synthetic ones."""
    if path.suffix not in ENDINGS[form]:
        raise UserError(f"--out is {path}; a file of {form} ends in {choices(ENDINGS[form])}")
    return WRITERS[form](deployed, path, make_pictures(deployed.intake) if pictures is None else pictures)


def open_int8_data(
    deployed: Deployed, word: str, *, held_out_seed: int = 0, on_bad: OnBad | None = None
) -> LabelledData:
    """Open the data that eight bits are tried on: a folder or dataset of the classes the network knows."""
    data = open_labelled(word, held_out_seed=held_out_seed, on_bad=on_bad)
    refuse_other_classes(deployed, data.class_names, data=data.name)
    return data


def export_int8(
    deployed: Deployed,
    source: Path,
    target: Path,
    data: LabelledData,
    *,
    tell: Callable[[str], None] = lambda what: None,
) -> tuple[OnnxScore, OnnxScore]:
    """Quantize an ONNX file by training images; return how both do on the test images."""
    tell("calibrating")
    quantize(deployed, source, target, data.train.spread(CALIBRATION))
    tell(f"testing both on {len(data.test):,} images")
    before, after = (score_onnx(deployed, path, data.test) for path in (source, target))
    return before, after
