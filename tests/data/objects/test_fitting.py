"""Images are shown whole: the shorter side as long as wished, the longer no longer than it may be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reslab.data.objects.fitting import MULTIPLE, Fitting

SIDES = st.integers(1, 5000)


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        ((500, 375), (800, 600)),
        ((375, 500), (600, 800)),
        ((500, 333), (901, 600)),
        ((500, 200), (1000, 400)),
        ((1200, 1200), (600, 600)),
        ((3000, 2), (1000, 1)),
    ],
)
def test_sizes_are_those_of_the_paper(size: tuple[int, int], shown: tuple[int, int]) -> None:
    """The shorter side becomes 600, unless the longer one would pass 1,000."""
    assert Fitting(600, 1000).resize(*size) == shown


def test_shapes_are_few() -> None:
    """Square, usual, wide and extreme ones, lying and standing; fewer where the two sides are close."""
    assert Fitting(600, 1000).shapes == (
        (608, 608),
        (416, 1024),
        (1024, 416),
        (608, 800),
        (800, 608),
        (608, 1024),
        (1024, 608),
    )
    assert Fitting(64, 64).shapes == ((32, 64), (64, 32), (64, 64))
    chosen = Fitting(600, 1000).choose_shapes(np.array([[500, 375], [375, 500], [300, 300], [500, 100], [500, 333]]))
    assert chosen.tolist() == [3, 4, 0, 1, 5]


@given(SIDES, SIDES, st.integers(1, 700), st.integers(0, 700))
def test_every_image_has_the_smallest_shape_it_fits_into(width: int, height: int, shorter: int, more: int) -> None:
    """All sides are multiples of what networks stride over; the proportions stay, but for rounding."""
    fitting = Fitting(shorter, shorter + more)
    across, down = fitting.resize(width, height)
    assert max(across, down) <= shorter + more
    assert min(across, down) <= shorter
    assert (min(across, down) == shorter) or (max(across, down) == shorter + more)
    (number,) = fitting.choose_shapes(np.array([[width, height]]))
    fits = [place for place, (tall, wide) in enumerate(fitting.shapes) if down <= tall and across <= wide]
    assert number == fits[0]
    areas = [tall * wide for tall, wide in fitting.shapes]
    assert areas == sorted(areas)
    assert all(side % MULTIPLE == 0 for shape in fitting.shapes for side in shape)


@given(SIDES, SIDES, st.integers(1, 700), st.integers(0, 700), st.floats(0.01, 1))
def test_shown_smaller_an_image_fits_its_shape(width: int, height: int, shorter: int, more: int, scale: float) -> None:
    """It is no larger than at full size, whichever side was the limit; of a scale of 1 it is the same."""
    fitting = Fitting(shorter, shorter + more)
    across, down = fitting.resize(width, height)
    less, low = fitting.shrink(scale).resize(width, height)
    assert less <= across and low <= down
    assert fitting.shrink(1.0) == fitting


def test_boxes_go_with_their_image() -> None:
    """Across and down by what each side grew by."""
    placed = Fitting(60, 100).place(40, 30, flip=True)
    assert placed.size == (80, 60)
    assert placed.move_boxes(np.array([[0.0, 0, 10, 15]])).tolist() == [[60, 0, 80, 30]]
