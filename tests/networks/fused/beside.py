"""The fused chain beside the network it stands for.

Run as a program under ``TRITON_INTERPRET=1``, which must be set before Triton is first imported, it prints the
distances of each case of a JSON list of [name, fields].
"""

import copy
import json
import sys

import torch
from torch import Tensor, nn

from reslab.networks import build
from reslab.networks.execution import FAST
from reslab.networks.resnet import ResidualNetwork
from reslab.spec import find


def make_network(name: str, **fields: object) -> ResidualNetwork:
    torch.manual_seed(0)
    network = build(find(name, {"classes": 10, **fields}))
    assert isinstance(network, ResidualNetwork)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.3)
    FAST.prepare_network(network)
    return network.train()


def run_by_modules(network: ResidualNetwork, images: Tensor) -> Tensor:
    return network.average(network.feature_map(images))


def distance(ours: Tensor, theirs: Tensor) -> float:
    ours, theirs = ours.detach().double(), theirs.detach().double()
    return float((ours - theirs).norm() / theirs.norm())


def compare(network: ResidualNetwork, images: Tensor, *, dtype: torch.dtype) -> dict[str, float]:
    """Return how far features, gradients and statistics of the chain are from those of the network in float64."""
    from reslab.networks.fused.chain import FusedChain

    exact = copy.deepcopy(network).double()
    upstream = torch.randn(len(images), network.classifier.in_features, device=images.device)
    features = FusedChain(network, dtype=dtype).features(images)
    features.backward(upstream)
    expected = run_by_modules(exact, images.double())
    expected.backward(upstream.double())
    distances = {"features": distance(features, expected)}
    for (name, ours), theirs in zip(network.named_parameters(), exact.parameters(), strict=True):
        if theirs.grad is not None:
            assert ours.grad is not None and ours.grad.stride() == ours.stride()
            distances[name] = distance(ours.grad, theirs.grad)
    for (name, ours), theirs in zip(network.named_buffers(), exact.buffers(), strict=True):
        distances[name] = distance(ours, theirs)
    return distances


def main() -> None:
    for name, fields in json.loads(sys.argv[1]):
        network = make_network(name, **fields)
        images = torch.randn(3, *network.spec.input_shape).contiguous(memory_format=torch.channels_last)
        print(json.dumps(compare(network, images, dtype=torch.float32)))


if __name__ == "__main__":
    main()
