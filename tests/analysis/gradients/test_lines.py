"""Gradients of neighbouring inputs against one input at a time, and against functions whose gradients are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.analysis.nets import make_batch, make_tiny
from torch import Tensor

from reslab.analysis.gradients.lines import (
    around,
    choose_depths,
    compare_neighbours,
    draw_line,
    find_length,
    list_depths,
)
from reslab.networks import Network
from reslab.networks.layers import Observer
from reslab.runtime.execution import EAGER

STEP = 1e-6


class Known(Network):
    """What leaves its two parts is a linear function of the image, and its square."""

    def __init__(self) -> None:
        super().__init__(make_tiny().spec)

    def trunk(self, x: Tensor) -> Tensor:
        return x

    def head(self, features: Tensor) -> Tensor:
        return features.flatten(1)

    def observe(self, x: Tensor, see: Observer) -> Tensor:
        see("linear", 3 * x.flatten(1))
        see("square", x.flatten(1) ** 2)
        return x


def test_a_linear_function_has_one_gradient() -> None:
    """That of a square is the input itself, weighed by the projection: its cosine is known."""
    start, end = make_batch(2)[0]
    found = compare_neighbours(
        Known(), draw_line(start, end, points=5), ["linear", "square"], execution=EAGER, seeds=[3]
    )
    assert found.cosines[0] == pytest.approx([1.0] * 5)
    projection = torch.from_numpy(np.random.default_rng([3, 1]).standard_normal(64))
    points = torch.stack([(start + part * (end - start)).flatten() * projection for part in torch.linspace(0, 1, 5)])
    expected = [
        np.mean([torch.cosine_similarity(points[i], points[i + step], 0).item() for i in range(5 - step)])
        for step in range(5)
    ]
    assert found.cosines[1] == pytest.approx(expected, rel=1e-6)


def test_each_input_is_on_its_own() -> None:
    """Cosines are those of gradients by finite differences, taken of one input at a time."""
    network, (images, _) = make_tiny(), make_batch(2)
    line = draw_line(images[0], images[1], points=3)
    depths = list_depths(network, images[0])
    found = compare_neighbours(network, line, depths, execution=EAGER, seeds=[7])
    place = depths.index("conv3_1")
    with torch.no_grad():
        shape = network.activations(line[:1])["conv3_1"].shape[1:]
        projection = torch.from_numpy(np.random.default_rng([7, place]).standard_normal(shape))

        def value(image: Tensor) -> float:
            return (network.activations(image[None])["conv3_1"][0] * projection).sum().item()

        gradients = []
        for image in line:
            changes = STEP * torch.eye(64, dtype=torch.float64).reshape(64, 1, 8, 8)
            gradients.append([(value(image + one) - value(image - one)) / (2 * STEP) for one in changes])
    slopes = torch.tensor(gradients, dtype=torch.float64)
    steps = [torch.cosine_similarity(slopes[i], slopes[j], 0).item() for i, j in ((0, 1), (1, 2), (0, 2))]
    assert found.cosines[place] == pytest.approx([1, (steps[0] + steps[1]) / 2, steps[2]], rel=1e-4)
    maps = slopes.reshape(3, 8, 8)
    shifted = [
        torch.cosine_similarity(one.flatten(1), other.flatten(1)).mean()
        for one, other in ((maps[:, :-1], maps[:, 1:]), (maps[..., :-1], maps[..., 1:]))
    ]
    assert found.spatial[place][0] == pytest.approx(sum(shifted).item() / 2, rel=1e-4)  # pyright: ignore[reportAttributeAccessIssue]


def test_deeper_in_an_untrained_plain_network_neighbours_agree_less() -> None:
    """The gradients of its input, and less so those of its residual twin."""

    def ends(name: str) -> list[float]:
        network = make_tiny(name, **{f"stages.{n}.width": 8 for n in range(3)}, **{"stem.width": 8})
        images, _ = make_batch(2)
        line = draw_line(images[0], images[1], points=17)
        return compare_neighbours(network, line, ["conv1", "logits"], execution=EAGER, seeds=[1]).cosines[:, 2].tolist()

    plain, residual = ends("cifar-plain-32"), ends("cifar-resnet-32")
    assert plain[1] < 0.7 * plain[0]
    assert plain[1] < residual[1]


def test_a_line_around_an_image_has_it_in_its_middle() -> None:
    """And is as long as is asked for."""
    (image, _), _ = make_batch(2)
    line = draw_line(*around(image, reach=0.1, seeds=[2]), points=5)
    assert torch.allclose(line[2], image)
    assert (line[-1] - line[0]).norm().item() == pytest.approx(0.1 * image.norm().item())
    assert not torch.equal(line, draw_line(*around(image, reach=0.1, seeds=[3]), points=5))


def test_depths_are_spread_from_first_to_last() -> None:
    """Responses inside blocks are none."""
    network = make_tiny()
    names = list_depths(network, make_batch(1)[0][0])
    assert names == ["conv1", "conv2_1", "conv3_1", "conv4_1", "pooled", "logits"]
    assert choose_depths(names, 12) == names
    assert choose_depths(names, 3) == ["conv1", "conv3_1", "logits"]
    assert choose_depths([str(number) for number in range(57)], 4) == ["0", "19", "37", "56"]


def test_the_length_is_where_a_cosine_falls_to_a_part() -> None:
    """Of a falling exponential it is its own; what does not fall so far has none."""
    steps = np.linspace(0, 1, 101)
    assert find_length(np.exp(-steps / 0.3)) == pytest.approx(0.3, rel=1e-3)
    assert find_length(np.ones(5)) is None
    assert find_length(np.array([1.0, 0.0])) == pytest.approx(1 - np.exp(-1))
