"""Trained weights by name: sets that come with the package, and sets that are fetched once.

A set has a folder for the data its weights were trained on and a file for each network. `tools/ship.py` writes those
of the package, `reslab weights fetch` the others under the data root. Here are only names and places: no torch.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from reslab.errors import UserError
from reslab.files import data_root

FOLDER = Path(__file__).parent
IMAGENET = "imagenet"
FETCHED: Mapping[str, tuple[str, ...]] = {IMAGENET: ("resnet-50",)}
SETS = ("cifar10", *FETCHED)


def list_networks(weights: str) -> list[str]:
    """Return the networks that a set has weights of, fetched or not."""
    if weights in FETCHED:
        return list(FETCHED[weights])
    return sorted(path.stem for path in (FOLDER / weights).glob("*.safetensors"))


def sets_of(network: str) -> list[str]:
    """Return the sets that have weights of a network, by the name the catalogue lists."""
    return [weights for weights in SETS if network in list_networks(weights)]


def place_of(weights: str, network: str) -> Path:
    """Return where a network's weights of a set lie, or will."""
    folder = data_root() / "weights" if weights in FETCHED else FOLDER
    return folder / weights / f"{network}.safetensors"


def find_weights(weights: str, network: str) -> Path:
    """Return the file of a network's weights in a set."""
    if network not in (known := list_networks(weights)):
        raise UserError(f"there are no {weights} weights for {network}; choose {', '.join(known)}")
    path = place_of(weights, network)
    if not path.is_file():
        raise UserError(f"the {weights} weights of {network} are not here; run: reslab weights fetch {network}")
    return path


@cache
def read_imagenet_classes() -> dict[str, str]:
    """Return the classes of ImageNet by their WordNet ids, in their order, with what they are called in words."""
    lines = (FOLDER / "imagenet-classes.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines)
