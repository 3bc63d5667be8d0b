"""The authors' Caffe names: res4b22_branch2a, bn4b22_branch2a, scale4b22_branch2a, fc1000.

Their networks are v1: stride in the first 1x1 and in branch1 (the projection), a max-pool that rounds up without
padding. Batch norm is two layers there, BatchNorm (statistics) and Scale (affine). Only ResNet-50's conv1 has a
bias. Images come as BGR, 0-255, mean subtracted.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping

from torch import Tensor

from reslab.errors import UserError
from reslab.networks.weights.places import COUNTER, Place
from reslab.spec import NetworkSpec, Preprocess, Spec, StageSpec, StemSpec
from reslab.spec.preprocess import AUTHORS

BLOCK = re.compile(r"res(\d+)(?:([a-z])|b(\d+))_branch2a\.weight")


def recognizes(tensors: Mapping[str, Tensor]) -> bool:
    """Whether these are the authors' names."""
    return {"conv1.weight", "res2a_branch2a.weight", "fc1000.weight"} <= tensors.keys()


def infer(tensors: Mapping[str, Tensor]) -> tuple[Spec, Preprocess]:
    """Return the network these tensors were trained as."""
    if "res2a_branch2c.weight" not in tensors:
        raise UserError("these Caffe names are not of bottleneck blocks; the authors released 50, 101 and 152 layers")
    stem = tensors["conv1.weight"]
    counts: dict[int, int] = {}
    for name in tensors:
        match = BLOCK.fullmatch(name)
        if match:
            counts[int(match[1])] = counts.get(int(match[1]), 0) + 1
    stages = tuple(
        StageSpec(blocks=blocks, width=_width(tensors, stage), stride=1 if stage == 2 else 2)
        for stage, blocks in sorted(counts.items())
    )
    return NetworkSpec(
        stem=StemSpec(kernel=stem.shape[-1], width=stem.shape[0], stride=2, bias="conv1.bias" in tensors),
        pool="ceil",
        stages=stages,
        block="bottleneck",
        shortcut="B",
        stride_in="1x1",
        classes=tensors["fc1000.weight"].shape[0],
        channels=stem.shape[1],
    ), AUTHORS


def name_place(place: Place, spec: NetworkSpec) -> str | None:
    """Return the authors' name for a place; they count no batches."""
    if place.part == "classifier":
        return f"fc1000.{place.leaf}"
    layer = "conv1" if place.part == "stem" else _branch(place, spec)
    if place.operator == "conv":
        return f"{layer}.{place.leaf}"
    if place.leaf == COUNTER:
        return None
    prefix = "bn" if place.leaf.startswith("running_") else "scale"
    return f"{prefix}_conv1.{place.leaf}" if place.part == "stem" else f"{prefix}{layer[3:]}.{place.leaf}"


def _branch(place: Place, spec: NetworkSpec) -> str:
    # ResNet-50 letters all its blocks; the deeper two number them in conv3 and conv4.
    if spec.depth > 50 and place.stage in (3, 4) and place.block > 1:
        block = f"b{place.block - 1}"
    elif place.block <= len(string.ascii_lowercase):
        block = string.ascii_lowercase[place.block - 1]
    else:
        raise UserError(
            f"the authors' Caffe names letter the blocks of conv{place.stage}: at most 26, not {place.block}"
        )
    branch = "1" if place.part == "projection" else "2" + string.ascii_lowercase[place.layer - 1]
    return f"res{place.stage}{block}_branch{branch}"


def _width(tensors: Mapping[str, Tensor], stage: int) -> int:
    first = tensors.get(f"res{stage}a_branch2a.weight")
    if first is None:
        raise UserError(f"the file lacks res{stage}a_branch2a.weight; fetch it again")
    return first.shape[0]
