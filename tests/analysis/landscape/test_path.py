"""A run's path on its principal components, against numpy's SVD of everything at once."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from reslab.analysis.landscape.path import find_components
from reslab.errors import UserError

SHAPES = {"a.weight": (4, 3, 3, 3), "b.weight": (10, 4)}


def draw(seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(shape, generator=generator) for name, shape in SHAPES.items()}


def flat(tensors: dict[str, Tensor]) -> np.ndarray:
    return np.concatenate([values.double().numpy().ravel() for values in tensors.values()])


FINAL = draw(9)
SNAPSHOTS = [draw(seed) for seed in range(6)] + [FINAL]


def test_components_are_those_of_numpys_svd() -> None:
    """Directions up to their sign, shares of variance, and where every snapshot lies."""
    found = find_components(SNAPSHOTS, FINAL, count=2)
    rows = np.stack([flat(snapshot) - flat(FINAL) for snapshot in SNAPSHOTS])
    _, sizes, directions = np.linalg.svd(rows - rows.mean(0), full_matrices=False)
    assert found.shares == pytest.approx((sizes**2 / (sizes**2).sum())[:2], rel=1e-10)
    for number, direction in enumerate(found.directions):
        sign = np.sign(flat(direction) @ directions[number])
        assert np.allclose(flat(direction), sign * directions[number], atol=1e-10)
        assert np.allclose(found.path[:, number], rows @ flat(direction), atol=1e-9)
    assert not found.path[-1].any()


def test_components_point_to_where_the_run_came_from() -> None:
    """And are of length one, at right angles."""
    found = find_components(SNAPSHOTS, FINAL, count=2)
    one, other = (flat(direction) for direction in found.directions)
    assert (found.path[0] >= 0).all()
    assert [one @ one, other @ other, one @ other] == pytest.approx([1, 1, 0], abs=1e-10)


def test_a_path_in_a_plane_is_explained_whole() -> None:
    """Its projections are its points."""
    one, other = draw(1), draw(2)
    places = [(3.0, 1.0), (2.0, -1.0), (1.0, 0.5), (0.0, 0.0)]
    path = [{name: FINAL[name] + a * one[name] + b * other[name] for name in FINAL} for a, b in places]
    found = find_components(path, FINAL, count=2)
    assert sum(found.shares) == pytest.approx(1, abs=1e-9)
    for number, snapshot in enumerate(path):
        back = sum(c * flat(d) for c, d in zip(found.path[number], found.directions, strict=True))
        assert np.allclose(flat(snapshot) - flat(FINAL), back, atol=1e-5)


@pytest.mark.parametrize(("snapshots", "count"), [([FINAL], 1), ([draw(1), FINAL], 2), ([FINAL, FINAL, FINAL], 1)])
def test_too_few_weights_make_no_components(snapshots: list[dict[str, Tensor]], count: int) -> None:
    """In one sentence."""
    with pytest.raises(UserError, match="too few for"):
        find_components(snapshots, FINAL, count=count)
