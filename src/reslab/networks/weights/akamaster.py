"""The common naming of CIFAR ResNets, after akamaster/pytorch_resnet_cifar10.

Its option A pads zero channels on both sides, its images are normalized with ImageNet's mean and deviation.
"""

from collections.abc import Mapping

from torch import Tensor

from reslab.networks.weights.places import Place
from reslab.networks.weights.torchvision import infer_stages
from reslab.networks.weights.torchvision import name_place as torchvision_name
from reslab.spec import NetworkSpec, Preprocess, Spec, StemSpec
from reslab.spec.preprocess import AKAMASTER


def recognizes(tensors: Mapping[str, Tensor]) -> bool:
    """Whether these are its names: torchvision's stages, but a classifier called ``linear``."""
    return {"conv1.weight", "layer1.0.conv1.weight", "linear.weight"} <= tensors.keys()


def infer(tensors: Mapping[str, Tensor]) -> tuple[Spec, Preprocess | None]:
    """Return the network these tensors were trained as."""
    stem = tensors["conv1.weight"]
    projects = any(".shortcut.0." in name for name in tensors)
    return NetworkSpec(
        stem=StemSpec(kernel=stem.shape[-1], width=stem.shape[0]),
        stages=infer_stages(tensors),
        shortcut="B" if projects else "A",
        zero_padding="both",
        classes=tensors["linear.weight"].shape[0],
        channels=stem.shape[1],
        input_size=32,
    ), AKAMASTER if stem.shape[0] == 16 else None  # others share its names, not its normalization


def name_place(place: Place, spec: NetworkSpec) -> str:
    """Return its name for a place."""
    if place.part == "classifier":
        return f"linear.{place.leaf}"
    return torchvision_name(place, spec).replace(".downsample.", ".shortcut.")
