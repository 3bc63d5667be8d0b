"""A network at many weights at once: stacked along a first axis, one copy a point, over the same images."""

import contextlib
import copy
from collections.abc import Mapping
from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.modules.batchnorm import _BatchNorm

from reslab.analysis.landscape.directions import Tensors
from reslab.errors import UserError
from reslab.networks import Network
from reslab.networks.fused.fusing import can_fuse, is_available
from reslab.runtime.execution import NARROW, Execution
from reslab.spec import name_of

Precision: TypeAlias = Literal["fp32", "bf16", "fp64"]
STATISTICS = ("running_mean", "running_var")


def exactly() -> contextlib.AbstractContextManager[object]:
    """Return the context in which cuDNN neither narrows float32 nor chooses what rounds otherwise the next time."""
    return torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False)


class Passes:
    """The outputs of a network at stacked weights, by its own modules; torch stacks convolutions as groups of one.

    float32 is float32: the numbers are those of a processor, not of tensor cores that round to 11 bits.
    """

    usual_points = 1  # at once: torch's grouped convolutions are no faster than others

    def __init__(self, network: Network, *, precision: Precision) -> None:
        self.dtype = torch.float64 if precision == "fp64" else torch.float32
        self.network = copy.deepcopy(network).to(self.dtype).eval().requires_grad_(requires_grad=False)
        self.execution = Execution(precision="bf16" if precision == "bf16" else "fp32")

    @torch.no_grad()
    def __call__(self, weights: Tensors, statistics: Tensors, images: Tensor) -> Tensor:
        """Return outputs as (points, images, ...) at stacked weights; what is not in them is the network's own."""
        images = images.to(self.dtype)

        def run(values: dict[str, Tensor]) -> Tensor:
            return functional_call(self.network, values, (images,))

        with exactly(), self.execution.autocast(images.device.type):
            outputs = vmap(run)({**weights, **statistics})
        return outputs if self.dtype == torch.float64 else outputs.float()


class KernelPasses(Passes):
    """The same by one kernel a layer, for all points together: of the networks there are kernels for."""

    usual_points = 8

    def __init__(self, network: Network, *, precision: Precision) -> None:
        super().__init__(network, precision=precision)
        from reslab.networks.fused.points import PointsChain
        from reslab.networks.resnet import ResidualNetwork

        assert isinstance(self.network, ResidualNetwork)
        self.chain = PointsChain(self.network, dtype=NARROW.get(self.execution.precision, torch.float32))

    @torch.no_grad()
    def __call__(self, weights: Tensors, statistics: Tensors, images: Tensor) -> Tensor:
        """Return outputs as (points, images, ...)."""
        return self.chain({**weights, **statistics}, images)


def choose_passes(network: Network, *, precision: Precision, device: torch.device | str) -> Passes:
    """Return the fastest passes of this precision."""
    if precision != "fp64" and can_fuse(network.spec) and is_available(device):
        return KernelPasses(network, precision=precision)
    return Passes(network, precision=precision)


class Settling:
    """Statistics of batch normalization as training images give them at other weights, in one batch.

    Mean and unbiased variance of that batch, as torch's running averages would be with a momentum of one. Dropout and
    whatever else tells training from testing stay as in tests.
    """

    def __init__(self, passes: Passes, images: Tensor) -> None:
        self.network = copy.deepcopy(passes.network)
        norms = {name: module for name, module in self.network.named_modules() if isinstance(module, _BatchNorm)}
        if not norms:
            spec = passes.network.spec
            raise UserError(f"{name_of(spec)} has no statistics of batch normalization; leave out norms=anew")
        for norm in norms.values():
            norm.train().momentum = 1.0
        self.images, self.execution = images.to(passes.dtype), passes.execution
        self.buffers = {
            f"{name}.{key}": values for name, norm in norms.items() for key, values in norm.named_buffers(recurse=False)
        }

    @torch.no_grad()
    def __call__(self, weights: Tensors) -> dict[str, Tensor]:
        """Return the statistics at stacked weights, stacked likewise."""
        count = len(next(iter(weights.values())))

        def run(values: dict[str, Tensor], buffers: dict[str, Tensor]) -> dict[str, Tensor]:
            functional_call(self.network, {**values, **buffers}, (self.images,))
            return buffers

        room = {name: torch.stack([values] * count) for name, values in self.buffers.items()}
        with exactly(), self.execution.autocast(self.images.device.type):
            settled = vmap(run)(dict(weights), room)
        return {name: values for name, values in settled.items() if name.endswith(STATISTICS)}


def stack_one(tensors: Mapping[str, Tensor], like: nn.Module) -> dict[str, Tensor]:
    """Return tensors as a stack of one point, where and as precise as a network computes."""
    place = next(like.parameters())
    return {
        name: tensor.detach().to(place.device, place.dtype if tensor.is_floating_point() else None)[None]
        for name, tensor in tensors.items()
    }
