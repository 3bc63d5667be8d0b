"""How training images are varied: what has no meaning for some images is refused by its name."""

from __future__ import annotations

import pytest

from reslab.errors import UserError
from reslab.spec.augmentation import AugmentationSpec, ResizingSpec, refuse_unheeded


def test_what_is_not_heeded_is_refused() -> None:
    """Only where it was set; at its default it has no effect anywhere."""
    refuse_unheeded(AugmentationSpec(flip=False), ("flip",), other="photographs")
    with pytest.raises(UserError, match=r"recipe\.augmentation\.cutout is 8, which is only for photographs; leave out"):
        refuse_unheeded(AugmentationSpec(flip=False, cutout=8), ("flip",), other="photographs")
    with pytest.raises(UserError, match="which is only for images with boxes"):
        refuse_unheeded(AugmentationSpec(scales=(0.8, 1.0)), ("flip",), other="photographs")


@pytest.mark.parametrize("sides", [(480, 256), (0, 256), (256,)])
def test_sides_are_the_smallest_and_the_largest(sides: tuple[int, ...]) -> None:
    """In this order."""
    with pytest.raises(UserError, match="give the smallest and the largest side"):
        AugmentationSpec(sides=sides)


def test_crops_begin_at_a_fraction_of_their_side() -> None:
    """One is the whole."""
    assert ResizingSpec(initial=1).initial == 1
    with pytest.raises(UserError, match=r"recipe\.resizing\.initial is 1\.5; give a fraction"):
        ResizingSpec(initial=1.5)
