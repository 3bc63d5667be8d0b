"""Shattered gradients (Balduzzi et al., 2017): those with respect to neighbouring inputs have nothing in common.

On a line of inputs the gradient at each is taken of a random projection of what leaves a part of the network, so the
depth is how much of the network lies before. The cosine of two gradients is a function of how many steps apart their
inputs are; where they are shattered, it falls to zero within a step. Beside it stands how far a gradient's own map is
alike from pixel to pixel. Every input is on its own: batch norm has fixed statistics.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reslab.networks import Network
from reslab.runtime.execution import Execution

Floats = NDArray[np.float64]
PIXELS = 4  # how far apart, at most, places of a gradient's map are compared


@dataclass(frozen=True)
class LineGradients:
    """Of one line, mean cosines: (depths, points) by how many steps inputs are apart, (depths, pixels) by pixels."""

    cosines: Floats
    spatial: Floats


def draw_line(start: Tensor, end: Tensor, *, points: int) -> Tensor:
    """Return inputs at equal distances, from `start` to `end`."""
    parts = torch.linspace(0, 1, points, dtype=start.dtype, device=start.device)
    return start + parts.reshape(-1, *[1] * start.dim()) * (end - start)


def around(image: Tensor, *, reach: float, seeds: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return the ends of a line in a random direction with the image in its middle."""
    direction = _draw(image.shape, seeds).to(image)
    half = direction * (reach * image.norm() / (2 * direction.norm()))
    return image - half, image + half


def choose_depths(names: Sequence[str], most: int) -> list[str]:
    """Return so many names, evenly spread from the first to the last."""
    count = min(most, len(names))
    return [names[round(place * (len(names) - 1) / max(1, count - 1))] for place in range(count)]


def list_depths(network: Network, image: Tensor) -> list[str]:
    """Return what leaves the parts of a network, in order; responses inside blocks are left out."""
    with torch.no_grad():
        return [name for name in network.activations(image[None]) if ".response" not in name]


def compare_neighbours(
    network: Network, line: Tensor, depths: Sequence[str], *, execution: Execution, seeds: Sequence[int]
) -> LineGradients:
    """Compare the gradients of the inputs on a line at each depth; `seeds` are the line's own."""
    inputs = execution.prepare(line).detach().requires_grad_()
    seen: dict[str, Tensor] = {}
    with torch.enable_grad(), execution.autocast(inputs.device.type):
        network.observe(inputs, lambda name, value: seen.__setitem__(name, value) if name in depths else None)
    cosines, spatial = [], []
    for number, depth in enumerate(depths):
        projection = _draw(seen[depth].shape[1:], [*seeds, number]).to(seen[depth])
        directions = projection.expand_as(seen[depth])
        (gradient,) = torch.autograd.grad(seen[depth], inputs, directions, retain_graph=True)
        maps = gradient.double()
        cosines.append(_by_steps(maps.flatten(1)))
        spatial.append(_by_pixels(maps))
    return LineGradients(torch.stack(cosines).cpu().numpy(), torch.stack(spatial).cpu().numpy())


def find_length(cosines: Floats) -> float | None:
    """Return after which part of the line the cosine has fallen to 1/e; None where it does not."""
    below = np.flatnonzero(cosines < np.exp(-1))
    if not len(below):
        return None
    last = below[0] - 1
    step = (cosines[last] - np.exp(-1)) / (cosines[last] - cosines[last + 1])
    return float((last + step) / (len(cosines) - 1))


def _by_steps(gradients: Tensor) -> Tensor:
    """Return the mean cosine of vectors that are 0, 1, 2 … steps apart."""
    units = gradients / gradients.norm(dim=1, keepdim=True).clamp_min(torch.finfo(gradients.dtype).tiny)
    table = units @ units.T
    return torch.stack([table.diagonal(step).mean() for step in range(len(table))])


def _by_pixels(maps: Tensor) -> Tensor:
    """Return the mean cosine of maps and themselves 1, 2 … pixels further along each axis of space."""
    axes = range(2, maps.dim())
    apart = range(1, 1 + min([PIXELS, *[maps.shape[axis] - 1 for axis in axes]])) if len(axes) else ()
    found = [torch.stack([_shifted(maps, axis, pixels) for axis in axes]).mean() for pixels in apart]
    return torch.stack(found) if found else maps.new_zeros(0)


def _shifted(maps: Tensor, axis: int, pixels: int) -> Tensor:
    reach = maps.shape[axis] - pixels
    one, other = maps.narrow(axis, 0, reach).flatten(1), maps.narrow(axis, pixels, reach).flatten(1)
    return torch.nn.functional.cosine_similarity(one, other).mean()


def _draw(shape: torch.Size, seeds: Sequence[int]) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seeds).standard_normal(shape))
