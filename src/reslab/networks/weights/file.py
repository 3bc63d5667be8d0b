"""Our weight files: everything needed to rebuild and use a network, inside one sealed safetensors file.

Spec, class names, preprocessing, metrics and provenance lie beside the tensors. Files saved into a folder carry the
first eight digits of their digest in their name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from reslab.errors import UserError
from reslab.networks.weights.sealed import seal, unseal, write_sealed
from reslab.spec import Preprocess, Spec, name_of, spec_from_dict, spec_to_dict
from reslab.spec.codec import convert, decode, encode

FORMAT = 1
FOREIGN_ENDINGS = (".pth", ".pt", ".th", ".bin", ".caffemodel", ".onnx")


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
    about = {
        "format": FORMAT,
        "spec": spec_to_dict(weights.spec),
        "preprocess": encode(weights.preprocess),
        "class_names": weights.class_names,
        "metrics": weights.metrics,
        "provenance": weights.provenance,
    }
    if target.suffix in FOREIGN_ENDINGS:
        raise UserError(
            f"{target} would not be a {target.suffix} file: name it {target.stem}.safetensors, or give a folder"
        )
    path = target
    if target.suffix != ".safetensors":
        path = target / f"{_slug(weights.spec)}-{seal(about, weights.tensors)[:8]}.safetensors"
    write_sealed(path, weights.tensors, about)
    return path


def parse_weights(path: Path, tensors: dict[str, Tensor], metadata: Mapping[str, str]) -> Weights:
    """Turn what was read from one of our files into weights, if it is whole."""
    about = unseal(path, tensors, metadata)
    if about.get("format") != FORMAT:
        raise UserError(f"{path} has format {about.get('format')!r} and this version reads {FORMAT}; update reslab")
    try:
        weights = Weights(
            spec=spec_from_dict(about["spec"]),
            tensors=tensors,
            preprocess=decode(Preprocess, about["preprocess"]) if about["preprocess"] else None,
            class_names=convert(tuple[str, ...] | None, about["class_names"], where="class_names"),
            metrics=dict(about["metrics"]),
            provenance=dict(about["provenance"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{path} does not say what it holds ({error}); write it again") from error
    if weights.class_names and len(weights.class_names) != weights.spec.classes:
        raise UserError(f"{path} names {len(weights.class_names)} classes for {weights.spec.classes}; write it again")
    if path.stem[:-8] == f"{_slug(weights.spec)}-" and path.stem[-8:] != about["digest"][:8]:
        raise UserError(f"{path} is not the file its name says: the digest inside begins {about['digest'][:8]}")
    return weights


def _slug(spec: Spec) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", name_of(spec).lower())[:80].strip("-")
