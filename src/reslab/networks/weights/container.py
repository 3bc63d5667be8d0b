"""Tensors out of any weight file, without ever running what is inside it.

safetensors files are plain data. torch.save files are pickles: they are read in torch's weights-only mode, which
knows tensors and plain containers and nothing else; a file that asks for more is refused.
"""

from __future__ import annotations

import pickle
import pickletools
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from reslab.errors import UserError
from reslab.networks.weights.caffemodel import read_caffemodel
from reslab.runtime.sealed import read_safetensors

# Put before every name by DataParallel, torch.compile and Lightning.
PREFIXES = ("module.", "_orig_mod.", "model.")
CODE = {"GLOBAL", "STACK_GLOBAL", "INST", "OBJ", "REDUCE"}  # operations of a pickle that look things up or call them
NESTS = ("state_dict", "model", "model_state_dict", "net", "state_dict_ema", "model_ema", "ema")


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the named tensors of a file, and its text metadata if it is a safetensors file."""
    try:
        with path.open("rb") as file:
            head = file.read(9)
    except FileNotFoundError:
        raise UserError(f"there is no weight file {path}; give the path of an existing one") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    if not head:
        raise UserError(f"{path} is empty; fetch or write it again")
    if path.suffix == ".caffemodel":
        return read_caffemodel(path), {}
    if head[8:] == b"{":
        return read_safetensors(path)
    return _unwrap(_read_torch(path), path), {}


def _read_torch(path: Path) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Detected pickle protocol")  # torch's, and told here in a sentence
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises nearly anything on a damaged file
        raise UserError(f"{path} {_say_what_else(path, error)}") from error


def _say_what_else(path: Path, error: Exception) -> str:
    """Say what a file is that torch does not read: a pickle of code, a pickle of something else, or neither."""
    asked = re.search(r"GLOBAL (\S+)", str(error)) if isinstance(error, pickle.UnpicklingError) else None
    operations = _list_operations(path)
    if asked or operations & CODE:
        return (
            f"is refused: loading it would run code{f' ({asked[1]})' if asked else ''}; "
            "ask its author for a plain state dict or a safetensors file"
        )
    if operations:
        return "is a pickle that holds no tensors; save a network's state_dict() with torch.save"
    return "is not a weight file, or a damaged one; fetch or write it again"


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
            f"{path} holds no state dict (names to dense float tensors, bare or under 'state_dict'); save state_dict()"
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
