"""Specs become networks: built, costed, saved and loaded."""

from reslab.networks.build import build
from reslab.networks.cost import Cost, LayerCost, measure_cost
from reslab.networks.create import create_model, foreign_state_dict, load_model, save_model
from reslab.networks.deepening import deepen
from reslab.networks.network import Network
from reslab.networks.unlinking import remove_shortcuts
from reslab.networks.weights.file import Weights
from reslab.networks.weights.reading import read_weights

__all__ = [
    "Cost",
    "LayerCost",
    "Network",
    "Weights",
    "build",
    "create_model",
    "deepen",
    "foreign_state_dict",
    "load_model",
    "measure_cost",
    "read_weights",
    "remove_shortcuts",
    "save_model",
]
