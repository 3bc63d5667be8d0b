"""Progressive resizing: crops grow in stages, and end whole."""

from __future__ import annotations

import pytest

from reslab.data.photos.resizing import crop_side, crop_stages
from reslab.spec.recipe import find_recipe


def test_crops_grow_in_stages_of_equal_length() -> None:
    """Of 224 pixels in four stages from a half: 128, 160, 192, 224; the last iteration is always whole."""
    recipe = find_recipe("imagenet-modern", {"iterations": 10})
    assert [crop_side(recipe, step, whole=224) for step in range(10)] == [128] * 2 + [160] * 3 + [192] * 2 + [224] * 3
    for iterations in (1, 2, 3):  # fewer than stages
        assert crop_side(find_recipe("imagenet-modern", {"iterations": iterations}), iterations - 1, whole=224) == 224
    two = find_recipe("imagenet-modern", {"iterations": 10, "resizing.stages": 2, "resizing.initial": 0.75})
    assert crop_stages(two, whole=224) == [(0, 160), (5, 224)]
    assert [crop_side(find_recipe("imagenet-modern"), step, whole=100) for step in (0, 125_113)] == [64, 100]


@pytest.mark.parametrize("whole", [8, 100, 224])
def test_crops_are_whole_unless_they_are_to_grow(whole: int) -> None:
    """Whatever the size; and what is small already does not grow."""
    assert crop_stages(find_recipe("photos"), whole=whole) == [(0, whole)]
    assert {side for _, side in crop_stages(find_recipe("imagenet-modern"), whole=32)} == {32}
