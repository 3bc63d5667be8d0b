"""Any weight file, ours or foreign: read without ever running what is inside it, recognized, and fitted to a network.

safetensors files are plain data. torch.save files are pickles: they are read in torch's weights-only mode, which
knows tensors and plain containers and nothing else; a file that asks for more is refused.
"""

import os
import pickle
import pickletools
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from reslab.errors import UserError, choices
from reslab.networks.weights.adapters import ADAPTERS, find_adapter, from_foreign
from reslab.networks.weights.caffe import read_caffemodel
from reslab.networks.weights.file import Weights, parse_weights
from reslab.networks.weights.keras import read_keras
from reslab.networks.weights.layers_model import MODEL
from reslab.networks.weights.places import COUNTER
from reslab.networks.weights.torchvision import digest_file, fetch_torchvision, find_preprocess, modernize
from reslab.runtime.sealed import KEY, read_safetensors
from reslab.shipped import FETCHED, SETS, find_weights, list_networks
from reslab.spec import Spec, name_of

TORCHVISION = "torchvision"  # the weights it published, and its adapter
OUR_PREFIXES = ("stem.conv.", "steps.")
# Put before every name by DataParallel, torch.compile and Lightning.
PREFIXES = ("module.", "_orig_mod.", "model.")
CODE = {"GLOBAL", "STACK_GLOBAL", "INST", "OBJ", "REDUCE"}  # operations of a pickle that look things up or call them
NESTS = ("state_dict", "model", "model_state_dict", "net", "state_dict_ema", "model_ema", "ema")


def read_weights(path: str | Path, *, like: Spec | None = None) -> Weights:
    """Read a weight file, and detect its format. `like` is the expected spec, which a bare state dict of ours needs.

    Text that names a shipped set, such as "cifar10", means that set even if a file has the same name; a Path always
    means a file. "torchvision" downloads torchvision's weights for `like`.
    """
    path = _find_file(path, like=like)
    if path.suffix == ".json" or (path / MODEL).is_file():
        return read_keras(path if path.suffix == ".json" else path / MODEL)
    tensors, metadata = read_tensors(path)
    if KEY in metadata:
        return parse_weights(path, tensors, metadata)
    tensors = modernize(tensors)
    source = find_adapter(tensors)
    if source is None and any(name.startswith(OUR_PREFIXES) for name in tensors):
        if like is None:
            raise UserError(
                f"{path} is a plain state dict, which does not name its network; also give the network's name"
            )
        return Weights(spec=like, tensors=tensors)
    if source is None:
        shown = ", ".join(list(tensors)[:3])
        raise UserError(
            f"{path} has unknown tensor names ({shown}, ...); give weights with names of reslab, {choices(ADAPTERS)}"
        )
    try:
        spec, preprocess, renamed = from_foreign(source, tensors)
    except (UserError, LookupError, ValueError) as error:
        raise UserError(
            f"{path} has the tensor names of {source}, but cannot be read ({error}); give another weight file"
        ) from error
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
    if like is None and weights in FETCHED and len(known := list_networks(str(weights))) == 1:
        return find_weights(str(weights), known[0])
    if like is None:
        some = f": {choices(list_networks(str(weights)))}" if weights in SETS else ""
        raise UserError(f"{weights} has weights for several networks; also give the name of the network{some}")
    return fetch_torchvision(like) if weights == TORCHVISION else find_weights(str(weights), name_of(like).split()[0])


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the named tensors of a file, and its text metadata if it is a safetensors file."""
    try:
        with path.open("rb") as file:
            head = file.read(9)
    except FileNotFoundError:
        raise UserError(f"there is no weight file {path}; give the path of an existing one") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; give the path of a readable weight file") from error
    if not head:
        raise UserError(f"{path} is empty; fetch or write it again")
    if path.suffix == ".caffemodel":
        return read_caffemodel(path), {}
    if head[8:] == b"{":
        return read_safetensors(path)
    return _unwrap(_read_torch(path), path), {}


def _read_torch(path: Path) -> Any:
    try:
        with warnings.catch_warnings(), path.open("rb") as file:  # by its path, torch would go by the name's ending
            warnings.filterwarnings(
                "ignore", "Detected pickle protocol"
            )  # torch's warning; reslab raises a sentence instead
            return torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises nearly anything on a damaged file
        raise UserError(f"{path} {_say_what_else(path, error)}") from error


def _say_what_else(path: Path, error: Exception) -> str:
    """Say what a file is that torch cannot read: a pickle with code, another pickle, or neither."""
    asked = re.search(r"GLOBAL (\S+)", str(error)) if isinstance(error, pickle.UnpicklingError) else None
    operations = _list_operations(path)
    if asked or operations & CODE:
        return (
            f"is refused: loading it would run code{f' ({asked[1]})' if asked else ''}; "
            "ask its author for a plain state dict or a safetensors file"
        )
    if operations:
        return "is a pickle that holds no tensors; save a network's state_dict() with torch.save"
    return "is damaged or not a weight file; fetch or write it again"


def _list_operations(path: Path) -> set[str]:
    """Return the operations of a file that is one whole pickle, none of which is done; nothing of another file."""
    try:
        with path.open("rb") as file:
            operations = {operation.name for operation, _, _ in pickletools.genops(file)}
            return operations if not file.read(1) else set()
    except Exception:  # no pickle: whatever its reader stumbles over
        return set()


def _unwrap(data: Any, path: Path) -> dict[str, Tensor]:
    """Find the state dict inside a checkpoint and strip what wrappers put before its names."""
    while isinstance(data, Mapping) and (
        nest := next((key for key in NESTS if isinstance(data.get(key), Mapping)), None)
    ):
        data = data[nest]
    if isinstance(data, Mapping):
        data = {name: value for name, value in data.items() if name != "n_averaged"}  # AveragedModel's counter
    if not isinstance(data, Mapping) or not data or not all(map(_is_weight, data.items())):
        raise UserError(
            f"{path} has no state dict (names and dense float tensors, at the top or under 'state_dict'); "
            "save one with torch.save(network.state_dict(), FILE)"
        )
    names = list(data)
    while prefix := next((prefix for prefix in PREFIXES if all(name.startswith(prefix) for name in names)), None):
        names = [name.removeprefix(prefix) for name in names]
    return dict(zip(names, data.values(), strict=True))


def _is_weight(item: tuple[Any, Any]) -> bool:
    """Whether a name and a value are what a state dict holds: dense float tensors, and counters."""
    name, value = item
    if not isinstance(name, str) or not isinstance(value, Tensor) or value.is_meta or value.layout != torch.strided:
        return False
    return value.is_floating_point() or (value.dim() == 0 and not value.is_complex())


def load_tensors(network: nn.Module, tensors: Mapping[str, Tensor], *, origin: str) -> None:
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
        f"{name} {tuple(given[name].shape)} instead of {tuple(old.shape)}"
        for name, old in expected.items()
        if name in given and given[name].shape != old.shape
    ]
    for what, names in (("missing", missing), ("unexpected", unexpected), ("of the wrong shape", misshapen)):
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            problems.append(f"{what}: {', '.join(names[:5])}{more}")
    if problems:
        raise UserError(
            f"{origin} does not fit the network ({'; '.join(problems)}); give the weights of this network, "
            "or the network of these weights"
        )
    network.load_state_dict(given)
