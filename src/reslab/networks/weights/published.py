"""torchvision's own weights by name, fetched where its host can be reached."""

from __future__ import annotations

import re
from http.client import HTTPException
from pathlib import Path

import torch

from reslab.errors import UserError
from reslab.spec import Spec, name_of
from reslab.spec.comparators import TorchvisionSpec

TORCHVISION = "torchvision"


def fetch_torchvision(spec: Spec) -> Path:
    """Return torchvision's newest weights for a network, fetched into torch's own folder unless they are there."""
    from torchvision.models import get_model_weights

    name = spec.architecture if isinstance(spec, TorchvisionSpec) else name_of(spec).split()[0]
    name = re.sub(r"-v1\.5$", "", name).replace("-", "")
    try:
        weights = get_model_weights(name)["DEFAULT"]
    except ValueError as error:
        raise UserError(f"torchvision has no weights for {name_of(spec)}; give weights=FILE") from error
    folder = Path(torch.hub.get_dir()) / "checkpoints"
    path = folder / weights.url.rpartition("/")[2]
    if not path.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            torch.hub.download_url_to_file(weights.url, str(path), hash_prefix=path.stem.rpartition("-")[2])
        except (OSError, HTTPException, RuntimeError) as error:  # the last for another digest than the name's
            reason = getattr(error, "reason", error)
            raise UserError(
                f"{weights.url} cannot be fetched ({reason}); download it elsewhere and give weights=FILE"
            ) from error
    return path
