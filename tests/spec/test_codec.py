"""Overrides and plain data, strictly typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pytest

from reslab.errors import UserError
from reslab.spec import LeNetSpec, NetworkSpec, Preprocess, StageSpec, StemSpec, TorchvisionSpec, cifar
from reslab.spec.augmentation import AugmentationSpec, ResizingSpec
from reslab.spec.codec import decode, encode, flatten, normalize, override
from reslab.spec.comparators import highway
from reslab.spec.optimization import OptimizerSpec, ScheduleSpec, WarmupSpec
from reslab.spec.recipe import Recipe
from reslab.spec.trial import DataSpec


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
        ({"width": 3}, "there is no field 'width'; did you mean 'stem.width'?"),
        ({"stem.widht": 3}, "there is no field 'stem.widht'; did you mean 'stem.width'?"),
        ({"stages.7.width": 3}, "stages has items 0 to 2, not '7'"),
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
        ({"stages.².width": 3}, "not '²'"),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], sentence: str) -> None:
    """The field, its value and the remedy stand in one sentence."""
    with pytest.raises(UserError) as caught:
        override(cifar(20), changes)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"shortcutt": "A"}, "there is no field 'network.shortcutt'; did you mean 'network.shortcut'?"),
        ({"steem.width": 3}, "'network.steem.width': network has no field 'steem'; did you mean 'network.stem'?"),
        ({"stages.7.width": 3}, "'network.stages.7.width': network.stages has items 0 to 2, not '7'"),
        ({"classes.x": 3}, "'network.classes' has no field 'x': it is a single value"),
        ({"classes": "ten"}, "network.classes is 'ten'; give a whole number"),
        ({"stem.width": "x"}, "network.stem.width is 'x'; give a whole number"),
        ({"stem.width": 0}, "network.stem.width is 0; it must be at least 1 and at most 10,000,000"),
        ({"stages": '[{"blocks": 1}]'}, "network.stages.0 lacks width; add it"),
        ({"dropout": 2}, "network.dropout is 2.0; it is a probability, from 0 up to but not including 1"),
        (
            {"order": "bn-after-addition", "norm": "none"},
            "network.order=bn-after-addition and network.norm=none contradict each other: use network.order=post",
        ),
    ],
)
def test_fields_are_named_with_their_place(changes: dict[str, Any], sentence: str) -> None:
    """Whoever finds the mistake says the whole name that has to be written again; without a place, the field's own."""
    with pytest.raises(UserError) as caught:
        override(cifar(20), changes, where="network.")
    assert str(caught.value) == sentence
    with pytest.raises(UserError) as caught:
        override(cifar(20), changes)
    assert str(caught.value) == sentence.replace(": network has", ": the spec has").replace("network.", "")


def test_the_place_ends_with_what_lay_there() -> None:
    """A spec made in Python after a mistake elsewhere is not named as if it lay there."""
    with pytest.raises(UserError, match=r"^there\.std is"):
        decode(Preprocess, {"std": [0]}, where="there.")
    with pytest.raises(UserError, match=r"^std is"):
        Preprocess(std=(0.0,))


@pytest.mark.parametrize(
    ("spec", "same"),
    [
        (OptimizerSpec(learning_rate=1), OptimizerSpec(learning_rate=1.0)),
        (OptimizerSpec(nesterov=1), OptimizerSpec(nesterov=True)),
        (OptimizerSpec(decay="Weights"), OptimizerSpec(decay="weights")),
        (OptimizerSpec(clip_norm=np.float64(2)), OptimizerSpec(clip_norm=2.0)),
        (WarmupSpec(window=50.0), WarmupSpec(window=50)),
        (ResizingSpec(stages=np.int32(3)), ResizingSpec(stages=3)),
        (ScheduleSpec(drops=[0.5]), ScheduleSpec(drops=(0.5,))),
        (AugmentationSpec(areas=[np.float32(0.5), 1]), AugmentationSpec(areas=(0.5, 1.0))),
        (Recipe(iterations=np.int64(5), exact_norms=np.True_), Recipe(iterations=5, exact_norms=True)),
        (StageSpec(blocks=3.0, width=16), StageSpec(blocks=3, width=16)),
        (StemSpec(kernel=3, width=16.0, bias=0), StemSpec(kernel=3, width=16)),
        (replace(cifar(20), dropout=0, dimensions=2.0), cifar(20)),
        (replace(cifar(20), stages=list(cifar(20).stages)), cifar(20)),
        (replace(highway(19), gate_bias=-0.0), replace(highway(19), gate_bias=0)),
        (LeNetSpec(classes=7.0), LeNetSpec(classes=7)),
        (TorchvisionSpec(architecture="VGG16"), TorchvisionSpec(architecture="vgg16")),
        (Preprocess(mean=[1, 0], std=(2, 1)), Preprocess(mean=(1.0, 0.0), std=(2.0, 1.0))),
        (DataSpec(name="a", fingerprint="b", held_out_seed=1.0), DataSpec(name="a", fingerprint="b", held_out_seed=1)),
    ],
    ids=lambda spec: type(spec).__name__,
)
def test_equal_specs_are_written_alike(spec: Any, same: Any) -> None:
    """However Python gives a value, its field has it in one form: equality, hash and what is written agree."""
    assert (spec, hash(spec), json.dumps(encode(spec))) == (same, hash(same), json.dumps(encode(same)))
    again = decode(type(spec), json.loads(json.dumps(encode(spec))))
    assert (again, json.dumps(encode(again))) == (spec, json.dumps(encode(spec)))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: OptimizerSpec(learning_rate=True), "recipe.optimizer.learning_rate is True; give a number"),
        (lambda: Recipe(iterations=2.5), "recipe.iterations is 2.5; give a whole number"),
        (lambda: Recipe(iterations=np.True_), "recipe.iterations is np.True_; give a whole number"),
        (lambda: Recipe(optimizer=None), "recipe.optimizer is None; give its fields one by one"),
        (lambda: StemSpec(kernel=3, width="wide"), "stem.width is 'wide'; give a whole number"),
        (lambda: replace(cifar(20), dimensions=True), "dimensions is True; choose 0, 1, 2 or 3"),
        (lambda: Preprocess(mean=0.5), "mean is 0.5; give a list"),
        (lambda: Preprocess(resize=float("inf")), "resize is inf; give a whole number"),
    ],
)
def test_what_is_of_no_fields_type_is_refused_in_python_too(make: Callable[[], object], sentence: str) -> None:
    """With the sentence that the command line would print."""
    with pytest.raises(UserError) as caught:
        make()
    assert sentence in str(caught.value)


def test_encode_and_decode_are_inverse() -> None:
    """Through plain data and back, optional fields included."""
    for value in (cifar(56), Preprocess(resize=256, mean=(0.5, 0.5), std=(1.0, 2.0)), Preprocess(crop=None)):
        assert decode(type(value), encode(value)) == value


@dataclass(frozen=True)
class Later:
    """What has got a field that says which of two meanings it has; new ones have the second."""

    width: int = 1
    revision: Literal[1, 2] | None = field(default=None, metadata={"before": 1})

    def __post_init__(self) -> None:
        normalize(self)


def test_data_without_a_field_mean_what_was_before() -> None:
    """What is written out says which meaning it is; what says nothing is older than the field."""
    assert decode(Later, {}) == Later(revision=1)
    assert decode(Later, {"revision": None}) == Later()
    assert override(Later(), {"width": "2"}) == Later(width=2)
    for value in (Later(), Later(revision=1), Later(revision=2)):
        assert decode(Later, encode(value)) == value


def test_sparse_data_leave_out_what_was_before() -> None:
    """Like what is as by default, so that hashes of them stay what they were; the new meaning stands in them."""
    assert [encode(Later(revision=revision), sparse=True) for revision in (None, 1, 2)] == [{}, {}, {"revision": 2}]


def test_an_open_choice_is_checked_in_python_too() -> None:
    """A Literal that may be None takes its values and None."""
    with pytest.raises(UserError, match="revision is 3; choose 1, 2 or None"):
        replace(Later(), revision=3)
    with pytest.raises(UserError, match="revision is '3'; choose 1, 2 or None"):
        override(Later(), {"revision": "3"})
    assert override(Later(revision=1), {"revision": "none"}) == Later()


def test_missing_fields_are_named() -> None:
    """Data without a required field says which."""
    with pytest.raises(UserError, match="stages"):
        decode(NetworkSpec, {"stem": {"kernel": 3, "width": 16}})


def test_tables_are_flattened_and_lists_if_asked() -> None:
    """Into dotted fields; what is empty has none."""
    data = {"a": {"b": 1, "c": {}}, "d": [{"e": 2}, 3]}
    assert flatten(data) == {"a.b": 1, "d": [{"e": 2}, 3]}
    assert flatten(data, "x.", into_lists=True) == {"x.a.b": 1, "x.d.0.e": 2, "x.d.1": 3}
