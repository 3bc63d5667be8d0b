"""Trained weights that come with the package: a folder for each data they were trained on, a file for each network.

`tools/ship.py` writes them, docs/paper/models.md is about them. Here are only their names and places: no torch.
"""

from pathlib import Path

from reslab.errors import UserError

FOLDER = Path(__file__).parent
SETS = ("cifar10",)


def list_shipped(weights: str) -> list[str]:
    """Return the networks that a set has weights of."""
    return sorted(path.stem for path in (FOLDER / weights).glob("*.safetensors"))


def sets_of(network: str) -> list[str]:
    """Return the sets that have weights of a network, by the name the catalogue lists."""
    return [weights for weights in SETS if network in list_shipped(weights)]


def find_shipped(weights: str, network: str) -> Path:
    """Return the file of a network's weights in a set."""
    path = FOLDER / weights / f"{network}.safetensors"
    if not path.is_file():
        raise UserError(f"there are no {weights} weights for {network}; choose {', '.join(list_shipped(weights))}")
    return path
