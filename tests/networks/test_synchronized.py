"""Normalization over shares of a batch against one process that has the whole of it."""

from __future__ import annotations

import torch
from tests.processes import run_in_processes
from torch import Tensor, nn

from reslab.networks.synchronized import synchronize_norms
from reslab.runtime.processes import ALONE, Processes

SHAPES = [(6,), (6, 5), (6, 4, 3), (6, 2, 3, 2)]
NORMS = [nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d]


def passes(processes: Processes, kind: int, dtype: torch.dtype) -> dict[str, Tensor]:
    """Forward and backward over one's share of a batch far from zero; all share the loss, a weighted sum of squares."""
    torch.manual_seed(kind)
    norm = NORMS[kind](6).double()
    for tensor in (norm.weight, norm.bias, norm.running_mean):
        nn.init.normal_(tensor)
    norm = norm if dtype == torch.float64 else norm.float()
    batch, weights = (torch.randn(8, *SHAPES[kind], dtype=torch.float64) for _ in range(2))
    take_back = synchronize_norms(norm, processes) if processes.count > 1 else None
    part = processes.share(8)
    x = (3 * batch[part] + 100).to(dtype).requires_grad_()
    y = norm(x)
    (y * y * weights[part]).sum().backward()
    if take_back is not None:
        take_back()
        expected = nn.functional.batch_norm(x, norm.running_mean, norm.running_var, norm.weight, norm.bias)
        assert torch.equal(norm.eval()(x), expected), "it is not as it was before"
    found = {"y": y, "x": x.grad, "weight": norm.weight.grad, "bias": norm.bias.grad} | dict(norm.named_buffers())
    return {name: tensor.detach().clone() for name, tensor in found.items() if tensor is not None}


class Half(Processes):
    """A process with half of the batch that does not know of the other."""

    def share(self, size: int) -> slice:
        return slice(size // 2)


def every_kind(processes: Processes) -> list[dict[str, Tensor]]:
    """What one process sees of each kind in float64, and of images in bfloat16 as autocast has them."""
    found = [passes(processes, kind, torch.float64) for kind in range(4)]
    return [*found, passes(processes, 2, torch.bfloat16)]


def test_shares_are_normalized_as_the_whole() -> None:
    """Outputs, running statistics, and gradients of inputs, weight and bias, in 0 to 3 dimensions."""
    shares, alone = run_in_processes(every_kind, 2), every_kind(Half())
    for kind, whole in enumerate(every_kind(ALONE)):
        one, other = (share[kind] for share in shares)
        tolerance = {"rtol": 1e-9, "atol": 1e-9} if kind < 4 else {"rtol": 0.1, "atol": 0.3}
        for name in ("y", "x"):
            torch.testing.assert_close(torch.cat([one[name], other[name]]), whole[name], **tolerance)
        for name in ("weight", "bias"):
            torch.testing.assert_close(one[name] + other[name], whole[name], **tolerance)
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            assert torch.equal(one[name], other[name])
            torch.testing.assert_close(one[name], whole[name], **tolerance)

        if kind < 4:  # each share by itself is something else
            assert not torch.allclose(one["running_mean"], alone[kind]["running_mean"], rtol=1e-6)
