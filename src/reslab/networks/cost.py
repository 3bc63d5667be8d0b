"""What a network costs: parameters, multiply-adds and activation memory, a layer at a time and in all.

Everything runs on the meta device, so nothing is allocated whatever the input size and batch. Multiply-adds are
those of convolutions, fully-connected layers and attention in one forward pass, biases apart: what the paper
calls FLOPs. Activation memory is what autograd keeps between the forward and the backward pass of a training step.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

from reslab.errors import UserError
from reslab.networks.build import build
from reslab.networks.network import Network
from reslab.spec import Spec


@dataclass(frozen=True, kw_only=True)
class LayerCost:
    """One module that has parameters, computes, or keeps something: its output and its share of the totals."""

    name: str
    operator: str
    output_shape: tuple[int, ...]
    params: int
    multiply_adds: int
    activation_bytes: int


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost of one pass over `input_shape`, batch included."""

    input_shape: tuple[int, ...]
    params: int
    multiply_adds: int
    activation_bytes: int
    layers: tuple[LayerCost, ...]


def measure_cost(spec: Spec, *, input_shape: tuple[int, ...] | None = None, batch: int = 1) -> Cost:
    """Measure what `spec` costs on `batch` inputs of `input_shape` (channels first; the spec's own by default)."""
    network = build(spec, device="meta")
    shape = (batch, *(input_shape or spec.input_shape))
    try:
        multiply_adds = _count_multiply_adds(network, shape)
        outputs, kept_bytes = _follow_training_step(network, shape)
    except (RuntimeError, AssertionError) as error:
        raise UserError(
            f"inputs of shape {shape[1:]} do not pass through this network ({error}); change input_size or channels"
        ) from error
    layers = tuple(_layers(network, outputs, multiply_adds, kept_bytes))
    return Cost(
        input_shape=shape,
        params=sum(parameter.numel() for parameter in network.parameters()),
        multiply_adds=sum(layer.multiply_adds for layer in layers),
        activation_bytes=sum(layer.activation_bytes for layer in layers),
        layers=layers,
    )


def _layers(
    network: Network, outputs: dict[str, tuple[int, ...]], multiply_adds: dict[str, int], kept_bytes: dict[str, int]
) -> Iterator[LayerCost]:
    modules = dict(network.named_modules())
    # Attention uses its projections' weights without calling them, so they come last, and without an output.
    for name in [*outputs, *[name for name in modules if name not in outputs]]:
        module = modules[name]
        layer = LayerCost(
            name=name or "(network)",
            operator=_describe(module),
            output_shape=outputs.get(name, ()),
            params=sum(parameter.numel() for parameter in module.parameters(recurse=False)),
            multiply_adds=multiply_adds.get(name, 0),
            activation_bytes=kept_bytes.get(name, 0),
        )
        if layer.params or layer.multiply_adds or layer.activation_bytes:
            yield layer


def _count_multiply_adds(network: Network, shape: tuple[int, ...]) -> dict[str, int]:
    """Multiply-adds of one forward pass, by the module that runs them itself."""
    network.eval()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(torch.empty(shape, device="meta"))
    prefix = type(network).__name__
    totals = {
        name.removeprefix(prefix).removeprefix("."): sum(operators.values()) // 2
        for name, operators in counter.get_flop_counts().items()
        if name.startswith(prefix)
    }
    own = dict(totals)
    for name, total in totals.items():
        if name:
            parent = name
            while parent not in totals or parent == name:
                parent = parent.rpartition(".")[0]
            own[parent] -= total
    return own


def _follow_training_step(
    network: Network, shape: tuple[int, ...]
) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """Output shapes, and bytes kept for the backward pass, by module; each stored tensor counts once."""
    network.train()
    running: list[str] = [""]
    outputs: dict[str, tuple[int, ...]] = {}
    kept: dict[str, int] = defaultdict(int)
    # Storages are held while counting, so that no address is used twice.
    seen = {tensor.untyped_storage()._cdata: tensor for tensor in network.state_dict(keep_vars=True).values()}

    def enter(name: str):
        def hook(module: nn.Module, arguments: object) -> None:
            running.append(name)

        return hook

    def leave(name: str):
        def hook(module: nn.Module, arguments: object, output: object) -> None:
            running.pop()
            outputs[name] = tuple(output.shape) if isinstance(output, Tensor) else outputs.get(name, ())

        return hook

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in seen:
            seen[storage._cdata] = tensor
            kept[running[-1]] += storage.nbytes()
        return tensor

    with contextlib.ExitStack() as hooks:
        for name, module in network.named_modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.eval()  # keeps the same, and takes a single vector, which has no statistics
            if name:
                hooks.callback(module.register_forward_pre_hook(enter(name)).remove)
                hooks.callback(module.register_forward_hook(leave(name)).remove)
        hooks.enter_context(saved_tensors_hooks(keep, lambda tensor: tensor))
        outputs[""] = tuple(network.weighted_logits(torch.empty(shape, device="meta"))[0][1].shape)
    return outputs, kept


def _describe(module: nn.Module) -> str:
    """Say what a module does, in the paper's words."""
    if isinstance(module, (nn.Conv1d, nn.Conv2d, nn.Conv3d)):
        stride = f", stride {module.stride[0]}" if module.stride[0] > 1 else ""
        return f"{'x'.join(map(str, module.kernel_size))} conv, {module.out_channels}{stride}"
    if isinstance(module, nn.Linear):
        return f"fc, {module.out_features}"
    words = {"BatchNorm1d": "batch norm", "BatchNorm2d": "batch norm", "BatchNorm3d": "batch norm", "ReLU": "ReLU"}
    return words.get(type(module).__name__, type(module).__name__)
