"""The words of errors."""

from __future__ import annotations

from reslab.errors import UserError, choices, suggest


def test_user_errors_are_value_errors() -> None:
    """Library users may catch what Python programmers expect."""
    assert issubclass(UserError, ValueError)


def test_the_nearest_word_is_suggested() -> None:
    """A typo gets the nearest known word, nonsense gets none."""
    assert suggest("resnt-50", ["resnet-50", "vgg-16"]) == "; did you mean 'resnet-50'?"
    assert suggest("xyzzy", ["resnet-50"]) == ""


def test_choices_read_as_a_sentence() -> None:
    """Allowed values are joined with commas and an or."""
    assert choices(["A"]) == "A"
    assert choices(["A", "B", "C"]) == "A, B or C"
