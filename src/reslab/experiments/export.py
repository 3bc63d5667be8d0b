"""A trained network becomes a file for another runtime, checked before it is kept; eight bits are tried on images."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reslab.data.catalogue import open_data
from reslab.data.dataset import Dataset
from reslab.data.photos.members import digest_content
from reslab.delivery.deployed import (
    Deployed,
    Parity,
    require_onnx,
    write_onnx,
    write_program,
    write_torchvision,
)
from reslab.delivery.deployed_detector import DeployedDetector, write_detector
from reslab.delivery.detection_parity import DetectionParity
from reslab.delivery.intake import make_intake
from reslab.delivery.pictures import (
    LabelledData,
    OnBad,
    Picture,
    Pictures,
    find_images,
    pair_pictures,
    read_images,
    spread,
)
from reslab.delivery.quantization import OnnxScore, quantize, score_onnx
from reslab.errors import UserError, choices
from reslab.experiments.preflight import refuse_other_classes
from reslab.experiments.subjects import Given, load_trained, note_bad, read_fields, refuse_overwriting
from reslab.experiments.trained import Trained, choose_preprocess, find_own_data, refuse_other_task
from reslab.files import refuse_closed_place, slug
from reslab.networks.detection.detector import Detector
from reslab.runtime.listener import Listener
from reslab.spec.words import is_file, preprocess_fields

CALIBRATION = 128  # pictures
FIELDS = ("data.on_bad_image",)  # and those of the preprocessing


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


@dataclass(frozen=True, kw_only=True)
class Exported:
    """A file that was written, and on what it was checked; `description` is what stands in its metadata.

    Where eight bits were asked for, `small` is their file, with ranges from images of `calibrated_on`, and `tests` are
    how both files do on images of `tested_on`.
    """

    subject: str
    path: Path
    format: str
    task: str
    checked_on: str
    parity: Parity | DetectionParity
    description: dict[str, Any]
    small: Path | None = None
    calibrated_on: str | None = None
    tested_on: str | None = None
    tests: tuple[OnnxScore, ...] = ()


@dataclass(frozen=True)
class Calibration:
    """The pictures that ranges of activations are seen on, in words and as pictures."""

    words: str
    pictures: Iterable[Picture]


def export(
    subject: Given,
    *images: str | Path,
    out: str | Path | None = None,
    format: str = "onnx",
    int8: bool = False,
    calibrate: str | Path | None = None,
    data: str | Path | None = None,
    weights: str | Path | None = None,
    fields: Mapping[str, Any] | None = None,
    runs: str | Path | None = None,
    tell: Callable[[str], None] = lambda what: None,
    warn: Callable[[str], None] = warnings.warn,
) -> Exported:
    """Write a trained network for another runtime and check that it gives the same there, as `reslab export` does.

    `format` is onnx, torch-export or torchvision; `out` is the file, by default named after the subject. It is checked
    on `images`, else on test images of `data` or of what the network was trained on, else on synthetic ones. `int8`
    writes an eight-bit ONNX file too, its ranges from images of the folder `calibrate`, else from training images, and
    tests both. `fields` are those of the command line, such as {"preprocess.resize": 32}. `tell` is told what is being
    done.
    """
    given = read_fields("export", fields, FIELDS, {"data": data, "weights": weights})
    if format not in FORMS:
        raise UserError(f"--format is '{format}'; choose {choices(FORMS)}")
    if int8 and format != "onnx":
        raise UserError(f"--int8 needs --format onnx, not {format}; leave one of them out")
    if calibrate is not None and not int8:
        raise UserError("--calibrate is for 8-bit files; add --int8, or leave out --calibrate")
    if format == "onnx":
        require_onnx()
    if out is not None:
        refuse_closed_place(Path(out))
    with note_bad(given, warn) as noted:
        on_bad: OnBad | None = noted
        found = find_images(images, on_bad=on_bad)
        to_calibrate = find_images([calibrate], on_bad=on_bad) if calibrate is not None else []
        trained = load_trained(subject, given, runs)
        detector = trained.network if isinstance(trained.network, Detector) else None
        if detector is not None:
            _refuse_for_detectors(format, int8=int8)
        path = Path(out) if out else Path(_stem(trained.origin) + FORMS[format].endings[0])
        refuse_overwriting(path, subject, given, trained.run)
        refuse_closed_place(path)
        fields = preprocess_fields(given)
        deployed = deploy(trained, fields) if detector is None else deploy_detector(trained, detector, fields)
        dataset = None
        if "data" in given:
            dataset = open_data(given["data"], known=trained.data, listener=Listener(warn=warn))
        elif int8 or not found:
            dataset = find_own_data(trained)
            if on_bad is None and trained.skipped_bad:
                on_bad = _pass_over
        labelled = None
        if int8 and isinstance(deployed, Deployed):
            labelled = choose_int8_data(deployed, dataset, on_bad=on_bad)
        calibration = choose_calibration(labelled, images=to_calibrate, on_bad=on_bad) if labelled else None
        what, pictures = choose_pictures(deployed, images=found, data=dataset, on_bad=on_bad)
        tell(f"writing {path}, and checking it")
        parity = write_file(deployed, path, format, pictures)
        small, tests = None, ()
        if labelled is not None and calibration is not None and isinstance(deployed, Deployed):
            small = path.with_name(f"{path.stem}-int8{path.suffix}")
            try:
                tests = export_int8(deployed, path, small, labelled, calibration=calibration.pictures, tell=tell)
            except UserError as error:
                raise UserError(f"wrote {path}, but not {small}: {error}") from error
    return Exported(
        subject=trained.origin,
        path=path,
        format=format,
        task=deployed.network.task.name,
        checked_on=what,
        parity=parity,
        description=deployed.describe(),
        small=small,
        calibrated_on=calibration.words if calibration else None,
        tested_on=labelled.name if labelled else None,
        tests=tests,
    )


def deploy(trained: Trained, preprocess: Mapping[str, Any]) -> Deployed:
    """Return a trained network with the arithmetic of its preprocessing in front, on the CPU."""
    network = trained.network.cpu()
    return Deployed(network, make_intake(network, preprocess=choose_preprocess(trained, preprocess)))


def deploy_detector(trained: Trained, detector: Detector, preprocess: Mapping[str, Any]) -> DeployedDetector:
    """Return the same of a detector."""
    return DeployedDetector(detector.cpu(), choose_preprocess(trained, preprocess))


def write_file(
    deployed: Deployed | DeployedDetector, path: Path, form: str, pictures: Iterable[Picture]
) -> Parity | DetectionParity:
    """Write a file that agrees with the network on `pictures`."""
    if path.suffix not in FORMS[form].endings:
        raise UserError(f"--out is {path}; --format {form} needs a file that ends in {choices(FORMS[form].endings)}")
    if isinstance(deployed, DeployedDetector):
        return write_detector(deployed, path, pictures)
    return FORMS[form].write(deployed, path, pictures)


def choose_pictures(
    deployed: Deployed | DeployedDetector,
    *,
    images: Sequence[Path] = (),
    data: Dataset | None = None,
    on_bad: OnBad | None = None,
) -> tuple[str, Iterable[Picture]]:
    """Return what to check a file on, in words and as pictures: the `images` given, else test images of `data`."""
    if images:
        return "images", read_images(images, on_bad=on_bad)
    if data is None:
        return "synthetic photographs (no images given)", deployed.make_pictures()
    tested = Pictures(split=data.test, brightest=data.brightest, on_bad=on_bad)
    return f"test images of {data.name}", tested.spread(deployed.checked)


def choose_int8_data(deployed: Deployed, data: Dataset | None, *, on_bad: OnBad | None = None) -> LabelledData:
    """Return the pictures that eight bits are tried on, of the classes the network knows."""
    if data is None:
        raise UserError("--int8 needs images to calibrate and test on; write data=NAME|FOLDER")
    names = deployed.network.task.name_outputs(data.class_names)
    refuse_other_task(deployed.intake.network, deployed.network, data)
    refuse_other_classes(deployed.intake.network, deployed.network, data, names)
    return pair_pictures(data, on_bad=on_bad)


def choose_calibration(data: LabelledData, *, images: Sequence[Path] = (), on_bad: OnBad | None = None) -> Calibration:
    """Return up to 128 pictures, evenly spread: of `images`, of which none may be tested on, else of those to train."""
    if images:
        _refuse_tested(images, data)
        chosen = [images[index] for index in spread(len(images), CALIBRATION)]
        return Calibration(f"{len(chosen)} of {len(images):,} images given", read_images(chosen, on_bad=on_bad))
    if not len(data.train):
        raise UserError(
            f"{data.name} has no training images to calibrate on; give a folder of other images, --calibrate FOLDER"
        )
    pictures = data.train.spread(CALIBRATION)
    return Calibration(f"{len(pictures)} training images of {data.name}", pictures)


def export_int8(
    deployed: Deployed,
    source: Path,
    target: Path,
    data: LabelledData,
    *,
    calibration: Iterable[Picture],
    tell: Callable[[str], None] = lambda what: None,
) -> tuple[OnnxScore, OnnxScore]:
    """Quantize an ONNX file by other pictures; return how both do on the test images. One that fails them goes."""
    tell(f"testing on {len(data.test):,} images")
    before = score_onnx(deployed, source, data.test)
    tell("calibrating")
    quantize(deployed, source, target, calibration)
    tell(f"testing the 8-bit file on {len(data.test):,} images")
    try:
        return before, score_onnx(deployed, target, data.test)
    except UserError:
        target.unlink()
        raise


def _refuse_for_detectors(form: str, *, int8: bool) -> None:
    """Refuse what only classifiers have."""
    if form != "onnx":
        raise UserError(f"--format {form} is for classifiers; export a detector with --format onnx")
    if int8:
        raise UserError("--int8 is for classifiers; leave it out to export a detector")


def _refuse_tested(images: Sequence[Path], data: LabelledData) -> None:
    """Refuse to calibrate on images that are tested on too, by whatever name, where that is known in seconds."""
    tested = data.test.split.digests()
    if tested is None:
        return
    given = np.frombuffer(b"".join(digest_content(path)[:8] for path in images), np.int64)
    if both := int(np.isin(given, tested).sum()):
        raise UserError(
            f"{both:,} of the {len(images):,} images to calibrate on are test images of {data.name}; "
            "give --calibrate other images"
        )


def _pass_over(error: UserError) -> None:
    """Leave out a bad image that its training left out too, and told of."""


def _stem(origin: str) -> str:
    """Return what a file is called after where its network comes from: a weight file, a run, a name with weights."""
    return Path(origin).stem if is_file(origin) else slug(origin)
