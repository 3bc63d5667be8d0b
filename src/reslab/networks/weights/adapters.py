"""Foreign weights, both ways: how each source names its tensors, and what it takes for granted.

v1 and v1.5 bottlenecks have the same tensors, and so have the two max-pools and the two zero paddings: only the
source knows which it was trained with, so an adapter infers the whole spec, not just names.
"""

import functools
from collections.abc import Mapping
from typing import Any, Protocol

from torch import Tensor

from reslab.errors import UserError, choices
from reslab.networks.build import build
from reslab.networks.weights import akamaster, caffe, torchvision
from reslab.networks.weights.places import Place, parse_place
from reslab.spec import NetworkSpec, Preprocess, Spec, TorchvisionSpec, find, name_of
from reslab.spec.catalogue import contradictions


class Adapter(Protocol):
    """One foreign convention, a module: `name_place` gives its name for a place (None: it does not store that)."""

    def recognizes(self, tensors: Mapping[str, Tensor]) -> bool: ...
    def infer(self, tensors: Mapping[str, Tensor]) -> tuple[Spec, Preprocess | None]: ...
    def name_place(self, place: Place, spec: NetworkSpec) -> str | None: ...


ADAPTERS: dict[str, Adapter] = {
    "torchvision": torchvision,
    "timm": torchvision,  # timm names and builds these networks exactly as torchvision does
    "akamaster": akamaster,
    "caffe": caffe,
}


def find_adapter(tensors: Mapping[str, Tensor]) -> str | None:
    """Return the name of the adapter that knows these names, if any does."""
    # torchvision's comes last: it builds all its networks to know one, and takes seconds to import.
    by_cost = sorted(ADAPTERS, key=lambda name: ADAPTERS[name] is torchvision)
    return next((name for name in by_cost if ADAPTERS[name].recognizes(tensors)), None)


def from_foreign(source: str, tensors: Mapping[str, Tensor]) -> tuple[Spec, Preprocess | None, dict[str, Tensor]]:
    """Return what a foreign state dict implies, and its tensors by our names (unknown names kept as they are)."""
    spec, preprocess = _adapter(source).infer(tensors)
    ours = {theirs: key for key, theirs in _names(source, spec).items() if theirs is not None}
    return spec, preprocess, {ours.get(name, name): tensor for name, tensor in tensors.items()}


def to_foreign(target: str, spec: Spec, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename our tensors for another library; refused where that library would compute something else with them."""
    names = _names(target, spec)
    foreign = {name: tensor for key, tensor in tensors.items() if (name := names[key]) is not None}
    implied, _ = _adapter(target).infer(foreign)
    different = contradictions(spec, implied)
    if different:
        told = ", ".join(f"{field} is {ours} here and {theirs} there" for field, (ours, theirs) in different.items())
        raise UserError(
            f"{name_of(spec)} would give other outputs in {target}'s format, because {told}; "
            f"for that format train {_name_network(implied, different)}, or keep these weights in reslab's format"
        )
    return foreign


def _name_network(implied: Spec, different: Mapping[str, tuple[Any, Any]]) -> str:
    """Say which network to ask for to get one that a form can say: by name if one has all of it, else by fields."""
    name = name_of(implied).split()[0]
    like = find(name, {field: getattr(implied, field) for field in ("classes", "channels")})
    if not contradictions(like, implied):
        return f"network={name}"
    return "a network with " + " ".join(f"network.{field}={theirs}" for field, (_, theirs) in different.items())


def _adapter(name: str) -> Adapter:
    if name not in ADAPTERS:
        raise UserError(f"there is no adapter '{name}'; choose {choices(ADAPTERS)}")
    return ADAPTERS[name]


@functools.lru_cache(maxsize=32)
def _names(source: str, spec: Spec) -> dict[str, str | None]:
    """Map each of our keys to the source's, or to None where the source does not store it."""
    keys = list(build(spec, device="meta").state_dict())
    if isinstance(spec, TorchvisionSpec) and _adapter(source) is torchvision:
        return {key: key.removeprefix("model.") for key in keys}
    names: dict[str, str | None] = {}
    for key in keys:
        place = parse_place(key)
        if place is None or not isinstance(spec, NetworkSpec):
            raise UserError(
                f"{source} has no name for '{key}' of {name_of(spec)}; keep these weights in reslab's format"
            )
        names[key] = _adapter(source).name_place(place, spec)
    return names
