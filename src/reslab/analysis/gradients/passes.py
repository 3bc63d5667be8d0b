"""One pass forward and back over a batch: the gradient of every weight, and how what passes by varies.

What leaves a convolution or linear layer, before any normalization, is its signal; the gradient of each image's loss
with respect to it is the signal that comes back. Variances are over all channels, positions and images together.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from reslab.analysis.layers import WeightLayer
from reslab.networks import Network
from reslab.runtime.execution import Execution

Losses = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Pass:
    """Of one batch: the variances of each layer's signals, and the gradient of the mean loss.

    That has one vector for each layer's weights, and the last for all other parameters together.
    """

    forward: Tensor
    backward: Tensor
    gradients: list[Tensor]


def run_pass(
    network: Network,
    layers: Sequence[WeightLayer],
    batch: tuple[Tensor, Tensor],
    *,
    losses: Losses,
    execution: Execution,
) -> Pass:
    """Run a batch through the network as its mode is, and back."""
    images, targets = batch
    weights = [layer.weight for layer in layers]
    known = {id(weight) for weight in weights}
    others = [parameter for parameter in network.parameters() if id(parameter) not in known]
    with _listening(layers) as (forward, backward), torch.enable_grad():
        with execution.autocast(images.device.type):
            outputs = network(images)
        total = losses(outputs.to(weights[0].dtype), targets).sum()
        found = torch.autograd.grad(total, [*weights, *others], materialize_grads=True, allow_unused=True)
    gradients = [gradient.flatten() / len(images) for gradient in found]
    rest = torch.cat(gradients[len(layers) :]) if others else gradients[0].new_zeros(1)
    return Pass(_stack(layers, forward), _stack(layers, backward), [*gradients[: len(layers)], rest])


@contextlib.contextmanager
def _listening(layers: Sequence[WeightLayer]) -> Iterator[tuple[dict[str, Tensor], dict[str, Tensor]]]:
    """Yield the variances of the signals of each layer, which come as these pass."""
    forward: dict[str, Tensor] = {}
    backward: dict[str, Tensor] = {}

    def listen(name: str) -> Callable[[Any, Any, Tensor], None]:
        def hear(_: Any, __: Any, signal: Tensor) -> None:
            forward[name] = _vary(signal.detach())
            signal.register_hook(lambda gradient: backward.__setitem__(name, _vary(gradient)))

        return hear

    handles = [layer.module.register_forward_hook(listen(layer.name)) for layer in layers]
    try:
        yield forward, backward
    finally:
        for handle in handles:
            handle.remove()


def _vary(signal: Tensor) -> Tensor:
    return signal.double().var(correction=0)


def _stack(layers: Sequence[WeightLayer], found: dict[str, Tensor]) -> Tensor:
    """Return what was heard of each layer; of one that nothing passed, nothing varies."""
    none = torch.zeros((), dtype=torch.float64, device=next(iter(found.values())).device)
    return torch.stack([found.get(layer.name, none) for layer in layers])
