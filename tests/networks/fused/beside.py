"""The fused chain beside the network it stands for.

Run as a program under ``TRITON_INTERPRET=1``, which must be set before Triton is first imported, it prints the
distances of each case of a JSON list of [name, fields]; a field dtype is the precision, else it is float32, and a field
lanes how many parts of the batch go side by side.
"""

import copy
import json
import sys
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from reslab.networks import build
from reslab.networks.resnet import ResidualNetwork
from reslab.runtime.execution import FAST
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


def compare(network: ResidualNetwork, images: Tensor, *, dtype: torch.dtype, lanes: int = 1) -> dict[str, float]:
    """Return how far features, gradients and statistics of the chain are from those of the network in float64."""
    from reslab.networks.fused.chain import FusedChain

    chain = FusedChain(network, dtype=dtype, lanes=lanes)
    distances = measure_distances(network, images, chain.features, parts=lanes)
    assert_gradients_are_laid_out(network)
    return distances


def assert_gradients_are_laid_out(network: ResidualNetwork) -> None:
    """Check that each gradient has its parameter's strides, as the flat state wants them: autocast's need not."""
    for parameter in network.parameters():
        assert parameter.grad is None or parameter.grad.stride() == parameter.stride()


def measure_distances(
    network: ResidualNetwork, images: Tensor, features_of: Callable[[Tensor], Tensor], *, parts: int = 1
) -> dict[str, float]:
    """Return how far what stands in for a network's features is from the network in float64, by everything it gives.

    The latter takes the batch in so many parts, one after the other.
    """
    exact = copy.deepcopy(network).double()
    generator = torch.Generator(images.device).manual_seed(1)
    shape = len(images), network.classifier.in_features
    upstream = torch.randn(shape, generator=generator, device=images.device)
    features = features_of(images)
    features.backward(upstream)
    expected = torch.cat([run_by_modules(exact, part) for part in images.double().chunk(parts)])
    expected.backward(upstream.double())
    distances = {"features": distance(features, expected)}
    for (name, ours), theirs in zip(network.named_parameters(), exact.parameters(), strict=True):
        if theirs.grad is not None:
            assert ours.grad is not None
            distances[name] = distance(ours.grad, theirs.grad)
    for (name, ours), theirs in zip(network.named_buffers(), exact.buffers(), strict=True):
        distances[name] = distance(ours, theirs)
    return distances


def round_by_autocast(
    network: ResidualNetwork, images: Tensor, dtype: torch.dtype, *, parts: int = 1
) -> dict[str, float]:
    """Return how far features, gradients and statistics by torch's own narrow kernels are from those in float64."""

    def features_of(images: Tensor) -> Tensor:
        with torch.autocast(images.device.type, dtype):
            return torch.cat([run_by_modules(network, part) for part in images.chunk(parts)]).float()

    return measure_distances(network, images, features_of, parts=parts)


def assert_no_farther(ours: dict[str, float], theirs: dict[str, float], names: Iterable[str]) -> None:
    """Check that what is named is on average no farther from float64's than theirs, by a tenth."""
    found = [(ours[name], theirs[name]) for name in names if name in theirs]
    assert sum(our for our, _ in found) < 1.1 * sum(their for _, their in found)


def take_dtype(fields: dict[str, object]) -> torch.dtype:
    """Take the precision out of a case's fields."""
    return getattr(torch, str(fields.pop("dtype", "float32")))


def main() -> None:
    for name, fields in json.loads(sys.argv[1]):
        dtype, lanes = take_dtype(fields), fields.pop("lanes", 1)
        network = make_network(name, **fields)
        images = torch.randn(2 * lanes, *network.spec.input_shape).contiguous(memory_format=torch.channels_last)
        print(json.dumps(compare(network, images, dtype=dtype, lanes=lanes)))


if __name__ == "__main__":
    main()
