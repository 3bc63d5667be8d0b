"""Random directions through weights, rescaled filter by filter (Li et al., 2018).

A raw direction is drawn parameter by parameter, from the seed, the axis and the parameter's name: the same for all
checkpoints of one architecture, whatever the device. A filter is what makes one output: of a convolution's or a
classifier's weights, one slice along the first axis.
"""

import hashlib
from collections.abc import Mapping
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

Tensors: TypeAlias = Mapping[str, Tensor]
Moves: TypeAlias = Literal["filters", "all"]


def choose_moving(parameters: Tensors, moves: Moves) -> dict[str, Tensor]:
    """Return the parameters that directions move: those made of filters, or biases and normalizations' as well."""
    return {name: values.detach() for name, values in parameters.items() if moves == "all" or values.dim() > 1}


def draw_direction(parameters: Tensors, *, seed: int, axis: int) -> dict[str, Tensor]:
    """Draw independent Gaussian numbers in the shapes of `parameters`, in float64 on the CPU."""
    drawn = {}
    for name, values in parameters.items():
        entropy = hashlib.sha256(f"{seed} {axis} {name}".encode()).digest()
        random = np.random.Generator(np.random.PCG64(int.from_bytes(entropy, "big")))
        drawn[name] = torch.from_numpy(random.standard_normal(tuple(values.shape)))
    return drawn


def rescale_filters(direction: Tensors, weights: Tensors) -> dict[str, Tensor]:
    """Give each filter of `direction` the norm of the same filter of `weights`; a bias or a gain counts as one filter.

    Where a filter of the weights is zero, so is the direction's.
    """
    scaled = {}
    for name, values in direction.items():
        norms, wanted = (_norm_filters(tensor.cpu().double()) for tensor in (values, weights[name]))
        scaled[name] = values * (wanted / norms.clamp_min(torch.finfo(norms.dtype).tiny))
    return scaled


def _norm_filters(tensor: Tensor) -> Tensor:
    axes = tuple(range(1, tensor.dim())) if tensor.dim() > 1 else tuple(range(tensor.dim()))
    return torch.linalg.vector_norm(tensor, dim=axes, keepdim=True)


def digest(tensors: Tensors) -> str:
    """Return the digest of names, shapes and values, these rounded to float32."""
    found = hashlib.sha256()
    for name, values in sorted(tensors.items()):
        found.update(f"{name} {tuple(values.shape)} ".encode())
        found.update(values.detach().cpu().float().contiguous().numpy().astype("<f4").tobytes())
    return found.hexdigest()


def multiply(one: Tensors, other: Tensors) -> float:
    """Return the inner product of two directions."""
    return sum(float((values.double() * other[name].double()).sum()) for name, values in one.items())
