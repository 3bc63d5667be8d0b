"""Any weight file, ours or foreign, read, recognized and fitted to a network; what does not fit is listed.

The name of a set that comes with the package stands for the file of the network asked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from reslab.errors import UserError, choices
from reslab.networks.network import Network
from reslab.networks.weights.adapters import ADAPTERS, find_adapter, from_foreign
from reslab.networks.weights.container import read_tensors
from reslab.networks.weights.file import Weights, parse_weights
from reslab.networks.weights.places import COUNTER
from reslab.networks.weights.published import TORCHVISION, digest_file, fetch_torchvision, find_preprocess
from reslab.networks.weights.torchvision import modernize
from reslab.runtime.sealed import KEY
from reslab.shipped import SETS, find_shipped
from reslab.spec import Spec, name_of

OUR_PREFIXES = ("stem.conv.", "steps.")


def read_weights(path: str | Path, *, like: Spec | None = None) -> Weights:
    """Read a weight file in any form we know and find out which; `like` helps with a bare state dict of ours.

    A `path` that is text and the name of a shipped set is that, also where a file has the same name; a Path never is.
    So is "torchvision", whose own weights for `like` are fetched.
    """
    path = _find_file(path, like=like)
    tensors, metadata = read_tensors(path)
    if KEY in metadata:
        return parse_weights(path, tensors, metadata)
    tensors = modernize(tensors)
    source = find_adapter(tensors)
    if source is None and any(name.startswith(OUR_PREFIXES) for name in tensors):
        if like is None:
            raise UserError(f"{path} is a bare state dict of ours and does not say which network: give its name too")
        return Weights(spec=like, tensors=tensors)
    if source is None:
        shown = ", ".join(list(tensors)[:3])
        raise UserError(
            f"{path} names its tensors like nothing we know ({shown}, ...); we read ours, {choices(ADAPTERS)}"
        )
    try:
        spec, preprocess, renamed = from_foreign(source, tensors)
    except (UserError, LookupError, ValueError) as error:
        raise UserError(f"{path} looks like {source}'s but is none that we read: {error}") from error
    if source == TORCHVISION:  # what it published is prepared as it says; of other files in its names this is a guess
        preprocess = find_preprocess(spec, digest_file(path)) or preprocess
    return Weights(spec=spec, tensors=renamed, preprocess=preprocess, source=source)


def _find_file(weights: str | Path, *, like: Spec | None) -> Path:
    """Return the file itself, or that of the network asked for, whatever its classes, in a set of several."""
    if not isinstance(weights, (str, os.PathLike)):
        raise UserError(f"weights is {weights!r}; give the path of a file")
    if weights not in (*SETS, TORCHVISION):
        path = Path(weights)
        if isinstance(weights, str) and not (path.suffix or path.name != weights or path.is_file()):
            raise UserError(
                f"there are no weights '{weights}'; give the path of a file, or {choices((*SETS, TORCHVISION))}"
            )
        return path
    if like is None:
        raise UserError(f"{weights} is weights of several networks: give the name of one of them too")
    return fetch_torchvision(like) if weights == TORCHVISION else find_shipped(str(weights), name_of(like).split()[0])


def load_tensors(network: Network, tensors: Mapping[str, Tensor], *, origin: str) -> None:
    """Copy `tensors` into `network`, strictly: every name and shape must agree."""
    expected = network.state_dict()
    # Batch counters carry no weights: older files lack them, frozen normalization has none.
    given = {name: tensor for name, tensor in tensors.items() if name in expected or not name.endswith(COUNTER)}
    given |= {
        name: torch.zeros_like(old) for name, old in expected.items() if name.endswith(COUNTER) and name not in given
    }
    problems = []
    missing = [name for name in expected if name not in given]
    unexpected = [name for name in given if name not in expected]
    misshapen = [
        f"{name} {tuple(given[name].shape)} for {tuple(old.shape)}"
        for name, old in expected.items()
        if name in given and given[name].shape != old.shape
    ]
    for what, names in (("missing", missing), ("unexpected", unexpected), ("of the wrong shape", misshapen)):
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            problems.append(f"{what}: {', '.join(names[:5])}{more}")
    if problems:
        raise UserError(f"{origin} does not fit the network; {'; '.join(problems)}")
    network.load_state_dict(given)
