"""The R-operator of batch normalization: by fixed statistics it is affine; by those of the batch it has a closed form.

By the batch, with the normalized z = (x - mean) s and P u = u - mean(u) - z mean(z u), R{z} = s P R{x}, and a gradient
g of z comes back as s P g.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from reslab.analysis.curvature.operators import Operator
from reslab.analysis.curvature.tangents import Directions, Dual, by_direction


class Norm(Operator):
    """What both kinds have: weights, and how values of channels lie along maps."""

    def __init__(self, module: nn.Module) -> None:
        self.weight: Tensor = module.weight  # pyright: ignore[reportAttributeAccessIssue]
        self.bias: Tensor = module.bias  # pyright: ignore[reportAttributeAccessIssue]
        self.eps: float = module.eps  # pyright: ignore[reportAttributeAccessIssue]

    def moved(self, directions: Directions) -> tuple[Tensor, Tensor] | None:
        """Return the directions' parts of weight and bias, where these move."""
        weight, bias = directions.of(self.weight), directions.of(self.bias)
        return None if weight is None or bias is None else (weight, bias)


class FixedNorm(Norm):
    """By running statistics: y = a x + b."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__(module)
        self.mean: Tensor = module.running_mean  # pyright: ignore[reportAttributeAccessIssue]
        self.variance: Tensor = module.running_var  # pyright: ignore[reportAttributeAccessIssue]
        self.kept: Dual = Dual(None, None)

    def forward(self, x: Dual, directions: Directions) -> Dual:
        x = x.to(self.weight.dtype)
        count, moved, scale = directions.count, self.moved(directions), self._scale
        value = along(self.bias - scale * self.weight * self.mean, x.map)
        value = torch.addcmul(value, x.map, along(scale * self.weight, x.map))
        tangents = None
        if x.tangents is not None:
            tangents = by_direction(x.tangents, count) * along(scale * self.weight, x.map)
        if moved is not None:
            slope, shift = moved[0] * scale, moved[1] - moved[0] * scale * self.mean
            beside = torch.addcmul(along(shift, x.map), x.map, along(slope, x.map))
            tangents = beside if tangents is None else tangents.add_(beside)
        self.kept = x
        return Dual(value, None if tangents is None else tangents.flatten(0, 1))

    def backward(self, gradient: Dual, directions: Directions) -> Dual | None:
        x, self.kept = self.kept, Dual(None, None)
        count, moved, scale = directions.count, self.moved(directions), self._scale
        assert gradient.tangents is not None
        tangents = by_direction(gradient.tangents, count)
        if moved is not None:
            totals = sum_places(tangents)
            slopes = sum_places(tangents * x.map) - totals * self.mean
            if gradient.value is not None and x.tangents is not None:
                slopes = slopes + sum_places(by_direction(x.tangents, count) * gradient.value)
            directions.add(self.weight, slopes * scale)
            directions.add(self.bias, totals)
        if x.tangents is None:
            return None
        back = tangents * along(scale * self.weight, x.map)
        if gradient.value is None:
            return Dual(None, back.flatten(0, 1))
        if moved is not None:
            back = back.addcmul_(gradient.value, along(moved[0] * scale, x.map))
        return Dual(gradient.value * along(scale * self.weight, x.map), back.flatten(0, 1))

    @property
    def _scale(self) -> Tensor:
        return (self.variance + self.eps).rsqrt()


class BatchNorm(Norm):
    """By the mean and variance of the batch, through which every image moves every other."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__(module)
        self.kept: tuple[Tensor, Tensor, Tensor | None, Tensor | None] | None = None

    def forward(self, x: Dual, directions: Directions) -> Dual:
        x = x.to(self.weight.dtype)
        count, moved = directions.count, self.moved(directions)
        variance, mean = torch.var_mean(x.map, [axis for axis in range(x.map.dim()) if axis != 1], correction=0)
        scale = (variance + self.eps).rsqrt()
        z = (x.map - along(mean, x.map)) * along(scale, x.map)
        value = torch.addcmul(along(self.bias, z), z, along(self.weight, z))
        moved_z, pull, tangents = None, None, None
        if x.tangents is not None:
            moved_z, pull = _project(by_direction(x.tangents, count), z)
            moved_z = moved_z.mul_(along(scale, z))
            tangents = moved_z * along(self.weight, z)
        if moved is not None:
            beside = torch.addcmul(along(moved[1], z), z, along(moved[0], z))
            tangents = beside if tangents is None else tangents.add_(beside)
        self.kept = z, scale, moved_z, pull
        return Dual(value, None if tangents is None else tangents.flatten(0, 1))

    def backward(self, gradient: Dual, directions: Directions) -> Dual | None:
        assert self.kept is not None and gradient.tangents is not None
        (z, scale, moved_z, pull), self.kept = self.kept, None
        moved = self.moved(directions)
        tangents = by_direction(gradient.tangents, directions.count)
        if moved is not None:
            slopes = sum_places(tangents * z)
            if gradient.value is not None and moved_z is not None:
                slopes = slopes + sum_places(moved_z * gradient.value)
            directions.add(self.weight, slopes)
            directions.add(self.bias, sum_places(tangents))
        if moved_z is None or pull is None:
            return None
        weight, scale_along = along(self.weight, z), along(scale, z)
        inner = tangents * weight
        if gradient.value is None:
            return Dual(None, _project(inner, z)[0].mul_(scale_along).flatten(0, 1))
        if moved is not None:
            inner = inner.addcmul_(gradient.value, along(moved[0], z))
        g = gradient.value * weight
        # R{s P g} = -s mean(z R{x}) s P g + s (P R{g} - R{z} mean(z g) - z mean(g R{z}))
        back, slope = _project(g, z)
        back = back.mul_(scale_along)
        moved_back = inner - _mean_places(inner, z) - z * _mean_places(torch.addcmul(inner * z, g, moved_z), z)
        moved_back = (moved_back - moved_z * slope).mul_(scale_along)
        moved_back = moved_back - back * pull * scale_along
        return Dual(back, moved_back.flatten(0, 1))


def _project(u: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """Return u - mean(u) - z mean(z u), and mean(z u)."""
    slope = _mean_places(u * z, z)
    return (u - _mean_places(u, z)).addcmul_(z.expand_as(u), slope, value=-1), slope


def along(values: Tensor, maps: Tensor) -> Tensor:
    """Return values of channels, or of (directions, channels), as they lie along maps (images, channels, ...)."""
    shape = [1, values.shape[-1], *[1] * (maps.dim() - 2)]
    return values.view(*values.shape[:-1], *shape)


def sum_places(maps: Tensor) -> Tensor:
    """Sum over images and places: of (directions, images, channels, ...) there remain (directions, channels)."""
    return maps.sum((1, *range(3, maps.dim())))


def _mean_places(maps: Tensor, z: Tensor) -> Tensor:
    """Average over images and places, keeping the axes; maps are as z is, or have directions before that."""
    channel = 1 + maps.dim() - z.dim()
    return maps.mean([axis for axis in range(channel - 1, maps.dim()) if axis != channel], keepdim=True)
