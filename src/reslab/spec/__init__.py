"""What is wanted, as frozen data; no torch here."""

from reslab.spec.catalogue import (
    Spec,
    depth_of,
    differences,
    find,
    is_network,
    list_models,
    name_of,
    natural_key,
    spec_from_dict,
    spec_to_dict,
)
from reslab.spec.comparators import HighwaySpec, LeNetSpec, TorchvisionSpec, highway
from reslab.spec.families import cifar, dense, imagenet
from reslab.spec.network import BlockPlan, LayerPlan, NetworkSpec, StageSpec, StemSpec
from reslab.spec.preprocess import Preprocess

__all__ = [
    "BlockPlan",
    "HighwaySpec",
    "LayerPlan",
    "LeNetSpec",
    "NetworkSpec",
    "Preprocess",
    "Spec",
    "StageSpec",
    "StemSpec",
    "TorchvisionSpec",
    "cifar",
    "dense",
    "depth_of",
    "differences",
    "find",
    "highway",
    "imagenet",
    "is_network",
    "list_models",
    "name_of",
    "natural_key",
    "spec_from_dict",
    "spec_to_dict",
]
