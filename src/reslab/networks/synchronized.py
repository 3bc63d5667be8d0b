"""Batch normalization over the whole batch where processes share it, each having a part.

On GPUs it is torch's; that refuses CPU tensors, for which there is one of our own here. The backward pass needs the
sums of everybody's gradients too: each value moved the mean and the variance that all were normalized by.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from reslab.runtime.processes import Processes


def synchronize_norms(network: nn.Module, processes: Processes) -> Callable[[], None]:
    """Let batch normalizations see everyone's part of the batch while they train; return what takes that back."""
    norms = [module for module in network.modules() if isinstance(module, _BatchNorm)]
    for norm in norms:
        if norm.weight.is_cuda:
            twin = nn.SyncBatchNorm(norm.num_features, eps=norm.eps, momentum=norm.momentum, device=norm.weight.device)
            vars(twin).update(_parameters=norm._parameters, _buffers=norm._buffers)
            norm.forward = partial(_forward_twin, twin, norm)
        else:
            norm.forward = partial(_forward_over_all, norm, processes)

    def take_back() -> None:
        for norm in norms:
            vars(norm).pop("forward", None)

    return take_back


def _forward_twin(twin: nn.SyncBatchNorm, norm: _BatchNorm, input: Tensor) -> Tensor:
    twin.momentum = norm.momentum  # none while an average over all batches is taken
    return twin.forward(input)


def _forward_over_all(norm: _BatchNorm, processes: Processes, input: Tensor) -> Tensor:
    assert norm.num_batches_tracked is not None and norm.running_mean is not None and norm.running_var is not None
    normalized, mean, variance, count = _Normalize.apply(input, norm.weight, norm.bias, norm.eps, processes)
    with torch.no_grad():
        norm.num_batches_tracked += 1
        momentum = 1 / int(norm.num_batches_tracked) if norm.momentum is None else norm.momentum
        norm.running_mean.lerp_(mean.to(norm.running_mean), momentum)
        norm.running_var.lerp_((variance * (count / (count - 1))).to(norm.running_var), momentum)
    return normalized


class _Normalize(torch.autograd.Function):
    """y = weight (x - mean) / sqrt(variance + eps) + bias, with the mean and variance of all parts together."""

    @staticmethod
    def forward(
        ctx: Any, input: Tensor, weight: Tensor, bias: Tensor, eps: float, processes: Processes
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        x = input.to(torch.promote_types(input.dtype, weight.dtype))
        axes = [axis for axis in range(x.dim()) if axis != 1]
        variance, mean = torch.var_mean(x, axes, correction=0)
        count = x.new_full((1,), x.numel() // x.shape[1])
        # By mean and variance of each part, not by sums of squares, which cancel.
        means, variances, counts = processes.gather(torch.cat([mean, variance, count])).split([len(mean)] * 2 + [1], 1)
        count = counts.sum()
        mean = (counts * means).sum(0) / count
        variance = (counts * (variances + (means - mean).square())).sum(0) / count
        scale = (variance + eps).rsqrt()
        shape = [-1 if axis == 1 else 1 for axis in range(x.dim())]
        centred = (x - mean.view(shape)) * scale.view(shape)
        ctx.save_for_backward(centred, weight, scale, count)
        ctx.axes, ctx.shape, ctx.processes = axes, shape, processes
        output = centred * weight.view(shape) + bias.view(shape)
        statistics = mean, variance, count
        ctx.mark_non_differentiable(*statistics)
        return output.to(input.dtype), *statistics

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        centred, weight, scale, count = ctx.saved_tensors
        output = gradients[0].to(centred.dtype)
        # Of weight and bias each has its own part, as of every other parameter.
        bias, slope = output.sum(ctx.axes), (output * centred).sum(ctx.axes)
        everyones = torch.stack([bias, slope])
        ctx.processes.sum(everyones)
        pull, stretch = (part.view(ctx.shape) for part in everyones / count)
        input = (weight * scale).view(ctx.shape) * (output - pull - centred * stretch)
        return input.to(gradients[0].dtype), slope.to(weight.dtype), bias.to(weight.dtype), None, None
