"""Overrides and plain data, strictly typed."""

from __future__ import annotations

from typing import Any

import pytest

from reslab.errors import UserError
from reslab.spec import NetworkSpec, Preprocess, StageSpec, cifar
from reslab.spec.codec import decode, encode, flatten, override


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("classes", "100", 100),
        ("shortcut", "c", "C"),
        ("dropout", "0.3", 0.3),
        ("zero_gamma", "true", True),
        ("dimensions", "1", 1),
        ("checkpointing", "no", False),
    ],
)
def test_text_becomes_the_fields_type(path: str, text: str, value: object) -> None:
    """Command-line text is converted by the field's type."""
    assert getattr(override(cifar(20), {path: text}), path) == value


def test_nested_fields_are_dotted() -> None:
    """A leaf of a stage, a stage, or all stages can be set."""
    assert override(cifar(20), {"stages.1.width": "40"}).stages[1].width == 40
    spec = override(cifar(20), {"stages": '[{"blocks": 1, "width": 16}]'})
    assert spec.stages == (StageSpec(blocks=1, width=16),)
    assert override(cifar(20), {"stem.bias": True}).stem.bias is True


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"shortcutt": "A"}, "there is no field 'shortcutt'; did you mean 'shortcut'?"),
        ({"stem.widht": 3}, "there is no field 'stem.widht'; did you mean 'width'?"),
        ({"stages.7.width": 3}, "stages has items 0 to 2, and no '7'"),
        ({"steem.width": 3}, "has no field 'steem'; did you mean 'stem'?"),
        ({"classes.x": 3}, "has no field 'x'"),
        ({"classes": "ten"}, "classes is 'ten'; give a whole number"),
        ({"classes": 2.5}, "classes is 2.5; give a whole number"),
        ({"classes": True}, "classes is True; give a whole number"),
        ({"dropout": "much"}, "dropout is 'much'; give a number"),
        ({"zero_gamma": "maybe"}, "choose true or false"),
        ({"stages": "3,3,3"}, "write lists as [1,2]"),
        ({"stages": "3"}, "give a list"),
        ({"stem": "7"}, "give its fields one by one"),
        ({"stages": '[{"blocks": 1}]'}, "stages.0 lacks width"),
        ({"stages": '[{"blocks": Infinity, "width": 1}]'}, "give a whole number"),
        ({"dropout": "nan"}, "give a number"),
        ({"classes": float("inf")}, "give a whole number"),
        ({"stages.².width": 3}, "no '²'"),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], sentence: str) -> None:
    """The field, its value and the remedy stand in one sentence."""
    with pytest.raises(UserError) as caught:
        override(cifar(20), changes)
    assert sentence in str(caught.value)


def test_encode_and_decode_are_inverse() -> None:
    """Through plain data and back, optional fields included."""
    for value in (cifar(56), Preprocess(resize=256, mean=(0.5, 0.5), std=(1.0, 2.0)), Preprocess(crop=None)):
        assert decode(type(value), encode(value)) == value


def test_missing_fields_are_named() -> None:
    """Data without a required field says which."""
    with pytest.raises(UserError, match="stages"):
        decode(NetworkSpec, {"stem": {"kernel": 3, "width": 16}})


def test_tables_are_flattened_and_lists_if_asked() -> None:
    """Into dotted fields; what is empty has none."""
    data = {"a": {"b": 1, "c": {}}, "d": [{"e": 2}, 3]}
    assert flatten(data) == {"a.b": 1, "d": [{"e": 2}, 3]}
    assert flatten(data, "x.", into_lists=True) == {"x.a.b": 1, "x.d.0.e": 2, "x.d.1": 3}
