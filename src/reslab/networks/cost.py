"""What a network costs: parameters, multiply-adds and activation memory, a layer at a time and in all.

Everything runs on the meta device, so nothing is allocated whatever the input size and batch. Multiply-adds are
those of convolutions, fully-connected layers and attention in one forward pass, biases apart: what the paper
calls FLOPs. Activation memory is what autograd keeps between the forward and the backward pass of a training step.
"""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from reslab.errors import UserError
from reslab.networks.build import build
from reslab.networks.freezing import freeze
from reslab.networks.network import Network
from reslab.spec import Spec
from reslab.spec.task import CLASSIFICATION
from reslab.spec.task_spec import TaskSpec


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


def measure_cost(
    spec: Spec,
    *,
    task: TaskSpec = CLASSIFICATION,
    input_shape: tuple[int, ...] | None = None,
    batch: int = 1,
    frozen: str | None = None,
) -> Cost:
    """Count parameters, multiply-adds and activation memory of `spec` for `batch` inputs, without allocating memory.

    For a `task` that needs boxes they are a detector's.

    `input_shape` is channels first. Default: the input shape of the spec. Stages up to and including `frozen` keep
    nothing for the backward pass.
    """
    network = build(spec, task=task, device="meta")
    if frozen is not None:
        freeze(network, frozen)
    for module in network.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.forward = partial(_Normalization.apply, module.weight)
    shape = (batch, *(input_shape or spec.input_shape))
    inputs = torch.empty(shape, device="meta")
    try:
        with torch.no_grad(), _following(network.eval()) as running, _Counter(running) as counter:
            network(inputs)
        outputs, kept_bytes = _follow_training_step(network, inputs)
    except (RuntimeError, AssertionError) as error:
        raise UserError(
            f"inputs of shape {shape[1:]} do not pass through this network ({error}); change input_size or channels"
        ) from error
    layers = tuple(_layers(network, outputs, counter.multiply_adds, kept_bytes))
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


class _Normalization(torch.autograd.Function):
    """Batch normalization as far as its cost goes: it keeps its input, and mean and deviation of every channel.

    The real one is computed in Python on the meta device, which takes 10 ms a layer.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor | None, inputs: Tensor) -> Tensor:
        ctx.save_for_backward(inputs, inputs.new_empty(2, inputs.shape[1]))
        return torch.empty_like(inputs)


class _Counter(TorchDispatchMode):
    """Counts multiply-adds by the module at work, with torch's formulas.

    Not with torch's counter: that one hooks every module in the process, those that other threads train too.
    """

    def __init__(self, running: list[str]) -> None:
        super().__init__()
        self.running = running
        self.multiply_adds: dict[str, int] = defaultdict(int)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        formula = flop_registry.get(func._overloadpacket)
        if formula is None:
            with self:
                result = func.decompose(*args, **kwargs)
            return func(*args, **kwargs) if result is NotImplemented else result
        result = func(*args, **kwargs)
        self.multiply_adds[self.running[-1]] += formula(*args, **kwargs, out_val=result) // 2
        return result


def _follow_training_step(network: Network, inputs: Tensor) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """Output shapes, and bytes kept for the backward pass, by module; each stored tensor counts once."""
    network.train()
    outputs: dict[str, tuple[int, ...]] = {}
    kept: dict[str, int] = defaultdict(int)
    # Storages are held while counting, so that no address is used twice.
    seen = {tensor.untyped_storage()._cdata: tensor for tensor in network.state_dict(keep_vars=True).values()}

    def see(name: str, output: object) -> None:
        outputs[name] = tuple(output.shape) if isinstance(output, Tensor) else outputs.get(name, ())

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in seen:
            seen[storage._cdata] = tensor
            kept[running[-1]] += storage.nbytes()
        return tensor

    with _following(network, see) as running, saved_tensors_hooks(keep, lambda tensor: tensor):
        outputs[""] = tuple(network.weighted_logits(inputs)[0][1].shape)
    return outputs, kept


@contextlib.contextmanager
def _following(network: Network, see: Callable[[str, object], None] = lambda name, output: None) -> Iterator[list[str]]:
    """Yield the names of the modules at work, the innermost last, while `see` is told what leaves each."""
    running: list[str] = [""]

    def enter(name: str, module: nn.Module, arguments: object) -> None:
        running.append(name)

    def leave(name: str, module: nn.Module, arguments: object, output: object) -> None:
        running.pop()
        see(name, output)

    with contextlib.ExitStack() as hooks:
        for name, module in network.named_modules():
            if name:
                hooks.callback(module.register_forward_pre_hook(partial(enter, name)).remove)
                hooks.callback(module.register_forward_hook(partial(leave, name)).remove)
        yield running


def _describe(module: nn.Module) -> str:
    """Say what a module does, in the paper's words."""
    if isinstance(module, (nn.Conv1d, nn.Conv2d, nn.Conv3d)):
        stride = f", stride {module.stride[0]}" if module.stride[0] > 1 else ""
        return f"{'x'.join(map(str, module.kernel_size))} conv, {module.out_channels}{stride}"
    if isinstance(module, nn.Linear):
        return f"fc, {module.out_features}"
    return "batch norm" if isinstance(module, nn.modules.batchnorm._BatchNorm) else type(module).__name__
