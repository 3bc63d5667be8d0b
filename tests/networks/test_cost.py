"""Counts to the unit (fact sheet, sections 2, 6 and 12b), and what is kept for the backward pass."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from reslab.errors import UserError
from reslab.networks import build, measure_cost
from reslab.paper.tables import TABLE_1, TABLE_6
from reslab.spec import find, list_models

# name, overrides, parameters, multiply-adds
GOLDEN = [
    ("plain-18", {}, 11_515_688, 1_794_805_760),
    ("resnet-18", {}, 11_515_688, 1_794_805_760),
    ("resnet-18", {"shortcut": "B"}, 11_689_512, 1_814_073_344),
    ("plain-34", {}, 21_623_848, 3_644_493_824),
    ("resnet-34", {}, 21_623_848, 3_644_493_824),
    ("resnet-34", {"shortcut": "B"}, 21_797_672, 3_663_761_408),
    ("resnet-34", {"shortcut": "C"}, 22_716_840, 3_830_747_136),
    ("resnet-50", {"shortcut": "A"}, 22_780_456, 3_498_311_680),
    ("resnet-50", {"shortcut": "C"}, 40_128_552, 6_324_224_000),
    ("resnet-50", {}, 25_557_032, 3_857_973_248),
    ("resnet-50", {"stem.bias": True}, 25_557_096, 3_857_973_248),
    ("resnet-50-v1.5", {}, 25_557_032, 4_089_184_256),
    ("resnet-101", {}, 44_549_160, 7_570_194_432),
    ("resnet-101-v1.5", {}, 44_549_160, 7_801_405_440),
    ("resnet-152", {}, 60_192_808, 11_282_415_616),
    ("resnet-152-v1.5", {}, 60_192_808, 11_513_626_624),
    ("resnet-20", {}, 269_722, 40_551_040),
    ("resnet-32", {}, 464_154, 68_862_592),
    ("resnet-44", {}, 658_586, 97_174_144),
    ("resnet-56", {}, 853_018, 125_485_696),
    ("resnet-110", {}, 1_727_962, 252_887_680),
    ("resnet-1202", {}, 19_421_274, 2_829_238_912),
    ("resnet-20", {"shortcut": "B"}, 272_474, 40_813_184),
    ("resnet-20", {"shortcut": "C"}, 283_962, 42_648_192),
    ("resnet-56", {"shortcut": "C"}, 900_858, 132_301_440),
    ("vgg-16", {}, 138_357_544, 15_470_264_320),
    ("vgg-19", {}, 143_667_240, 19_632_062_464),
    ("highway-19", {}, 2_256_838, 330_826_728),
    ("lenet-5", {}, 61_706, 416_520),
]
# Parameters of the options at the other CIFAR depths.
OPTIONS = {
    "B": {32: 466_906, 44: 661_338, 56: 855_770, 110: 1_730_714, 1202: 19_424_026},
    "C": {32: 489_594, 44: 695_226, 56: 900_858, 110: 1_826_202, 1202: 20_538_714},
}


@pytest.mark.parametrize(("name", "overrides", "params", "multiply_adds"), GOLDEN)
def test_golden_counts(name: str, overrides: dict[str, object], params: int, multiply_adds: int) -> None:
    """Parameters and multiply-adds agree with the fact sheet to the unit."""
    cost = measure_cost(find(name, overrides))
    assert (cost.params, cost.multiply_adds) == (params, multiply_adds)


@pytest.mark.parametrize(
    ("name", "millions"), [("wrn-16-8", 11.0), ("wrn-22-8", 17.2), ("wrn-28-10", 36.5), ("wrn-40-4", 8.9)]
)
def test_wide_networks_have_their_published_parameters(name: str, millions: float) -> None:
    """Zagoruyko and Komodakis, tables 4 and 5, in their digits; WRN-16-4 to the unit by the same arithmetic."""
    assert round(measure_cost(find(name)).params / 1e6, 1) == millions
    assert measure_cost(find("wrn-16-4")).params == 2_748_890


@pytest.mark.parametrize("shortcut", ["B", "C"])
def test_golden_parameters_of_the_options(shortcut: str) -> None:
    """Options B and C at every CIFAR depth."""
    for depth, params in OPTIONS[shortcut].items():
        network = build(find(f"resnet-{depth}", {"shortcut": shortcut}), device="meta")
        assert sum(parameter.numel() for parameter in network.parameters()) == params


@pytest.mark.parametrize("depth", [18, 34, 50, 101, 152, 20, 32, 44, 56, 110, 1202])
def test_plain_twins_have_as_many_parameters(depth: int) -> None:
    """plain-N and ResNet-N with option A: equal counts."""
    sizes = []
    for spec in (find(f"plain-{depth}"), find(f"resnet-{depth}", {"shortcut": "A"})):
        sizes.append(sum(parameter.numel() for parameter in build(spec, device="meta").parameters()))
    assert sizes[0] == sizes[1]


def test_published_counts_agree_with_ours() -> None:
    """Tables 1 and 6 print two or three digits; ours lie within two percent of every one."""
    for row in (*TABLE_1, *TABLE_6):
        if row.network and (row.params or row.multiply_adds):
            cost = measure_cost(find(row.network))
            ours = cost.params if row.params else cost.multiply_adds
            assert ours == pytest.approx(row.params or row.multiply_adds, rel=0.02), row.method


def test_costs_scale_with_batch_and_size() -> None:
    """Twice the batch is twice the work; twice the side is four times the convolutions."""
    one, two = measure_cost(find("resnet-20")), measure_cost(find("resnet-20"), batch=2)
    assert two.multiply_adds == 2 * one.multiply_adds
    assert two.params == one.params
    large = measure_cost(find("resnet-20"), input_shape=(3, 64, 64))
    classifier = 640
    assert large.multiply_adds - classifier == 4 * (one.multiply_adds - classifier)


@pytest.mark.parametrize("name", ["resnet-20", "resnet-50", "googlenet", "densenet-121", "vit-b-16", "highway-19"])
def test_layers_add_up(name: str) -> None:
    """The rows account for every parameter and multiply-add."""
    cost = measure_cost(find(name))
    assert sum(layer.params for layer in cost.layers) == cost.params
    assert sum(layer.multiply_adds for layer in cost.layers) == cost.multiply_adds
    assert all(layer.multiply_adds >= 0 for layer in cost.layers)


def test_layers_know_their_output() -> None:
    """Map sizes and channels of ResNet-50 at 224: section 14 of the fact sheet."""
    shapes = {layer.name: layer.output_shape[1:] for layer in measure_cost(find("resnet-50")).layers}
    assert shapes["stem.conv"] == (64, 112, 112)
    assert shapes["pool"] == (64, 56, 56)
    for stage, width, size in ((2, 256, 56), (3, 512, 28), (4, 1024, 14), (5, 2048, 7)):
        assert shapes[f"blocks.conv{stage}_1.after"] == (width, size, size)


@pytest.mark.parametrize("name", ["resnet-20", "plain-20", "resnet-20 order=pre", "lenet-5", "highway-19", "alexnet"])
def test_kept_bytes_are_what_autograd_keeps(name: str) -> None:
    """The meta device's figure equals a count on real tensors."""
    name, *fields = name.split()
    spec = find(name, dict(field.split("=") for field in fields))
    network = build(spec)
    # Batch norm in evaluation, as the measurement has it, keeps the same tensors.
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.eval()
    held: dict[int, Tensor] = {
        parameter.untyped_storage().data_ptr(): parameter for parameter in network.state_dict().values()
    }
    known = set(held)

    def keep(tensor: Tensor) -> Tensor:
        held[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        network(torch.randn(2, *spec.input_shape))
    kept = sum(tensor.untyped_storage().nbytes() for address, tensor in held.items() if address not in known)
    predicted = measure_cost(spec, batch=2).activation_bytes
    assert predicted == pytest.approx(kept, rel=0.02)


def test_checkpointing_keeps_far_less() -> None:
    """The deeper the network, the more is saved."""
    kept = measure_cost(find("resnet-110")).activation_bytes
    assert measure_cost(find("resnet-110", {"checkpointing": True})).activation_bytes < kept / 5


def test_an_input_that_does_not_fit_is_told() -> None:
    """Wrong channels, and a map too small for LeNet-5."""
    with pytest.raises(UserError, match="do not pass through"):
        measure_cost(find("lenet-5"), input_shape=(1, 16, 16))
    with pytest.raises(UserError, match="do not pass through"):
        measure_cost(find("resnet-20"), input_shape=(1, 32, 32))


@pytest.mark.parametrize("name", [name for name in list_models() if "1202" not in name])
def test_every_network_can_be_costed(name: str) -> None:
    """Every name in the list has a cost."""
    cost = measure_cost(find(name))
    assert cost.params > 10_000
    assert cost.multiply_adds > 100_000
    assert cost.activation_bytes > 10_000
