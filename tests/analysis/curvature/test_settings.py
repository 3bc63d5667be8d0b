"""What the measurement of curvature refuses."""

from __future__ import annotations

import pytest

from reslab.analysis.curvature.settings import Curvature
from reslab.errors import UserError
from reslab.spec.codec import decode


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("batch", "0", "batch is 0; it must be at least 1"),
        ("probes", "0", "probes is 0; it must be at least 1"),
        ("block_steps", "-1", "block_steps is -1; it must be at least 0"),
        ("weight_decay", "-0.1", "weight_decay is -0.1; it must be at least 0"),
        ("broadening", "0", "broadening is 0; it must be above 0"),
        ("confidence", "1", "confidence is 1; it must be below 1"),
        ("norms", "anew", "norms is 'anew'; choose fixed or batch"),
        ("matrix", "fisher", "matrix is 'fisher'; choose hessian or gauss-newton"),
    ],
)
def test_wrong_values_are_refused(field: str, value: str, told: str) -> None:
    """By the field's name, with what it may be."""
    with pytest.raises(UserError, match=told):
        decode(Curvature, {field: value})


def test_training_images_are_looked_at_unless_told() -> None:
    """Enough of them that another sample would give nearly the same."""
    assert (Curvature().on, Curvature().images) == ("train", 4096)
