"""How tangents of several directions lie in memory."""

from __future__ import annotations

import pytest
import torch
from tests.analysis.curvature.problems import draw
from torch import nn

from reslab.analysis.curvature.tangents import (
    Directions,
    Dual,
    add_side_by_side,
    by_direction,
    empty_map,
    join_channels,
    side_by_side,
    stacked,
)
from reslab.runtime.execution import Execution


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("count", [1, 3])
def test_tangents_stack_and_stand_side_by_side(count: int, last: bool) -> None:
    """One is the inverse of the other, in either layout."""
    tangents = Execution(channels_last=last).prepare(draw((count * 2, 4, 3, 3), 0))
    beside = side_by_side(tangents, count)
    assert beside.shape == (2, count * 4, 3, 3)
    for direction in range(count):
        assert torch.equal(by_direction(tangents, count)[direction], beside[:, direction * 4 : direction * 4 + 4])
    assert torch.equal(stacked(beside, count), tangents)
    assert torch.equal(add_side_by_side(tangents.clone(), beside, count), 2 * tangents)
    layout = torch.channels_last if last else torch.contiguous_format
    assert stacked(beside, count).is_contiguous(memory_format=layout)


def test_memory_is_laid_out_like_a_map_or_a_part_of_its_channels() -> None:
    """In another precision, if one is given."""
    maps = draw((2, 6, 3, 3), 0)
    last = maps.contiguous(memory_format=torch.channels_last)
    assert empty_map((5, 4, 2, 2), like=maps[:, :3]).is_contiguous()
    found = empty_map((5, 4, 2, 2), like=last[:, :3], dtype=torch.float32)
    assert found.is_contiguous(memory_format=torch.channels_last)
    assert found.dtype == torch.float32


def test_channels_are_joined() -> None:
    """One map alone stays as it is."""
    maps = draw((2, 6, 3, 3), 0)
    assert torch.equal(join_channels([maps[:, :2], maps[:, 2:]]), maps)
    assert join_channels([maps]) is maps


def test_directions_have_a_part_for_each_parameter() -> None:
    """In the order of the parameters; others do not move."""
    parameters = [nn.Parameter(draw((2, 2), 0)), nn.Parameter(draw((3,), 1))]
    directions = Directions(parameters, 2)
    directions.given.copy_(torch.arange(14.0).view(2, 7))
    assert torch.equal(directions.of(parameters[1]), torch.tensor([[4.0, 5, 6], [11, 12, 13]]).double())  # pyright: ignore[reportArgumentType]
    assert directions.of(nn.Parameter(draw((3,), 1))) is None
    directions.add(parameters[1], torch.ones(2, 3))
    directions.add(parameters[0], torch.ones(2, 2), row=1)
    assert directions.found.tolist() == [[0, 0, 0, 0, 1, 1, 1], [1] * 7]


def test_both_parts_change_their_precision() -> None:
    """Where they are there."""
    assert Dual(draw((1,), 0), None).to(torch.float32).map.dtype == torch.float32
    assert Dual(None, draw((1,), 0)).to(torch.float32).tangents.dtype == torch.float32  # pyright: ignore[reportOptionalMemberAccess]
