"""Our weight files: safetensors with everything needed to rebuild and use the network inside.

The metadata holds the spec, class names, preprocessing, metrics and provenance as JSON, with a SHA-256 over all of it
and every tensor, checked on reading. Files saved into a folder carry its first eight digits in their name. The same
weights give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from reslab.errors import UserError
from reslab.files import atomic_write
from reslab.spec import Preprocess, Spec, name_of, spec_from_dict, spec_to_dict
from reslab.spec.codec import decode, encode

FORMAT = 1
KEY = "reslab"  # one key, because safetensors writes several in any order


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Named tensors and what they mean. `source` says whose convention the file followed."""

    spec: Spec
    tensors: dict[str, Tensor]
    preprocess: Preprocess | None = None
    class_names: tuple[str, ...] | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    source: str = "reslab"


def write_weights(weights: Weights, target: Path) -> Path:
    """Write `weights` to the file `target`, or into the folder `target` under a name with a hash; return the path."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.tensors.items()}
    about = {
        "format": FORMAT,
        "spec": spec_to_dict(weights.spec),
        "preprocess": encode(weights.preprocess),
        "class_names": weights.class_names,
        "metrics": weights.metrics,
        "provenance": weights.provenance,
    }
    digest = _digest(about, tensors)
    path = target
    if target.suffix != ".safetensors":
        slug = re.sub(r"[^a-z0-9.]+", "-", name_of(weights.spec).lower())[:80].strip("-")
        path = target / f"{slug}-{digest[:8]}.safetensors"
    write_tensors(path, tensors, {KEY: _canonical(about | {"digest": digest})})
    return path


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str]) -> None:
    """Write named tensors to a safetensors file, atomically."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with atomic_write(path) as temporary:
        save_file(plain, temporary, metadata)


def parse_weights(path: Path, tensors: dict[str, Tensor], metadata: Mapping[str, str]) -> Weights:
    """Turn what was read from one of our files into weights, if it is whole."""
    damaged = UserError(f"{path} is damaged: its content does not match its digest; fetch or write it again")
    try:
        about = json.loads(metadata[KEY])
        digest = about.pop("digest")
    except (ValueError, KeyError, AttributeError):
        raise damaged from None
    if about.get("format") != FORMAT:
        raise UserError(f"{path} has format {about.get('format')!r} and this version reads {FORMAT}; update reslab")
    named = re.fullmatch(r".*-([0-9a-f]{8})", path.stem)
    if digest != _digest(about, tensors) or (named and not digest.startswith(named[1])):
        raise damaged
    return Weights(
        spec=spec_from_dict(about["spec"]),
        tensors=tensors,
        preprocess=decode(Preprocess, about["preprocess"]) if about["preprocess"] else None,
        class_names=tuple(about["class_names"]) if about["class_names"] else None,
        metrics=about["metrics"],
        provenance=about["provenance"],
    )


def _digest(about: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256(_canonical(about).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _canonical(data: Mapping[str, Any]) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"))
