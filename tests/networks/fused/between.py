"""Networks whose normalizations run by our kernels beside the same by torch's; single passes likewise.

Run as a program under ``TRITON_INTERPRET=1`` it prints the distances of each case of a JSON list of [kind, fields].
"""

import copy
import json
import sys

import torch
from tests.networks.fused.beside import (
    assert_gradients_are_laid_out,
    distance,
    make_network,
    measure_distances,
    take_dtype,
)
from torch import Tensor, nn

from reslab.networks.fused import normalization, stem
from reslab.networks.fused.normalized import NormalizedTrunk
from reslab.networks.resnet import ResidualNetwork
from reslab.spec import find
from reslab.spec.network import NetworkSpec


def make_small(name: str, **fields: object) -> ResidualNetwork:
    """Make one of the ImageNet networks with a block a stage, sixteen channels and up."""
    spec = find(name)
    assert isinstance(spec, NetworkSpec)
    stages = [{"blocks": 1, "width": 16 * 2**index, "stride": each.stride} for index, each in enumerate(spec.stages)]
    return make_network(name, **{"stem.width": 16, "stages": stages[: 4 if spec.block == "basic" else 2], **fields})


def compare_network(network: ResidualNetwork, images: Tensor, *, dtype: torch.dtype) -> dict[str, float]:
    """Return how far features, gradients and statistics are from those of the network in float64."""
    distances = measure_distances(network, images, NormalizedTrunk(network, dtype=dtype).features)
    assert_gradients_are_laid_out(network)
    return distances


def make_norm(width: int, generator: torch.Generator) -> nn.BatchNorm2d:
    norm = nn.BatchNorm2d(width)
    with torch.no_grad():
        norm.weight.copy_(torch.randn(width, generator=generator))  # some are negative
        norm.bias.copy_(torch.randn(width, generator=generator))
    return norm


def compare_pass(
    shape: tuple[int, ...], *, added: str = "nothing", uses: int = 2, offset: float = 0.0, pool: str | None = None
) -> dict[str, float]:
    """Return how far one activation, its gradients and statistics are from torch's in float64."""
    generator = torch.Generator().manual_seed(0)

    def draw() -> Tensor:
        maps = torch.randn(shape, generator=generator) + offset
        return maps.contiguous(memory_format=torch.channels_last).requires_grad_()

    norms = nn.ModuleList(make_norm(shape[1], generator) for _ in range(2 if added == "projection" else 1))
    maps = [draw() for _ in range(1 if added == "nothing" else 2)]
    exact_norms, exact_maps = copy.deepcopy(norms).double(), [each.detach().double().requires_grad_() for each in maps]
    y = exact_norms[0](exact_maps[0])
    if added != "nothing":
        y = y + (exact_norms[1](exact_maps[1]) if added == "projection" else exact_maps[1])
    y = y.relu()
    if pool is None:
        ours = normalization.activate(maps[0], norms[0], *maps[1:], *norms[1:])  # pyright: ignore[reportArgumentType]
    else:
        window = nn.MaxPool2d(3, 2, padding=int(pool == "padded"), ceil_mode=pool == "ceil")
        y = window(y)
        ours = stem.activate_pool(maps[0], norms[0], window)  # pyright: ignore[reportArgumentType]
    upstreams = [torch.randn(y.shape, generator=generator) for _ in range(uses)]
    torch.autograd.backward(ours[:uses], upstreams)
    y.backward(sum(upstreams, torch.zeros(())).double())
    pairs = {"output": (ours[0], y), "again": (ours[1], y)}
    pairs |= {f"map {index}": (a.grad, b.grad) for index, (a, b) in enumerate(zip(maps, exact_maps, strict=True))}
    for (name, mine), theirs in zip(norms.named_parameters(), exact_norms.parameters(), strict=True):
        pairs[name] = mine.grad, theirs.grad
    for (name, mine), theirs in zip(norms.named_buffers(), exact_norms.buffers(), strict=True):
        if mine.is_floating_point():  # counters are counted for all norms of a network at once
            pairs[name] = mine, theirs
    return {name: distance(*pair) for name, pair in pairs.items()}  # pyright: ignore[reportArgumentType]


def count_nans(shape: tuple[int, ...], *, pool: bool) -> dict[str, float]:
    """Return which part of a channel's outputs is no number where one response is none."""
    maps = torch.randn(shape).contiguous(memory_format=torch.channels_last)
    maps[0, 3, 1, 1] = torch.nan
    norm = nn.BatchNorm2d(shape[1])
    if pool:
        output, _ = stem.activate_pool(maps, norm, nn.MaxPool2d(3, 2, padding=1))
    else:
        output, _ = normalization.activate(maps, norm)
    lost = output.isnan().float().mean((0, 2, 3))
    return {"of it": float(lost[3]), "of others": float(lost.sum() - lost[3])}


def main() -> None:
    torch.set_num_threads(1)
    for kind, fields in json.loads(sys.argv[1]):
        if kind == "pass":
            print(json.dumps(compare_pass(tuple(fields.pop("shape")), **fields)))
        elif kind == "nans":
            print(json.dumps(count_nans((2, 16, 5, 5), **fields)))
        else:
            dtype = take_dtype(fields)
            network = make_small(kind, **fields)
            images = torch.randn(3, *network.spec.input_shape).contiguous(memory_format=torch.channels_last)
            print(json.dumps(compare_network(network, images, dtype=dtype)))


if __name__ == "__main__":
    main()
