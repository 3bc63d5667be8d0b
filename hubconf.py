"""torch.hub entry points: `torch.hub.load(REPO, "resnet_56")`, or `create_model` with any name of `list_models()`."""

import functools
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "src"))

from reslab import create_model, list_models

dependencies = ["torch", "torchvision", "safetensors", "numpy"]

for _name in list_models():
    _entry = functools.partial(create_model, _name)
    _entry.__doc__ = f"Create {_name}; takes weights, num_classes, in_chans and the spec's fields."
    globals()[re.sub(r"[-.]", "_", _name)] = _entry
