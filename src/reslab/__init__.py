"""Every network, table and figure of the ResNet paper, in PyTorch: describe, build, run, record, report.

Names below load on first use, so that `import reslab` and the command line's help do not wait for torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reslab.delivery.detector_predictor import DetectorPredictor
    from reslab.delivery.predictor import Predictor
    from reslab.errors import UserError
    from reslab.experiments.evaluate import evaluate
    from reslab.experiments.export import export
    from reslab.experiments.predict import predict
    from reslab.experiments.rates import find_rate
    from reslab.experiments.thresholds import tune_thresholds
    from reslab.experiments.train import train
    from reslab.networks import (
        Network,
        build,
        create_model,
        deepen,
        foreign_state_dict,
        load_model,
        measure_cost,
        read_weights,
        remove_shortcuts,
        save_model,
    )
    from reslab.spec import NetworkSpec, Preprocess, StageSpec, StemSpec, find, list_models
    from reslab.spec.recipe import Recipe, find_recipe

__version__ = "0.1.0"

__all__ = [
    "DetectorPredictor",
    "Network",
    "NetworkSpec",
    "Predictor",
    "Preprocess",
    "Recipe",
    "StageSpec",
    "StemSpec",
    "UserError",
    "build",
    "create_model",
    "deepen",
    "evaluate",
    "export",
    "find",
    "find_rate",
    "find_recipe",
    "foreign_state_dict",
    "list_models",
    "load_model",
    "measure_cost",
    "predict",
    "read_weights",
    "remove_shortcuts",
    "save_model",
    "train",
    "tune_thresholds",
]

_HOMES = (  # torch-free first
    "errors",
    "spec",
    "spec.recipe",
    "networks",
    "delivery.predictor",
    "delivery.detector_predictor",
    "experiments.train",
    "experiments.rates",
    "experiments.predict",
    "experiments.evaluate",
    "experiments.export",
    "experiments.thresholds",
)


def __getattr__(name: str) -> Any:
    for home in _HOMES if name in __all__ else ():
        module = importlib.import_module(f"reslab.{home}")
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"module 'reslab' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
