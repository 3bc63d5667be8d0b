"""Which networks there are kernels for."""

import json
from collections.abc import Iterable
from dataclasses import asdict, fields, make_dataclass, replace
from itertools import combinations
from pathlib import Path

import pytest
import torch

from reslab.errors import UserError
from reslab.networks.fused import can_fuse, can_normalize, is_available
from reslab.networks.fused.fusing import HEEDED
from reslab.spec import find
from reslab.spec.catalogue import list_models
from reslab.spec.network import NetworkSpec, StageSpec, StemSpec

STAGES = [
    [{"blocks": 1, "width": 16}],
    [{"blocks": 2, "width": 16}, {"blocks": 1, "width": 32, "stride": 2}],
    [{"blocks": 1, "width": 64}, {"blocks": 1, "width": 16}],
    [{"blocks": 1, "width": 16}, {"blocks": 1, "width": 24, "stride": 2}],
    [{"blocks": 1, "width": 16, "stride": 2}, {"blocks": 1, "width": 32}],
]
VALUES = {
    "stem.kernel": [3, 5, 7],
    "stem.width": [8, 16, 32, 64],
    "stem.stride": [1, 2],
    "stem.bias": [True],
    "pool": ["none", "ceil", "padded"],
    "stages": STAGES,
    "block": ["single", "basic", "bottleneck"],
    "shortcut": ["none", "A", "B", "C", "gated"],
    "zero_padding": ["both"],
    "stride_in": ["3x3"],
    "order": ["post", "pre", "bn-after-addition", "relu-before-addition"],
    "pre_revision": [1, 2],
    "norm": ["none", "group", "frozen"],
    "init": ["he-fan-out", "xavier", "orthogonal"],
    "zero_gamma": [True],
    "dropout": [0.1],
    "maxout": [2],
    "stochastic_depth": [0.2],
    "squeeze_excitation": [4],
    "classes": [7],
    "channels": [1, 16, 17],
    "dimensions": [1, 3],
    "input_size": [8, 16, 30, 32, 64, 224],
    "checkpointing": [True],
}
CHANGES = [{field: value} for field, values in VALUES.items() for value in values]


@pytest.mark.parametrize("name", ["resnet-20", "resnet-1202", "plain-56", "cifar-resnet-8"])
@pytest.mark.parametrize(
    "fields", [{}, {"shortcut": "B"}, {"shortcut": "C"}, {"zero_padding": "both"}, {"order": "pre"}], ids=str
)
def test_the_papers_cifar_networks_are_fused(name: str, fields: dict[str, str]) -> None:
    """Plain networks and options A, B and C, whatever their depth."""
    assert can_fuse(find(name, fields))


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("resnet-20", {"shortcut": "gated"}),
        ("resnet-20", {"order": "pre", "shortcut": "B"}),
        ("resnet-20", {"order": "pre", "shortcut": "C"}),
        ("resnet-20", {"order": "pre", "dropout": "0.1"}),
        ("resnet-20", {"norm": "group"}),
        ("resnet-20", {"dropout": "0.1"}),
        ("resnet-20", {"input_size": "24"}),
        ("resnet-20", {"input_size": "30"}),
        ("cifar-resnet-164", {"block": "bottleneck"}),
        ("resnet-20", {"dimensions": "1"}),
        ("resnet-20", {"checkpointing": "true"}),
        ("resnet-18", {}),
        ("highway-19", {}),
        ("vgg-16", {}),
    ],
)
def test_others_are_not(name: str, fields: dict[str, str]) -> None:
    """What has other layers, shapes or orders runs by torch's kernels."""
    assert not can_fuse(find(name, fields))


def ask(name: str, changes: Iterable[dict[str, object]]) -> str:
    """Say of a network with changed fields whether it is fused (1), normalized (2), both (3) or neither (0)."""
    told = ""
    for change in changes:
        try:
            spec = find(name, change)
        except UserError:
            told += "-"
        else:
            told += str(can_fuse(spec) + 2 * can_normalize(spec))
    return told


def test_the_answers_are_those_there_were() -> None:
    """For all names with each change alone, and for some with two at once: as commit 290cf89 gave them."""
    answers = json.loads((Path(__file__).parent / "answers.json").read_text())
    assert set(answers["alone"]) == set(list_models())
    for name, told in answers["alone"].items():
        assert ask(name, [{}, *CHANGES]) == told, name
    for name, told in answers["in pairs"].items():
        assert ask(name, [one | other for one, other in combinations(CHANGES, 2)]) == told, name


def test_every_field_is_heeded_or_refused() -> None:
    """A field that is none of those kernels are known to heed is refused as soon as it is not as by default."""
    assert VALUES.keys() == {
        *[field.name for field in fields(NetworkSpec) if field.name != "stem"],
        *[f"stem.{field.name}" for field in fields(StemSpec)],
    }
    for can, heeded in (
        (can_fuse, {*HEEDED, "stages", "stem.width"}),
        (can_normalize, {*HEEDED, "stages", "stem.width", "stem.kernel", "stem.stride", "pool", "block"}),
    ):
        usual = find("resnet-20", {"shortcut": "B"})
        assert can(usual)
        for name, values in VALUES.items():
            changed = [find("resnet-20", {"shortcut": "B", name: value}) for value in values]
            assert name in heeded or not any(can(spec) for spec in changed if spec != usual), (can, name)


def test_what_specs_may_say_one_day_is_refused() -> None:
    """A field more, in a network, its stem or its stages, is one that no kernel knows."""
    usual = find("resnet-20")
    assert isinstance(usual, NetworkSpec)
    own = {field.name: getattr(usual, field.name) for field in fields(usual)}
    kinds = [
        make_dataclass("Later", [("added", int, 0)], bases=(kind,), frozen=True, kw_only=True)
        for kind in (NetworkSpec, StemSpec, StageSpec)
    ]
    network, stem, stage = kinds
    stages = tuple(stage(**asdict(each)) for each in usual.stages)
    for spec in (network(**own), replace(usual, stem=stem(**asdict(usual.stem))), replace(usual, stages=stages)):
        assert not can_fuse(spec)
        assert not can_normalize(spec)


def test_no_kernels_on_the_cpu() -> None:
    """The CPU runs torch's kernels."""
    assert not is_available("cpu")
    assert not is_available(torch.device("cpu"))


def test_no_kernels_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton needs one at run time."""
    pytest.importorskip("triton")
    monkeypatch.setattr("reslab.networks.fused.fusing.torch.cuda.get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(
        "reslab.networks.fused.fusing.shutil.which", lambda name: "somewhere" if name == "gcc" else None
    )
    assert is_available("cuda")
    monkeypatch.setenv("RESLAB_FUSED", "0")
    assert not is_available("cuda")
    monkeypatch.delenv("RESLAB_FUSED")
    monkeypatch.setattr("reslab.networks.fused.fusing.shutil.which", lambda name: None)
    assert not is_available("cuda")
