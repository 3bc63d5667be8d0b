"""A network at many weights at once, in Triton's interpreter and on a GPU, beside the network with each of them."""

import pytest
import torch
from tests.networks.fused.beside import make_network
from tests.networks.fused.interpreting import interpret
from tests.networks.fused.points_beside import POINTS, compare_points

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
CASES = [
    ("cifar-resnet-8", {"input_size": 8}),
    ("cifar-resnet-8", {"input_size": 8, "zero_padding": "both", "moves": True}),
    ("cifar-resnet-8", {"input_size": 8, "shortcut": "B", "moves": True}),
    ("cifar-plain-8", {"input_size": 8, "channels": 1}),
    ("cifar-resnet-14", {"input_size": 8, "order": "pre"}),
]


def test_every_point_is_the_network_with_its_weights() -> None:
    """Logits agree to float32's rounding, with statistics of their own as well."""
    for case, distances in zip(CASES, interpret("points_beside", CASES), strict=True):
        assert len(distances) == POINTS
        assert all(value < 1e-5 for value in distances.values()), (case, distances)


@pytest.mark.gpu
@needs_cuda
@pytest.mark.parametrize(("dtype", "most"), [(torch.bfloat16, 0.05), (torch.float32, 1e-4)], ids=str)
@pytest.mark.parametrize(
    ("name", "fields"), [("resnet-56", {}), ("plain-20", {}), ("resnet-20", {"order": "pre"})], ids=str
)
def test_on_the_device_points_round_as_they_should(
    name: str, fields: dict[str, object], dtype: torch.dtype, most: float
) -> None:
    """In bfloat16 to its eight bits, in float32 by three products next to exactly."""
    network = make_network(name, **fields).to("cuda")
    network(torch.randn(256, 3, 32, 32, device="cuda"))
    images = torch.randn(300, 3, 32, 32, device="cuda")
    distances = compare_points(network.eval(), images, dtype=dtype, moves=True)
    assert all(value < most for value in distances.values()), distances
