"""Names to specs and back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reslab.errors import UserError
from reslab.spec import (
    HighwaySpec,
    NetworkSpec,
    cifar,
    differences,
    find,
    imagenet,
    list_models,
    name_of,
    natural_key,
    spec_from_dict,
    spec_to_dict,
)
from reslab.spec.catalogue import contradictions
from reslab.spec.families import wide


@pytest.mark.parametrize("spelling", ["resnet-56", "resnet56", "resnet_56", "ResNet-56", "cifar-resnet-56"])
def test_spelling_does_not_matter(spelling: str) -> None:
    """Hyphens, underscores, case and the family's name lead to one network."""
    assert find(spelling) == cifar(56)


@pytest.mark.parametrize("spelling", ["wrn-22-4", "WRN-22-4", "wrn_22_4", "wrn22-4"])
def test_wide_networks_are_known_at_every_depth_and_width(spelling: str) -> None:
    """By the literature's name, which comes back."""
    assert find(spelling) == wide(22, 4)
    assert name_of(find(spelling)) == "wrn-22-4"


def test_wide_names_leave_others_alone() -> None:
    """Thin networks and those of another order keep the names that their runs have."""
    assert name_of(find("cifar-resnet-14", {"order": "pre", "shortcut": "B"})).startswith("cifar-resnet-14 ")
    assert name_of(find("wrn-16-4", {"order": "post", "shortcut": "A"})).startswith("cifar-resnet-14 ")
    assert find("wrn-10-64") != find("wrn-106-4")


def test_imagenet_depths_mean_imagenet() -> None:
    """50 is also 6n+2, but resnet-50 is Table 1's; CIFAR's is asked for by family."""
    assert find("resnet-50") == imagenet(50)
    assert find("cifar-resnet-50").input_size == 32


def test_v15_names_are_torchvisions_variant() -> None:
    """Option B, stride in the 3x3, padded pool, for every depth."""
    for depth in (18, 34, 50, 101, 152):
        spec = find(f"resnet-{depth}-v1.5")
        assert isinstance(spec, NetworkSpec)
        assert (spec.shortcut, spec.stride_in, spec.pool) == ("B", "3x3", "padded")


def test_paper_names_follow_the_paper() -> None:
    """Stride in the 1x1 and the authors' pool."""
    spec = find("resnet-50")
    assert isinstance(spec, NetworkSpec)
    assert (spec.stride_in, spec.pool, spec.classes) == ("1x1", "ceil", 1000)


def test_patterns_select() -> None:
    """Shell patterns, sorted by depth."""
    names = list_models("resnet*")
    assert names.index("resnet-20") < names.index("resnet-110") < names.index("resnet-1202")
    assert all(name.startswith("resnet") for name in names)
    assert {"highway-19", "highway-32", "lenet-5", "vgg-19-bn", "vit-b-16"} <= set(list_models())


@pytest.mark.parametrize("name", list_models())
def test_names_come_back(name: str) -> None:
    """`name_of` inverts `find` for every listed name."""
    assert name_of(find(name)) == name


@pytest.mark.parametrize("name", list_models())
def test_specs_survive_json(name: str) -> None:
    """Plain data and back is the same spec."""
    assert spec_from_dict(spec_to_dict(find(name))) == find(name)


def test_a_name_says_what_differs() -> None:
    """What `name_of` prints can be typed back."""
    spec = find("resnet-34", {"shortcut": "C", "stages.0.width": 32, "classes": 2})
    name, *fields = name_of(spec).split()
    assert name == "resnet-34"
    assert find(name, dict(field.split("=") for field in fields)) == spec
    assert name_of(find("cifar-resnet-164", {"block": "bottleneck"})) == "cifar-resnet-164 block=bottleneck"


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("highway-19", {"stages": '[{"blocks":16,"width":8}]'}),
        ("highway-19", {"stages": json.dumps([{"blocks": blocks, "width": 8} for blocks in (3, 4, 4, 2)])}),
        ("resnet-18", {"block": "bottleneck", "shortcut": "B", "stages": '[{"blocks":4,"width":8}]'}),
        ("resnet-34", {"shortcut": "B", "stages": '[{"blocks":1,"width":8}]'}),
        ("cifar-resnet-14", {"shortcut": "gated", "dimensions": 1}),
        ("wrn-16-4", {"order": "post", "shortcut": "A"}),
        ("wrn-16-1", {"dropout": 0.3}),
        ("wrn-16-4", {"dropout": 0.3, "stages.2.width": 200}),
        ("wrn-16-4", {"dropout": 0.3, "pre_revision": 1}),
        ("resnet-110", {"order": "pre", "shortcut": "C", "pre_revision": 1}),
        ("dense-resnet-6", {"shortcut": "none", "channels": 3}),
        ("resnet-50", {"block": "basic"}),
        ("vit-b-16", {"input_size": 64}),
    ],
)
def test_every_name_can_be_typed_back(name: str, overrides: dict[str, object]) -> None:
    """`name_of` never lies, however far a network is from any name."""
    spec = find(name, overrides)
    first, *fields = name_of(spec).split()
    assert find(first, dict(field.split("=", 1) for field in fields)) == spec


@given(st.integers(min_value=1, max_value=60), st.sampled_from(["resnet", "plain"]))
def test_any_cifar_depth_has_a_name(n: int, branch: str) -> None:
    """Every 6n+2 is reachable by family, and its name comes back."""
    spec = find(f"cifar-{branch}-{6 * n + 2}")
    assert find(name_of(spec)) == spec
    assert spec.depth == 6 * n + 2


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("resnt-50", "did you mean 'resnet-50'?"),
        ("resnet-21", "6n+2"),
        ("resnet-26", "write 'cifar-resnet-26'"),
        ("nin", "published number only"),
        ("PReLU-net", "published number only"),
        ("xyzzy", "`reslab networks` lists"),
        ("cifar-resnet-21", "depth 21 is not 6n+2"),
        ("wrn-18-4", "depth 18 is not 6n+4"),
    ],
)
def test_unknown_names_get_a_remedy(name: str, sentence: str) -> None:
    """One sentence with what to say instead."""
    with pytest.raises(UserError) as caught:
        find(name)
    assert sentence in str(caught.value)


def test_differences_are_dotted() -> None:
    """Two specs differ in named leaves."""
    assert differences(find("resnet-34"), find("resnet-34", {"shortcut": "C"})) == {"shortcut": ("A", "C")}
    assert "stages.0.blocks" in differences(find("resnet-20"), find("resnet-32"))


def test_todays_revision_goes_without_saying() -> None:
    """A name and what differs tell of an earlier one alone."""
    today, before = (find("wrn-16-4", {"dropout": 0.3, "pre_revision": revision}) for revision in (None, 1))
    assert name_of(today) == "wrn-16-4 dropout=0.3"
    assert name_of(before) == "wrn-16-4 pre_revision=1 dropout=0.3"
    assert differences(today, find("wrn-16-4")) == {"dropout": (0.3, 0.0)}
    assert differences(before, find("wrn-16-4")) == {"pre_revision": (1, 2), "dropout": (0.3, 0.0)}
    assert differences(before, today) == {"pre_revision": (1, 2)}


def test_an_unknown_kind_is_refused() -> None:
    """Data of another program is not a spec."""
    with pytest.raises(UserError, match="kind is 'x'"):
        spec_from_dict({"kind": "x"})
    assert isinstance(find("highway-19"), HighwaySpec)


def test_depths_sort_as_numbers() -> None:
    """resnet-20 comes before resnet-110."""
    assert sorted(["resnet-110", "resnet-20", "plain-56"], key=natural_key) == ["plain-56", "resnet-20", "resnet-110"]


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
