"""torchvision's own weights: fetched by name where its host can be reached, known again by the digest of their file.

Of some networks it published several, under the same names and for images prepared in different ways: ResNet-50, -101
and -152 first for images resized to 256, then to 232. The name of a file ends in the first digits of its SHA-256.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from reslab.errors import UserError
from reslab.spec import Preprocess, Spec, name_of
from reslab.spec.comparators import TorchvisionSpec
from reslab.spec.preprocess import TORCHVISION_GOOGLENET

if TYPE_CHECKING:
    from torchvision.models import WeightsEnum

TORCHVISION = "torchvision"


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
                f"{weights.url} cannot be fetched ({reason}); download it elsewhere and give weights=FILE"
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
