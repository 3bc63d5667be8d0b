"""Weights of detectors: from a classifier to start from, and as torchvision names them."""

import re
from collections.abc import Mapping

from torch import Tensor

from reslab.errors import UserError
from reslab.networks.detection.detector import Detector
from reslab.networks.freezing import head_parameters
from reslab.networks.weights import torchvision
from reslab.networks.weights.file import Weights
from reslab.networks.weights.places import COUNTER, parse_place
from reslab.networks.weights.reading import load_tensors
from reslab.spec import NetworkSpec, find
from reslab.spec.detection import Detection

BODY, SEPARATE = "body.", "separate."
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
    head = head_parameters(weights.spec, weights.task)
    load_tensors(
        detector.body, {name: tensor for name, tensor in weights.tensors.items() if name not in head}, origin=origin
    )


def fit_proposals(detector: Detector, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return what another detector has learnt as one with a detector's trunks has it.

    What proposes with a trunk of its own is dropped where there is none; where there is one and the other has none,
    it proposes as the other one does.
    """
    shared = {name: tensor for name, tensor in tensors.items() if not name.startswith(SEPARATE)}
    if detector.separate is None or len(shared) < len(tensors):
        return shared if detector.separate is None else dict(tensors)
    own = {SEPARATE + name: tensors[name] for name in detector.separate.state_dict() if name in tensors}
    return shared | own


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
    if detector.separate is not None:
        raise UserError("torchvision has detectors with one trunk only; use task.trunks=shared")
    names = {}
    for name in detector.state_dict():
        place = parse_place(name.removeprefix(BODY))
        if name.endswith(COUNTER):
            continue
        if name.startswith(BODY) and place is not None:
            names[name] = f"backbone.body.{torchvision.name_place(place, detector.spec)}"
        else:
            part, _, leaf = name.rpartition(".")
            theirs = (re.sub(ours, new, part) for ours, new in PARTS.items() if re.fullmatch(ours, part))
            names[name] = f"{next(theirs)}.{leaf}"
    return names
