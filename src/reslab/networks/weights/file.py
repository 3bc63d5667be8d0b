"""Our weight files: everything needed to rebuild and use a network, inside one sealed safetensors file.

Spec, class names and their words, preprocessing, metrics and provenance lie beside the tensors; a mean image to
subtract is one more tensor. Files saved into a folder carry the first eight digits of their digest in their name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from reslab.errors import UserError
from reslab.files import slug
from reslab.runtime.sealed import seal, unseal, write_sealed
from reslab.spec import Preprocess, Spec, name_of, spec_from_dict, spec_to_dict
from reslab.spec.codec import convert, decode, encode
from reslab.spec.task import CLASSIFICATION, encode_task, find_task
from reslab.spec.task_spec import TaskSpec

FORMAT = 1
MEAN_IMAGE = "preprocess.mean_image"
FOREIGN_ENDINGS = (".pth", ".pt", ".th", ".bin", ".caffemodel", ".onnx")


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Named tensors and what they mean. `source` says whose convention the file followed.

    `mean_image` is there exactly if `preprocess` subtracts a per-pixel mean.
    """

    spec: Spec
    tensors: dict[str, Tensor]
    preprocess: Preprocess | None = None
    mean_image: Tensor | None = None
    class_names: tuple[str, ...] | None = None
    class_words: dict[str, str] = field(default_factory=dict)
    task: TaskSpec = CLASSIFICATION
    thresholds: tuple[float, ...] | None = None
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
        **({} if weights.task == CLASSIFICATION else {"task": encode_task(weights.task, sparse=True)}),
        **({"class_words": weights.class_words} if weights.class_words else {}),
        **({} if weights.thresholds is None else {"thresholds": weights.thresholds}),
    }
    if target.suffix in FOREIGN_ENDINGS:
        raise UserError(f"{target} would be a safetensors file; name it {target.stem}.safetensors, or give a folder")
    problem = _mean_image_problem(weights)
    if problem:
        raise UserError(f"cannot write {target}: {problem}; set network.preprocess and network.mean_image together")
    tensors = weights.tensors if weights.mean_image is None else weights.tensors | {MEAN_IMAGE: weights.mean_image}
    path = target
    if target.suffix != ".safetensors":
        path = target / f"{_slug(weights.spec)}-{seal(about, tensors)[:8]}.safetensors"
    write_sealed(path, tensors, about)
    return path


def parse_weights(path: Path, tensors: dict[str, Tensor], metadata: Mapping[str, str]) -> Weights:
    """Turn what was read from one of our files into weights, if it is whole."""
    about = unseal(path, tensors, metadata)
    if about.get("format") != FORMAT:
        raise UserError(f"{path} has format {about.get('format')!r}, but this version reads {FORMAT}; update reslab")
    try:
        weights = Weights(
            spec=spec_from_dict(about["spec"]),
            tensors={name: tensor for name, tensor in tensors.items() if name != MEAN_IMAGE},
            preprocess=decode(Preprocess, about["preprocess"]) if about["preprocess"] else None,
            mean_image=tensors.get(MEAN_IMAGE),
            class_names=convert(tuple[str, ...] | None, about["class_names"], where="class_names"),
            class_words={
                name: convert(str, words, where=f"class_words.{name}")
                for name, words in about.get("class_words", {}).items()
            },
            task=find_task(about.get("task", CLASSIFICATION)),  # files without are of classifiers
            thresholds=convert(tuple[float, ...] | None, about.get("thresholds"), where="thresholds"),
            metrics=dict(about["metrics"]),
            provenance=dict(about["provenance"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{path} does not say what it holds ({error}); write it again") from error
    if weights.class_names and len(weights.class_names) != weights.spec.classes:
        raise UserError(
            f"{path} has {len(weights.class_names)} class names, "
            f"but its network has {weights.spec.classes} outputs; write it again"
        )
    if weights.thresholds is not None and len(weights.thresholds) != weights.spec.classes:
        raise UserError(
            f"{path} has {len(weights.thresholds)} thresholds, "
            f"but its network has {weights.spec.classes} outputs; write it again"
        )
    problem = _mean_image_problem(weights)
    if problem:
        raise UserError(f"the preprocessing in {path} is inconsistent: {problem}; write it again")
    if path.stem[:-8] == f"{_slug(weights.spec)}-" and path.stem[-8:] != about["digest"][:8]:
        raise UserError(
            f"{path} does not match its name: the digest inside begins with {about['digest'][:8]}; fetch it again"
        )
    return weights


def _mean_image_problem(weights: Weights) -> str:
    """Say what is wrong between the preprocessing and the mean image; nothing where they agree."""
    image, wanted = weights.mean_image, weights.preprocess is not None and weights.preprocess.per_pixel_mean
    if image is None:
        return "it subtracts a per-pixel mean, but there is no mean image" if wanted else ""
    if not wanted:
        return "there is a mean image, but the preprocessing does not subtract it"
    expected = weights.spec.input_shape
    if image.dim() != len(expected) or image.shape[0] != expected[0] or not image.numel():
        return f"the mean image has shape {tuple(image.shape)}, but the network takes {expected}"
    if not image.is_floating_point() or not image.isfinite().all():
        return "the mean image has values that are not finite numbers"
    return ""


def _slug(spec: Spec) -> str:
    return slug(name_of(spec).lower(), longest=80)
