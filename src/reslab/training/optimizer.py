"""SGD with the paper's momentum: v <- m v + rate * g, w <- w - v.

torch's SGD keeps v without the rate and multiplies at the end, so that a drop of the rate shrinks the momentum
gathered so far at once; here, as in Caffe, it fades. The two agree while the rate is constant.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from reslab.spec.recipe import OptimizerSpec


class PaperSGD:
    """The paper's optimizer over a network's parameters; its state is one velocity a parameter, by name."""

    def __init__(self, network: nn.Module, spec: OptimizerSpec) -> None:
        self.spec = spec
        self.weights = {name: weight for name, weight in network.named_parameters() if weight.requires_grad}
        self.velocities = {name: torch.zeros_like(weight) for name, weight in self.weights.items()}

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Apply the gradients at hand, and drop them."""
        spec = self.spec
        if spec.clip_norm:
            nn.utils.clip_grad_norm_(self.weights.values(), spec.clip_norm)
        for name, weight in self.weights.items():
            gradient, velocity = weight.grad, self.velocities[name]
            if gradient is None:
                continue
            if self.decays(weight):
                gradient.add_(weight, alpha=spec.weight_decay)
            velocity.mul_(spec.momentum).add_(gradient, alpha=learning_rate)
            if spec.nesterov:
                weight.sub_(velocity, alpha=spec.momentum).sub_(gradient, alpha=learning_rate)
            else:
                weight.sub_(velocity)
            weight.grad = None

    def decays(self, weight: Tensor) -> bool:
        """Whether weight decay reaches it: kernels and matrices have two axes or more, biases and affines one."""
        return self.spec.weight_decay > 0 and (self.spec.decay == "all" or weight.dim() > 1)

    def load(self, velocities: Mapping[str, Tensor]) -> None:
        """Copy velocities in, in place."""
        for name, velocity in self.velocities.items():
            velocity.copy_(velocities[name])
