"""Which fields matter to given weights."""

from __future__ import annotations

from dataclasses import replace

from reslab.spec import cifar, find, imagenet
from reslab.spec.contradictions import contradictions


def test_training_matters_do_not_contradict() -> None:
    """How a network starts, is regularized or runs does not change what its weights compute."""
    spec = replace(cifar(20), init="xavier", dropout=0.3, stochastic_depth=0.2, checkpointing=True, norm="frozen")
    assert contradictions(spec, cifar(20)) == {}


def test_the_function_does() -> None:
    """Stride, pool, padding and order change the function without changing a tensor."""
    for change in ({"stride_in": "3x3"}, {"pool": "padded"}, {"order": "relu-before-addition"}):
        assert list(contradictions(imagenet(50), replace(imagenet(50), **change))) == list(change)
    assert "zero_padding" in contradictions(cifar(20), replace(cifar(20), zero_padding="both"))


def test_the_revision_of_preactivation_does_for_projections() -> None:
    """It says what they see; of dropout, which only training knows, it changes nothing."""
    projecting, dropping = ({"order": "pre", **more} for more in ({"shortcut": "C"}, {"dropout": 0.3}))
    for fields, differing in ((projecting, {"pre_revision": (2, 1)}), (dropping, {})):
        today, before = (find("resnet-20", fields | {"pre_revision": revision}) for revision in (2, 1))
        assert contradictions(today, before) == differing
    assert contradictions(find("resnet-20", dropping), find("resnet-20", {"order": "pre"})) == {}


def test_fields_without_effect_are_ignored() -> None:
    """Basic blocks have one place for the stride, projections no zero padding."""
    assert contradictions(imagenet(18), replace(imagenet(18), stride_in="3x3")) == {}
    option_b = imagenet(18, shortcut="B")
    assert contradictions(option_b, replace(option_b, zero_padding="both")) == {}
    assert contradictions(find("vgg-16"), find("vgg-16", {"input_size": 320})) == {}
