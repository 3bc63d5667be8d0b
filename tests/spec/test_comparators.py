"""The comparators' specs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reslab.errors import UserError
from reslab.spec import HighwaySpec, LeNetSpec, StageSpec, TorchvisionSpec, highway


def test_highway_depth_counts_its_layers() -> None:
    """The layouts add up to 19 and 32."""
    assert (highway(19).depth, highway(32).depth) == (19, 32)
    with pytest.raises(UserError, match="19 or 32"):
        highway(20)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: LeNetSpec(input_size=28), "at least 32"),
        (lambda: TorchvisionSpec(architecture="vgg11"), "architecture is 'vgg11'; choose alexnet"),  # pyright: ignore[reportArgumentType]
        (lambda: HighwaySpec(stages=()), "at least one stage"),
        (lambda: LeNetSpec(classes=0), "classes is 0; it must be at least 1 and at most 10,000,000"),
        (lambda: HighwaySpec(stages=(StageSpec(blocks=0, width=3),)), "stages.0 needs"),
        (lambda: HighwaySpec(stages=(StageSpec(blocks=1, width=3, stride=2),)), "stride 1"),
        (lambda: replace(highway(19), neck=0), "neck is 0"),
        (lambda: replace(highway(19), dropout=2.0), "dropout is 2.0"),
    ],
)
def test_impossible_comparators_are_refused(make, sentence: str) -> None:
    """One sentence each."""
    with pytest.raises(UserError, match=sentence):
        make()
