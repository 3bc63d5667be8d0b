"""Layer responses against plain torch, a brute-force bootstrap and theory."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from reslab.analysis.responses.measure import bootstrap_std, counted_layers, gather_moments, measure_responses
from reslab.errors import UserError
from reslab.networks import Network, build, create_model
from reslab.spec import find

SETTINGS = {"confidence": 0.95, "resamples": 1000}


def warmed(name: str, **fields: object) -> Network:
    """A network whose normalizations have seen something, in evaluation mode."""
    network = create_model(name, **fields)  # pyright: ignore[reportArgumentType]
    for _ in range(3):
        network(3 + 2 * torch.randn(16, *network.spec.input_shape))
    return network.eval()


@pytest.mark.parametrize(
    ("name", "fields", "layers"),
    [
        ("resnet-20", {}, 19),
        ("plain-20", {}, 19),
        ("resnet-110", {}, 109),
        ("cifar-resnet-11", {"block": "single"}, 10),
        ("cifar-resnet-11", {"block": "bottleneck"}, 10),
        ("resnet-18", {}, 16),
        ("resnet-50", {}, 49),
    ],
)
def test_which_layers_count(name: str, fields: dict[str, str], layers: int) -> None:
    """6n+1 in CIFAR networks; ImageNet's 7x7 only among bottlenecks, where all count; projections never."""
    assert len(counted_layers(build(find(name, fields), device="meta"))) == layers


def test_layers_are_named_in_order() -> None:
    """As the network names its responses, without saying so each time."""
    blocks = [f"conv{stage}_1.{layer}" for stage in (2, 3, 4) for layer in (1, 2)]
    assert list(counted_layers(create_model("cifar-resnet-8")).values()) == ["conv1", *blocks]


@pytest.mark.parametrize("fields", [{}, {"order": "pre"}, {"norm": "none"}, {"shortcut": "gated"}], ids=str)
def test_deviations_equal_torchs_over_all_responses(fields: dict[str, str]) -> None:
    """Batches of several sizes and both layouts give what torch.std gives over everything at once."""
    network = warmed("cifar-resnet-8", input_size=12, **fields)
    images = 3 + 2 * torch.randn(23, 3, 12, 12)
    with torch.no_grad():
        seen = network.activations(images)
    batches = [images[:10].contiguous(memory_format=torch.channels_last), images[10:]]
    measured = measure_responses(network, batches, **SETTINGS)
    responses = [tensor for name, tensor in seen.items() if "response" in name]
    assert len(measured) == len(responses) == 7
    for layer, response in zip(measured, responses, strict=True):
        assert layer.std == pytest.approx(response.double().std(correction=0).item(), rel=1e-6)
        assert layer.low < layer.std < layer.high


def test_a_large_mean_costs_no_digits() -> None:
    """Responses about a million apart from zero and one from each other."""
    network = warmed("cifar-resnet-8")
    network.get_parameter("stem.norm.bias").data.fill_(1e6)
    images = torch.randn(8, 3, 32, 32)
    with torch.no_grad():
        response = network.activations(images)["conv1.response"].double()
    (first, *_) = measure_responses(network, [images], **SETTINGS)
    assert first.std == pytest.approx(response.std(correction=0).item(), rel=1e-9)


def test_intervals_equal_a_brute_force_bootstrap() -> None:
    """Gathering every value of the drawn images, one resample after the other, gives the same bounds."""
    generator = np.random.default_rng(1)
    loudness, offset = generator.uniform(0.5, 2, (3, 20, 1)), generator.normal(5, 1, (3, 20, 1))
    values = generator.normal(0, 1, (3, 20, 50)) * loudness + offset
    std, low, high = bootstrap_std(values.mean(2), values.var(2), confidence=0.9, resamples=200, seed=4)
    draws = np.random.default_rng(4)
    brute = np.array([values[:, draws.integers(0, 20, 20)].std((1, 2)) for _ in range(200)])
    assert np.allclose(std, values.std((1, 2)), rtol=1e-12)
    assert np.allclose([low, high], np.quantile(brute, [0.05, 0.95], axis=0), rtol=1e-10)


def test_intervals_are_as_wide_as_theory_says() -> None:
    """For independent Gaussian values the deviation's standard error is sigma over the root of twice their number."""
    values = np.random.default_rng(2).normal(0, 3, (1, 2000, 64))
    _, low, high = bootstrap_std(values.mean(2), values.var(2), **SETTINGS)
    expected = 2 * 1.96 * 3 / np.sqrt(2 * values.size)
    assert (high - low)[0] == pytest.approx(expected, rel=0.1)
    assert low[0] < 3 < high[0]
    # Whole images that are louder or quieter count as one observation each, not as 64.
    loud = values * np.random.default_rng(3).choice([0.5, 1.5], (1, 2000, 1))
    _, low, high = bootstrap_std(loud.mean(2), loud.var(2), **SETTINGS)
    assert (high - low)[0] > 3 * expected


def test_intervals_are_the_same_every_time() -> None:
    """A seed, not the clock; one image has no spread."""
    network, images = warmed("cifar-resnet-8"), torch.randn(6, 3, 32, 32)
    assert measure_responses(network, [images], **SETTINGS) == measure_responses(network, [images], **SETTINGS)
    alone = measure_responses(network, [images[:1]], **SETTINGS)
    assert all(layer.low == pytest.approx(layer.std) == layer.high for layer in alone)


@pytest.mark.parametrize("name", ["highway-19", "lenet-5", "vgg-16"])
def test_networks_without_named_responses_are_refused(name: str) -> None:
    """In one sentence, before anything runs."""
    network = build(find(name), device="meta")
    with pytest.raises(UserError, match=f"{name} has no named layer responses"):
        gather_moments(network, [])


def test_responses_that_are_not_finite_are_refused() -> None:
    """With the tensor they come from, and for how many images; no number is made up."""
    network = warmed("cifar-resnet-8")
    images = torch.randn(4, *network.spec.input_shape)
    images[1] = 1e38
    with pytest.raises(UserError, match=r"gives responses that are not finite for 1 of 4 images: its weights are fin"):
        measure_responses(network, [images], **SETTINGS)
    network.stem.norm.running_mean[0] = torch.nan  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(UserError, match=r"for 4 of 4 images: its stem\.norm\.running_mean is not finite"):
        measure_responses(network, [images], **SETTINGS)
