"""What is random inside a network while it trains: dropout, stochastic depth, the regions a detector learns from.

Trials that train side by side in one process each have their own, so none disturbs another's numbers. Without one, and
so where a network is only built, torch's default serves.
"""

import torch
from torch import Tensor, nn


class Drawing(nn.Module):
    """What draws from `generator` while it trains, where it `draws` at all."""

    generator: torch.Generator | None = None

    @property
    def draws(self) -> bool:
        """Whether anything is random in it."""
        return True


class Dropout(nn.Dropout, Drawing):
    """Drop each value with probability `p`, and scale the others up."""

    @property
    def draws(self) -> bool:
        """Whether any value may be dropped."""
        return self.p > 0

    def forward(self, input: Tensor) -> Tensor:
        if not self.training or not self.p:
            return input
        kept = self._make_room(input).bernoulli_(1 - self.p, generator=self.generator)
        return input * kept.div_(1 - self.p)

    def _make_room(self, input: Tensor) -> Tensor:
        return torch.empty_like(input)


class StochasticDepth(Dropout):
    """Drop a whole branch of each image with probability `p` (Huang et al., 2016), and scale the others up."""

    def _make_room(self, input: Tensor) -> Tensor:
        return input.new_empty(len(input), *[1] * (input.dim() - 1))


def draw_from(network: nn.Module, generator: torch.Generator | None) -> bool:
    """Let everything random in `network` draw from `generator`; return whether there is anything."""
    layers = [module for module in network.modules() if isinstance(module, Drawing) and module.draws]
    for layer in layers:
        layer.generator = generator
    return bool(layers)


def generator_of(module: nn.Module) -> torch.Generator | None:
    """Return what `module` draws from, where that is a generator of its own."""
    layers = (layer for layer in module.modules() if isinstance(layer, Drawing))
    return next((layer.generator for layer in layers if layer.generator is not None), None)


def adopt_randomness(model: nn.Module) -> None:
    """Replace the random layers of a torchvision model by ours, which do the same."""
    from torchvision.ops import StochasticDepth as TheirDepth

    for parent in model.modules():
        for name, layer in parent.named_children():
            if type(layer) is nn.Dropout:
                setattr(parent, name, Dropout(layer.p))
            elif isinstance(layer, TheirDepth):
                assert layer.mode == "row"
                setattr(parent, name, StochasticDepth(layer.p))
