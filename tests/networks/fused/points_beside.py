"""A network at many weights by the kernel beside the network itself, set to each of them in float64.

Run as a program under ``TRITON_INTERPRET=1``, it prints the distance of every point's logits, for each case of a JSON
list of [name, fields]; a field dtype is the precision, else it is float32, and with `moves` all parameters and the
statistics differ from point to point, else the weights of the layers alone.
"""

import copy
import json
import sys

import torch
from tests.networks.fused.beside import distance, make_network, take_dtype
from torch import Tensor

from reslab.networks.resnet import ResidualNetwork

POINTS = 2


def compare_points(
    network: ResidualNetwork, images: Tensor, *, dtype: torch.dtype, moves: bool, points: int = POINTS
) -> dict[str, float]:
    """Return how far the logits of each point are from those of the network with its weights."""
    from reslab.networks.fused.points import PointsChain

    generator = torch.Generator().manual_seed(3)
    stacked: dict[str, Tensor] = {}
    for name, values in [*network.named_parameters(), *network.named_buffers()]:
        if values.is_floating_point() and (moves or values.dim() > 1):
            noise = 1 + 0.3 * torch.rand(points, *values.shape, generator=generator)
            stacked[name] = values.detach() * noise.to(values.device)
    with torch.no_grad():
        logits = PointsChain(network, dtype=dtype)(stacked, images)
        distances = {}
        for point in range(points):
            exact = copy.deepcopy(network).double()
            exact.load_state_dict({name: values[point] for name, values in stacked.items()}, strict=False)
            distances[str(point)] = distance(logits[point], exact(images.double()))
    return distances


def main() -> None:
    for name, fields in json.loads(sys.argv[1]):
        dtype, moves = take_dtype(fields), bool(fields.pop("moves", False))
        network = make_network(name, **fields)
        network(torch.randn(8, *network.spec.input_shape))  # for statistics
        images = torch.randn(1, *network.spec.input_shape)
        print(json.dumps(compare_points(network.eval(), images, dtype=dtype, moves=moves)))


if __name__ == "__main__":
    main()
