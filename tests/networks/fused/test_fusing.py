"""Which networks there are kernels for."""

import pytest
import torch

from reslab.networks.fused import can_fuse, is_available
from reslab.spec import find


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
