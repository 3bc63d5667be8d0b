"""What a landscape refuses to be told."""

from __future__ import annotations

from typing import Any

import pytest

from reslab.analysis.landscape.settings import Landscape
from reslab.errors import UserError


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"points": 2}, "points is 2; it must be at least 3"),
        ({"points": 10}, "points is 10, but the middle one is the weights; give an odd number"),
        ({"span": 0.0}, "span is 0; it must be above 0"),
        ({"norm_images": 1}, "norm_images is 1; it must be at least 2"),
        ({"batch": -1}, "batch is -1; it must be at least 0"),
        ({"dimensions": 3}, "dimensions"),
        ({"scaled_by": "a", "directions": "pca"}, "scaled_by is for random directions"),
    ],
)
def test_wrong_settings_are_refused(fields: dict[str, Any], said: str) -> None:
    """By name, with what would do."""
    with pytest.raises(UserError, match=said):
        Landscape(**fields)


def test_along_a_path_any_number_of_points_will_do() -> None:
    """Its middle is nothing special."""
    assert Landscape(points=10, directions="pca").points == 10
