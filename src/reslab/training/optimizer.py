"""SGD with the paper's momentum, v <- m v + rate * g, w <- w - v; and AdamW, which is torch's.

torch's SGD keeps v without the rate and multiplies at the end, so that a drop of the rate shrinks the momentum
gathered so far at once; here, as in Caffe, it fades. The two agree while the rate is constant. All weights lie in one
stretch of memory, those that decay first, so an update is a handful of operations however deep the network.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from reslab.spec.optimization import OptimizerSpec


class FlatTensors:
    """Named tensors of one type, laid end to end in `flat`; `views` has each in its own shape and layout."""

    def __init__(self, tensors: Mapping[str, Tensor], *, flat: Tensor) -> None:
        self.flat = flat
        self.views: dict[str, Tensor] = {}
        start = 0
        for name, tensor in tensors.items():
            self.views[name] = flat.as_strided(tensor.shape, tensor.stride(), start)
            start += tensor.numel()

    @classmethod
    def holding(cls, tensors: Mapping[str, Tensor], *, device: torch.device) -> FlatTensors:
        """Move `tensors`, which must be dense and on `device`, into one memory; they stay the objects they are."""
        values = [flatten(tensor.detach()) for tensor in tensors.values()]
        held = cls(tensors, flat=torch.cat(values) if values else torch.empty(0, device=device))
        held.attach(tensors)
        return held

    def attach(self, tensors: Mapping[str, Tensor]) -> None:
        """Let tensors of the same names and shapes share this memory."""
        for name, tensor in tensors.items():
            tensor.data = self.views[name]

    def copy(self, flat: Tensor) -> FlatTensors:
        """Return tensors of the same names and shapes that live in `flat`."""
        return FlatTensors(self.views, flat=flat)


def list_biases(network: nn.Module) -> set[str]:
    """Return the names of the biases of kernels and matrices; a normalization's shift is beside a scale instead."""
    axes = {name: weight.dim() for name, weight in network.named_parameters()}
    return {name for name in axes if name.endswith("bias") and axes.get(f"{name.removesuffix('bias')}weight", 0) > 1}


def flatten(tensor: Tensor) -> Tensor:
    """Return a dense tensor's values in the order they lie in memory, without moving them."""
    return tensor.as_strided((tensor.numel(),), (1,))


class Optimizer(abc.ABC):
    """What moves a network's parameters by their gradients.

    `moments` is what it keeps of past gradients, a tensor a parameter, and `counts` what it counts; a checkpoint has
    both by these names.
    """

    def __init__(self, network: nn.Module, spec: OptimizerSpec, *, ahead: Mapping[str, int] | None = None) -> None:
        """Take over the parameters of `network`; `ahead` is how many stages before the classifier each lies."""
        self.spec = spec
        trained = {name: weight for name, weight in network.named_parameters() if weight.requires_grad}
        decayed = {name: weight for name, weight in trained.items() if self.reaches(weight)}
        self.parameters = decayed | trained
        self.num_decayed = sum(weight.numel() for weight in decayed.values())
        device = next(network.parameters()).device
        self.weights = FlatTensors.holding(self.parameters, device=device)
        # Kept from step to step: on the CPU, fresh memory of this size costs more than the arithmetic on it.
        self.gradients = torch.empty_like(self.weights.flat)
        stages = {name: (ahead or {}).get(name, 1) for name in self.parameters}
        biases = list_biases(network)
        # Each parameter's rate, in rates, and its decay.
        self.factors = [
            (spec.body_rate * spec.stage_decay**count if count else 1.0) * (spec.bias_rate if name in biases else 1.0)
            for name, count in stages.items()
        ]
        usual, of_head = spec.weight_decay, spec.weight_decay * spec.head_decay
        self.decays = [(usual if count else of_head) if name in decayed else 0.0 for name, count in stages.items()]
        self.moments: dict[str, FlatTensors] = {}
        self.counts: dict[str, Tensor] = {}

    @torch.no_grad()
    def gather(self, *, scale: Tensor | None = None) -> None:
        """Take the gradients at hand into one tensor, from where they were; they are of `scale` times the loss."""
        torch.cat([_flat_gradient(weight) for weight in self.parameters.values()], out=self.gradients)
        for weight in self.parameters.values():
            weight.grad = None
        if scale is not None:
            self.gradients /= scale

    @torch.no_grad()
    def measure(self) -> Tensor:
        """Return the norm of the gradients gathered.

        It is finite if all of them are, unless they are so large that nothing is to be saved.
        """
        self.norm = self.gradients.norm()
        return self.norm

    @torch.no_grad()
    def step(self, rate: Tensor, allowed: Tensor) -> None:
        """Apply the gradients gathered and measured, unless `allowed` says no."""
        if self.spec.clip_norm:
            self.gradients *= (self.spec.clip_norm / (self.norm + 1e-6)).clamp(max=1)
        self._move(rate, allowed)

    @abc.abstractmethod
    def _move(self, rate: Tensor, allowed: Tensor) -> None: ...

    def reaches(self, weight: Tensor) -> bool:
        """Whether weight decay reaches it: kernels and matrices have two axes or more, biases and affines one."""
        return self.spec.weight_decay > 0 and (self.spec.decay == "all" or weight.dim() > 1)

    def _make_moment(self) -> FlatTensors:
        return self.weights.copy(torch.zeros_like(self.weights.flat))


class PaperSGD(Optimizer):
    """The paper's optimizer; its state is one velocity a parameter."""

    def __init__(self, network: nn.Module, spec: OptimizerSpec, *, ahead: Mapping[str, int] | None = None) -> None:
        super().__init__(network, spec, ahead=ahead)
        self.velocities = self._make_moment()
        self.moments = {"velocity": self.velocities}
        self.scratch = torch.empty_like(self.weights.flat)
        # Where all are treated alike, one number does for them.
        self.rates = (
            self._spread(self.factors) if (spec.body_rate, spec.stage_decay, spec.bias_rate) != (1, 1, 1) else None
        )
        self.each_decay = self._spread(self.decays)[: self.num_decayed] if spec.head_decay != 1 else None

    def _move(self, rate: Tensor, allowed: Tensor) -> None:
        spec, weights, velocities, gradients = self.spec, self.weights.flat, self.velocities.flat, self.gradients
        decayed, decaying = gradients[: self.num_decayed], weights[: self.num_decayed]
        if self.each_decay is not None:
            decayed.addcmul_(decaying, self.each_decay)
        elif self.num_decayed:
            decayed.add_(decaying, alpha=spec.weight_decay)
        gradients *= rate
        if self.rates is not None:
            gradients *= self.rates
        moved = torch.add(gradients, velocities, alpha=spec.momentum, out=self.scratch)
        torch.where(allowed, moved, velocities, out=velocities)
        change = gradients.add_(moved, alpha=spec.momentum) if spec.nesterov else moved
        torch.where(allowed, torch.sub(weights, change, out=change), weights, out=weights)

    def _spread(self, numbers: Sequence[float]) -> Tensor:
        """Return a parameter's number for each of its weights."""
        sizes = [weight.numel() for weight in self.parameters.values()]
        flat = self.weights.flat
        return torch.tensor(numbers, device=flat.device, dtype=flat.dtype).repeat_interleave(
            torch.tensor(sizes, device=flat.device)
        )


class AdamW(Optimizer):
    """torch's AdamW by its fused kernel; its state are two moments a parameter, and how often they were updated.

    Weights with one rate and decay that lie side by side are one tensor to it.
    """

    def __init__(self, network: nn.Module, spec: OptimizerSpec, *, ahead: Mapping[str, int] | None = None) -> None:
        super().__init__(network, spec, ahead=ahead)
        self.moments = {"first_moment": self._make_moment(), "second_moment": self._make_moment()}
        self.pieces = self._divide()
        # An update counts in each piece, as torch has it; a 32-bit float, whatever the weights are.
        self.counts = {"updates": torch.zeros(len(self.pieces), device=self.gradients.device)}

    def _move(self, rate: Tensor, allowed: Tensor) -> None:
        spec, skipped = self.spec, (~allowed).float()
        flats = [self.weights.flat, self.gradients, *[moment.flat for moment in self.moments.values()]]
        beta1, beta2 = spec.betas
        for (part, decay, factor), updates in zip(self.pieces, self.counts["updates"], strict=True):
            weights, gradients, first, second = ([flat[part]] for flat in flats)
            adamw(
                weights,
                gradients,
                first,
                second,
                [],
                [updates],
                fused=True,
                found_inf=skipped,
                amsgrad=False,
                beta1=beta1,
                beta2=beta2,
                lr=(rate * factor).float(),
                weight_decay=decay,
                eps=spec.epsilon,
                maximize=False,
            )

    def _divide(self) -> list[tuple[slice, float, float]]:
        """Return the stretches of the weights that are treated alike: where each lies, its decay, its rate in rates."""
        pieces: list[tuple[slice, float, float]] = []
        end = 0
        for weight, decay, factor in zip(self.parameters.values(), self.decays, self.factors, strict=True):
            start, end = end, end + weight.numel()
            alike = (decay, factor)
            if pieces and pieces[-1][1:] == alike:
                start = pieces.pop()[0].start
            pieces.append((slice(start, end), *alike))
        return pieces


OPTIMIZERS: dict[str, type[Optimizer]] = {"sgd": PaperSGD, "adamw": AdamW}


def make_optimizer(network: nn.Module, spec: OptimizerSpec, *, ahead: Mapping[str, int] | None = None) -> Optimizer:
    """Return what a spec asks for, over the parameters of `network`."""
    return OPTIMIZERS[spec.kind](network, spec, ahead=ahead)


def _flat_gradient(weight: Tensor) -> Tensor:
    # autograd lays a gradient out like its weight, so the two flatten in the same order.
    return torch.zeros_like(flatten(weight)) if weight.grad is None else flatten(weight.grad)
