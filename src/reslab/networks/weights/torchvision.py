"""torchvision's names (timm's are the same) and what weights under them were trained with.

Its ResNets are v1.5: stride in the 3x3, padded max-pool, projections where dimensions change. Names do not say how
images were prepared: what is said here holds for its first generation, and `published` knows its own files better.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from typing import get_args

from torch import Tensor, nn

from reslab.errors import UserError
from reslab.networks.build import build
from reslab.networks.weights.places import COUNTER, Place
from reslab.spec import NetworkSpec, Preprocess, Spec, StageSpec, StemSpec, TorchvisionSpec
from reslab.spec.comparators import TorchvisionName
from reslab.spec.preprocess import TORCHVISION, TORCHVISION_EFFICIENTNET, TORCHVISION_GOOGLENET

PREPROCESS: dict[TorchvisionName, Preprocess] = {
    "googlenet": TORCHVISION_GOOGLENET,
    "efficientnet_b0": TORCHVISION_EFFICIENTNET,
}


def recognizes(tensors: Mapping[str, Tensor]) -> bool:
    """Whether these are a torchvision ResNet's names, or those of one of its networks we build."""
    return {"conv1.weight", "layer1.0.conv1.weight", "fc.weight"} <= tensors.keys() or bool(_architecture(tensors))


def modernize(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename what torchvision's published DenseNet files still call 'norm.1' to today's 'norm1'."""
    old = re.compile(r"(denselayer\d+\.(?:norm|conv))\.(\d)")
    return {old.sub(r"\1\2", name): tensor for name, tensor in tensors.items()}


def infer(tensors: Mapping[str, Tensor]) -> tuple[Spec, Preprocess | None]:
    """Return the network these tensors were trained as."""
    architecture = _architecture(tensors)
    if architecture:
        return _infer_other(architecture, tensors)
    stem = tensors["conv1.weight"]
    large = stem.shape[-1] == 7
    block = "bottleneck" if "layer1.0.conv3.weight" in tensors else "basic"
    _refuse_grouped(tensors)
    return NetworkSpec(
        stem=StemSpec(kernel=stem.shape[-1], width=stem.shape[0], stride=2 if large else 1),
        pool="padded" if large else "none",
        stages=infer_stages(tensors),
        block=block,
        shortcut="B",
        stride_in="3x3",
        init="he-fan-out",
        classes=tensors["fc.weight"].shape[0],
        channels=stem.shape[1],
        input_size=224 if large else 32,
    ), TORCHVISION if large else None  # who trains on small images normalizes as they like


def _refuse_grouped(tensors: Mapping[str, Tensor]) -> None:
    """Refuse a ResNeXt, which has a ResNet's names: the kernels of its 3x3 layers see a part of the channels each."""
    first, second = (tensors.get(f"layer1.0.conv{number}.weight") for number in (1, 2))
    if first is not None and second is not None and (groups := first.shape[0] // max(1, second.shape[1])) > 1:
        raise UserError(f"its 3x3 convolutions are in {groups} groups, as in ResNeXt, which is not among our networks")


def infer_stages(tensors: Mapping[str, Tensor]) -> tuple[StageSpec, ...]:
    """Read the stages off the names and shapes of ``layerN.M.convK.weight``."""
    blocks: dict[int, set[int]] = {}
    for name in tensors:
        match = re.match(r"layer(\d+)\.(\d+)\.", name)
        if match:
            blocks.setdefault(int(match[1]), set()).add(int(match[2]))
    stages = []
    for number, (stage, present) in enumerate(sorted(blocks.items()), start=1):
        first = tensors.get(f"layer{stage}.0.conv1.weight")
        if first is None or stage != number or max(present) != len(present) - 1:
            raise UserError(f"its blocks are not numbered in a row: layer{number} has {sorted(present)[:8]}")
        stages.append(StageSpec(blocks=len(present), width=first.shape[0], stride=1 if stage == 1 else 2))
    return tuple(stages)


def name_place(place: Place, spec: NetworkSpec) -> str:
    """Return torchvision's name for a place."""
    if place.part == "classifier":
        return f"fc.{place.leaf}"
    if place.part == "stem":
        return f"{'conv1' if place.operator == 'conv' else 'bn1'}.{place.leaf}"
    block = f"layer{place.stage - 1}.{place.block - 1}"
    if place.part == "projection":
        return f"{block}.downsample.{0 if place.operator == 'conv' else 1}.{place.leaf}"
    return f"{block}.{'conv' if place.operator == 'conv' else 'bn'}{place.layer}.{place.leaf}"


def _infer_other(architecture: TorchvisionName, tensors: Mapping[str, Tensor]) -> tuple[Spec, Preprocess | None]:
    modules = list(
        build(TorchvisionSpec(architecture=architecture), device="meta").get_submodule("model").named_modules()
    )
    first = next(name for name, module in modules if isinstance(module, nn.Conv2d))
    head = [name for name, module in modules if isinstance(module, nn.Linear)][-1]
    input_size = 224
    if architecture == "vit_b_16":
        patches = tensors["encoder.pos_embedding"].shape[1] - 1  # one more for the class
        input_size = 16 * math.isqrt(patches)
    spec = TorchvisionSpec(
        architecture=architecture,
        classes=tensors[f"{head}.weight"].shape[0],
        channels=tensors[f"{first}.weight"].shape[1],
        input_size=input_size,
    )
    # At another size nobody knows what images were resized to.
    return spec, PREPROCESS.get(architecture, TORCHVISION) if input_size == TORCHVISION.crop else None


def _architecture(tensors: Mapping[str, Tensor]) -> TorchvisionName | None:
    given = {name for name in tensors if not name.endswith(COUNTER)}
    return next((name for name in get_args(TorchvisionName) if _names_of(name) == given), None)


@functools.cache
def _names_of(architecture: TorchvisionName) -> set[str]:
    names = build(TorchvisionSpec(architecture=architecture), device="meta").state_dict()
    return {name.removeprefix("model.") for name in names if not name.endswith(COUNTER)}
