"""Safetensors files with plain data inside and a SHA-256 over all of it.

Damage is found on reading, and the same content is the same bytes.
"""

import errno
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, UntypedStorage

from reslab.errors import UserError
from reslab.files import atomic_write
from reslab.json_text import to_json

KEY = "reslab"  # one key, because safetensors writes several in any order


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str]) -> None:
    """Write named tensors to a safetensors file, atomically."""
    plain = {name: tensor.contiguous() for name, tensor in bring_home(tensors).items()}
    with atomic_write(path) as temporary:
        try:
            save_file(plain, temporary, metadata)
        except SafetensorError as error:  # a full disk, told in safetensors' words
            raise OSError(errno.EIO, str(error).rpartition("I/O error: ")[2]) from error


def write_sealed(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write named tensors and what they are, sealed with their digest."""
    tensors = bring_home(tensors)
    write_tensors(path, tensors, {KEY: _canonical({**_plain(about), "digest": seal(about, tensors)})})


def read_sealed(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors of a sealed file and what they are; refuse a file whose content does not match its digest."""
    tensors, metadata = read_safetensors(path)
    return tensors, unseal(path, tensors, metadata)


def read_safetensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the named tensors of a safetensors file, and its text metadata."""
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise UserError(f"{path} is damaged or truncated ({error}); fetch or write it again") from error


def unseal(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return what the tensors are, with their `digest`; refuse a file whose content does not match it."""
    try:
        about = json.loads(metadata[KEY])
        digest = about.pop("digest")
        whole = digest == _digest(about, tensors)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        whole, about, digest = False, {}, ""
    if not whole:
        raise UserError(f"{path} is damaged: its content does not match its digest; fetch or write it again")
    return about | {"digest": digest}


def seal(about: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str:
    """Return the digest of tensors and what they are, as `write_sealed` writes them."""
    return _digest(_plain(about), tensors)


def _digest(about: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256(_canonical(about).encode())
    for name, tensor in sorted(tensors.items()):
        data = tensor.detach().cpu().contiguous()
        digest.update(f"{name} {data.dtype} {tuple(data.shape)}\n".encode())
        digest.update(data.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def bring_home(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors in the host's memory; those that share a device's memory come over in one copy."""
    home: dict[int, UntypedStorage] = {}
    brought = {}
    for name, tensor in tensors.items():
        tensor = tensor.detach()
        if tensor.device.type != "cpu":
            memory = tensor.untyped_storage()
            if memory.data_ptr() not in home:
                home[memory.data_ptr()] = memory.cpu()
            empty = torch.empty(0, dtype=tensor.dtype)
            tensor = empty.set_(home[memory.data_ptr()], tensor.storage_offset(), tensor.shape, tensor.stride())
        brought[name] = tensor
    return brought


def _plain(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return `about` as it will be read back: numbers of other libraries and paths as plain ones, keys as text.

    What is not finite is None: JSON has no word for it.
    """
    try:
        return json.loads(to_json(about, default=lambda value: value.item() if hasattr(value, "item") else str(value)))
    except (TypeError, ValueError) as error:
        raise UserError(f"the metadata of the weights cannot be written as JSON ({error}); use plain values") from error


def _canonical(data: Mapping[str, Any]) -> str:
    """Return what the digest is over: in files of early versions NaN too, which `to_json` would change."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))
