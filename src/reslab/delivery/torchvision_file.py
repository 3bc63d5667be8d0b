"""Networks as torchvision's: a state dict under its names, tried in its own network before it is written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from reslab.delivery.deployed import Deployed, Parity, check_parity, refuse_mismatch
from reslab.delivery.pictures import Picture
from reslab.errors import UserError
from reslab.files import atomic_write
from reslab.networks import foreign_state_dict
from reslab.runtime.sealed import write_tensors
from reslab.spec import NetworkSpec, Spec, TorchvisionSpec, name_of

STAGES = 4


def write_torchvision(deployed: Deployed, path: Path, pictures: Iterable[Picture]) -> Parity:
    """Write a state dict, as safetensors or with torch.save by the file's ending, that torchvision's network takes."""
    tensors = foreign_state_dict(deployed.network, "torchvision")
    theirs = _build(deployed.network.spec)
    try:
        theirs.load_state_dict(tensors)
    except RuntimeError as error:
        raise UserError(
            f"torchvision builds nothing of the shape of {name_of(deployed.network.spec)}; "
            "`reslab convert FILE --to torchvision` writes its names all the same"
        ) from error
    theirs.eval()
    parity = check_parity(deployed, lambda pixels: theirs(deployed.prepare(pixels)), pictures)
    refuse_mismatch(path, parity)
    if path.suffix == ".safetensors":
        write_tensors(path, tensors, {"format": "pt"})
    else:
        with atomic_write(path) as temporary:
            torch.save({name: tensor.contiguous() for name, tensor in tensors.items()}, temporary)
    return parity


def _build(spec: Spec) -> nn.Module:
    """Return torchvision's own network for a spec."""
    import torchvision
    from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet

    if isinstance(spec, TorchvisionSpec):
        options: dict[str, Any] = {"image_size": spec.input_size} if spec.architecture == "vit_b_16" else {}
        return torchvision.models.get_model(spec.architecture, weights=None, num_classes=spec.classes, **options)
    blocks = [stage.blocks for stage in spec.stages] if isinstance(spec, NetworkSpec) else []
    if not isinstance(spec, NetworkSpec) or len(blocks) != STAGES or spec.channels != 3:
        raise UserError(f"torchvision builds nothing like {name_of(spec)}; export it as onnx or torch-export instead")
    block = Bottleneck if spec.block == "bottleneck" else BasicBlock
    return ResNet(block, blocks, num_classes=spec.classes)
