"""A trained network becomes a file for another runtime, checked before it is kept; eight bits are tried on images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reslab.data.catalogue import LOADERS, open_data
from reslab.data.dataset import Dataset
from reslab.data.photos.folder import PhotoDataset
from reslab.delivery.export import Deployed, Parity, make_pictures, write_onnx, write_program
from reslab.delivery.intake import make_intake
from reslab.delivery.pictures import LabelledData, OnBad, Picture, Pictures, open_labelled, read_images
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
CALIBRATION, CHECKED = 128, 32  # pictures


def deploy(trained: Trained, preprocess: Mapping[str, Any]) -> Deployed:
    """Return a trained network with the arithmetic of its preprocessing in front, on the CPU."""
    network = trained.network.cpu()
    return Deployed(network, make_intake(network, preprocess=choose_preprocess(trained, preprocess)))


def export(deployed: Deployed, path: Path, form: str, pictures: Iterable[Picture]) -> Parity:
    """Write a file that agrees with the network on `pictures`."""
    if path.suffix not in ENDINGS[form]:
        raise UserError(f"--out is {path}; a file of {form} ends in {choices(ENDINGS[form])}")
    return WRITERS[form](deployed, path, pictures)


def choose_pictures(
    trained: Trained,
    deployed: Deployed,
    *,
    images: Sequence[Path] = (),
    data: LabelledData | None = None,
    on_bad: OnBad | None = None,
) -> tuple[str, Iterable[Picture]]:
    """Return what to check a file on, in words and as pictures: real ones wherever there are any.

    They are the `images` given, else test images of `data`, else of what the network was trained on if that is at hand.
    """
    if images:
        return "images", read_images(images, on_bad=on_bad)
    if data is not None:
        return f"test images of {data.name}", data.test.spread(CHECKED)
    dataset = _find_own_data(trained)
    if dataset is None or trained.data is None:
        return "synthetic photographs, as no real ones are at hand", make_pictures(deployed.intake)
    if trained.data.on_bad_image == "skip":
        on_bad = on_bad or (lambda error: None)
    brightest = dataset.brightest if isinstance(dataset, Dataset) else 255
    own = Pictures(split=dataset.test, brightest=brightest, on_bad=on_bad)
    return f"test images of {dataset.name}", own.spread(CHECKED)


def _find_own_data(trained: Trained) -> Dataset | PhotoDataset | None:
    """Open what a network was trained on: a dataset by its name, a folder where its run last found it, unchanged."""
    if trained.data is None:
        return None
    try:
        word = trained.data.name
        if word not in LOADERS:
            word = trained.run.read("provenance")["sittings"][-1].get("data_at", "") if trained.run else ""
        dataset = open_data(word, held_out_seed=trained.held_out_seed)
        return dataset if dataset.fingerprint == trained.data.fingerprint else None
    except (UserError, LookupError):  # it was never fetched here, is no longer there, or was not written down
        return None


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
