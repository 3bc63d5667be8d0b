"""Weights of detectors: from a classifier to start from, in files of ours, and as torchvision names them.

A file is as that of any network; beside the network's spec its task has the detector's fields.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from reslab.errors import UserError
from reslab.files import slug
from reslab.networks.detection.detector import Detector
from reslab.networks.freezing import head_parameters
from reslab.networks.weights import torchvision
from reslab.networks.weights.file import FORMAT, MEAN_IMAGE, Weights
from reslab.networks.weights.places import COUNTER, parse_place
from reslab.networks.weights.reading import load_tensors
from reslab.runtime.sealed import read_sealed, seal, write_sealed
from reslab.spec import NetworkSpec, Preprocess, find, name_of, spec_from_dict, spec_to_dict
from reslab.spec.catalogue import contradictions
from reslab.spec.codec import convert, decode, encode
from reslab.spec.detection import Detection

TRUNK = "trunk."
# Ours and torchvision's, for what is not the network itself.
PARTS = {
    r"pyramid\.lateral\.(\d)": r"backbone.fpn.inner_blocks.\1.0",
    r"pyramid\.output\.(\d)": r"backbone.fpn.layer_blocks.\1.0",
    r"proposer\.head\.conv": "rpn.head.conv.0.0",
    r"proposer\.head\.objectness": "rpn.head.cls_logits",
    r"proposer\.head\.boxes": "rpn.head.bbox_pred",
    r"hidden\.fc1": "roi_heads.box_head.fc6",
    r"hidden\.fc2": "roi_heads.box_head.fc7",
    r"outputs\.scores": "roi_heads.box_predictor.cls_score",
    r"outputs\.boxes": "roi_heads.box_predictor.bbox_pred",
}
# What torchvision's older files call them.
OLDER = {
    r"(backbone\.fpn\.(?:inner|layer)_blocks\.\d)\.(weight|bias)": r"\1.0.\2",
    r"rpn\.head\.conv\.(weight|bias)": r"rpn.head.conv.0.0.\1",
}


def start_from_classifier(detector: Detector, weights: Weights, *, origin: str) -> None:
    """Load what a classifier has learnt into a detector's network; its classifier is left out."""
    wanted = replace(detector.spec, classes=weights.spec.classes)
    different = contradictions(wanted, weights.spec)
    if different:
        field, (asked, found) = next(iter(different.items()))
        raise UserError(
            f"{origin} holds {name_of(weights.spec)}, whose {field} is {found}, not {asked}; give weights of "
            f"{name_of(wanted)}, or ask for that network"
        )
    head = head_parameters(weights.spec)
    load_tensors(
        detector.trunk, {name: tensor for name, tensor in weights.tensors.items() if name not in head}, origin=origin
    )
    detector.preprocess, detector.mean_image, detector.origin = weights.preprocess, weights.mean_image, origin


def save_detector(
    detector: Detector,
    target: str | Path,
    *,
    metrics: Mapping[str, float] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Path:
    """Write a detector to the file `target`, or into the folder `target` under a name with a hash. Return the path."""
    path, tensors = Path(target), detector.state_dict()
    if any(tensor.is_meta for tensor in tensors.values()):
        raise UserError("a detector on the meta device has no weights to save; build it on another device")
    about = {
        "format": FORMAT,
        "spec": spec_to_dict(detector.spec),
        "preprocess": encode(detector.preprocess),
        "class_names": detector.class_names,
        "class_words": detector.class_words,
        "metrics": dict(metrics or {}),
        "provenance": dict(provenance or {}),
        "task": {"name": Detection.name, **encode(detector.detection)},
    }
    if detector.mean_image is not None:
        tensors[MEAN_IMAGE] = detector.mean_image
    if path.suffix != ".safetensors":
        name = slug(name_of(detector.spec).split()[0])
        path = path / f"{name}-{detector.plan.head}-{seal(about, tensors)[:8]}.safetensors"
    write_sealed(path, tensors, about)
    return path


def load_detector(path: str | Path) -> Detector:
    """Rebuild a detector from a file of `save_detector`. The file is all it needs."""
    tensors, about = read_sealed(Path(path))
    try:
        fields = dict(about["task"])
        if fields.pop("name") != Detection.name:
            raise ValueError(f"its task is {about['task']['name']}")
        detector = Detector(spec_from_dict(about["spec"]), decode(Detection, fields, where="task."))
        detector.preprocess = decode(Preprocess, about["preprocess"]) if about["preprocess"] else None
        detector.class_names = convert(tuple[str, ...] | None, about["class_names"], where="class_names")
        detector.class_words = dict(about["class_words"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{path} is not a detector's ({error}); give a file that save_detector wrote") from error
    detector.mean_image, detector.origin = tensors.pop(MEAN_IMAGE, None), str(path)
    load_tensors(detector, tensors, origin=str(path))
    return detector


def torchvision_detector(*, classes: int, epsilon: float = 0.0) -> tuple[NetworkSpec, Detection]:
    """Return what torchvision's `fasterrcnn_resnet50_fpn` is, so many classes beside background.

    Its released weights are for an `epsilon` of 0 in the frozen normalizations; networks it makes anew have 1e-5.
    """
    spec = find("resnet-50-v1.5", {"classes": classes})
    assert isinstance(spec, NetworkSpec)
    return spec, Detection(head="fpn", norm_epsilon=epsilon)


def to_torchvision(detector: Detector) -> dict[str, Tensor]:
    """Return the state dict of a pyramid's detector under torchvision's names."""
    names = _names(detector)
    return {names[name]: tensor for name, tensor in detector.state_dict().items() if name in names}


def load_torchvision(detector: Detector, tensors: Mapping[str, Tensor], *, origin: str) -> None:
    """Load a state dict of torchvision's `fasterrcnn_resnet50_fpn` into a detector made for it."""
    ours = {theirs: name for name, theirs in _names(detector).items()}
    load_tensors(
        detector, {ours.get(_modernize(name), name): tensor for name, tensor in tensors.items()}, origin=origin
    )


def _modernize(name: str) -> str:
    for older, newer in OLDER.items():
        name = re.sub(f"^{older}$", newer, name)
    return name


def _names(detector: Detector) -> dict[str, str]:
    """Map our names to torchvision's; counters have none there."""
    if detector.plan.head != "fpn" or not isinstance(detector.spec, NetworkSpec):
        raise UserError("torchvision has detectors with a pyramid only; use task.head=fpn")
    names = {}
    for name in detector.state_dict():
        place = parse_place(name.removeprefix(TRUNK))
        if name.endswith(COUNTER):
            continue
        if name.startswith(TRUNK) and place is not None:
            names[name] = f"backbone.body.{torchvision.name_place(place, detector.spec)}"
        else:
            part, _, leaf = name.rpartition(".")
            theirs = (re.sub(ours, new, part) for ours, new in PARTS.items() if re.fullmatch(ours, part))
            names[name] = f"{next(theirs)}.{leaf}"
    return names
