"""What a layer makes of pictures, as features for other tasks: averaged over the map, one row per picture.

A layer is one of `Network.activations`; a stage (conv3_x) stands for its last block.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from reslab.delivery.intake import Intake, make_batches, tell_misfit
from reslab.delivery.pictures import Picture
from reslab.errors import UserError
from reslab.json_text import to_json
from reslab.networks import Network
from reslab.networks.finite import rows_not_finite, tell_not_finite
from reslab.runtime.listener import DEAF, Listener
from reslab.runtime.sealed import read_safetensors, write_tensors
from reslab.spec import name_of

KEY = "reslab-embedding"
BATCH = 32


@dataclass(frozen=True, kw_only=True)
class Embedding:
    """Features (pictures, channels) of one layer, the pictures' names, and their labels where they have some."""

    layer: str
    features: Tensor
    names: tuple[str, ...]
    labels: Tensor | None = None
    class_names: tuple[str, ...] | None = None


def list_layers(network: Network) -> dict[str, str]:
    """Return the names that can be asked for, each with the activation it stands for, in order."""
    with torch.no_grad():
        parameter = next(network.parameters())
        seen = network.activations(torch.zeros(1, *network.spec.input_shape, device=parameter.device))
    return {name: name for name in seen} | network.stages


def main_layers(network: Network) -> list[str]:
    """Return the layers that tell the story: the stem, every stage, what the classifier is given if that differs."""
    return list(network.main_layers) or [list(list_layers(network))[-2]]


def refuse_no_layer(network: Network, layer: str) -> None:
    """Refuse a layer the network does not have."""
    layers = list_layers(network)
    if layer not in layers:
        last = [name for name in ("pooled", "logits") if name in layers]
        shown = ", ".join(dict.fromkeys([*main_layers(network), *last]))
        raise UserError(f"{name_of(network.spec)} has no layer '{layer}'; it has {shown} and more")


@torch.no_grad()
def embed(
    network: Network,
    intake: Intake,
    pictures: Iterable[Picture],
    *,
    layers: Sequence[str],
    class_names: tuple[str, ...] | None = None,
    listener: Listener = DEAF,
) -> list[Embedding]:
    """Return the features of `pictures` at each of `layers`, all from one pass in evaluation mode."""
    known = list_layers(network.eval())
    wanted = {known[layer] for layer in layers}
    parts: dict[str, list[Tensor]] = {name: [] for name in wanted}
    names: list[str] = []
    labels: list[int | list[int] | None] = []

    def see(name: str, activation: Tensor) -> None:
        if name in wanted:
            parts[name].append(_pool(activation).cpu())

    for held, images in make_batches(pictures, intake, size=BATCH):
        with tell_misfit(network, images):
            network.observe(images, see)
        names += [picture.name for picture in held]
        labels += [picture.label for picture in held]
        listener.progress(len(names), {})
    if not names:
        raise UserError("none of the images can be read; give other images")
    features = {name: torch.cat(parts[name]) for name in wanted}
    for layer in layers:
        if bad := int(rows_not_finite(features[known[layer]]).sum()):
            where = f"for {bad:,} of {len(names):,} images"
            raise tell_not_finite(network, where, what=f"features of {layer}")
    told = [label for label in labels if label is not None]
    return [
        Embedding(
            layer=layer,
            features=features[known[layer]],
            names=tuple(names),
            labels=torch.tensor(told) if len(told) == len(names) else None,
            class_names=class_names,
        )
        for layer in layers
    ]


def write_embedding(embedding: Embedding, path: Path, *, about: dict[str, Any]) -> None:
    """Write features and labels as safetensors, with names and `about` in the metadata; atomically."""
    tensors = {"features": embedding.features}
    if embedding.labels is not None:
        tensors["labels"] = embedding.labels
    told = {"layer": embedding.layer, "paths": embedding.names, "class_names": embedding.class_names, **about}
    write_tensors(path, tensors, {KEY: to_json(told)})


def read_embedding(path: Path) -> Embedding:
    """Read what `write_embedding` wrote."""
    try:
        tensors, metadata = read_safetensors(path)
        about = json.loads(metadata[KEY])
    except (KeyError, ValueError) as error:
        raise UserError(f"{path} is not a file of features; write one with `reslab embed`") from error
    names = about["class_names"]
    return Embedding(
        layer=about["layer"],
        features=tensors["features"],
        names=tuple(about["paths"]),
        labels=tensors.get("labels"),
        class_names=None if names is None else tuple(names),
    )


def _pool(activation: Tensor) -> Tensor:
    """Average a map over its positions; a transformer's tokens, which come before their channels, over the tokens."""
    if activation.dim() == 3:
        return activation.mean(1)
    return activation.mean(tuple(range(2, activation.dim()))) if activation.dim() > 2 else activation
