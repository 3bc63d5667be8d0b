"""Both terms of additions, and gradients by each way."""

from __future__ import annotations

import pytest
import torch
from tests.analysis.test_anatomy import some_images, warmed
from torch.nn import functional as F

from reslab.analysis.anatomy import take_apart
from reslab.analysis.shortcuts.additions import find_gradients, trace_additions
from reslab.errors import UserError

NETWORKS = [
    ("cifar-resnet-8", {}),
    ("cifar-resnet-8", {"order": "pre", "shortcut": "C"}),
    ("cifar-resnet-8", {"shortcut": "gated"}),
    ("highway-19", {}),
]


@pytest.mark.parametrize(("name", "fields"), NETWORKS, ids=str)
def test_ways_together_are_the_gradient(name: str, fields: dict[str, str]) -> None:
    """In float64 their sum at the first block is what torch finds there, and the logits are the network's."""
    network = warmed(name, **fields).double()
    anatomy, images, targets = take_apart(network), some_images(network).double(), torch.tensor([1, 2])
    additions, logits = trace_additions(anatomy, images)
    assert torch.allclose(logits, network(images), rtol=1e-12)
    ways = find_gradients(additions, F.cross_entropy(logits, targets, reduction="none"))
    assert [len(way) for way in ways] == [
        2 if name == "cifar-resnet-8" and "gated" not in fields.values() else 3
    ] * len(ways)
    with torch.no_grad():
        first = anatomy.before(images)
    x = first.requires_grad_()
    for index, part in enumerate(anatomy.parts):
        x = part.module(anatomy.enter(index, x))
    F.cross_entropy(anatomy.after(x), targets, reduction="sum").backward()
    assert first.grad is not None
    assert torch.allclose(torch.stack(ways[0]).sum(0), first.grad, rtol=1e-9, atol=1e-14)


def test_identity_shortcuts_pass_gradients_unchanged() -> None:
    """What comes back by the shortcut is what arrives at the addition."""
    network = warmed("cifar-resnet-8", order="pre").double()
    images, targets = some_images(network).double(), torch.tensor([1, 2])
    additions, logits = trace_additions(take_apart(network), images)
    losses = F.cross_entropy(logits, targets, reduction="none")
    arriving = torch.autograd.grad(losses.sum(), additions[0].shortcut, retain_graph=True)[0]
    (around, _), *_ = find_gradients(additions, losses)
    assert torch.equal(around, arriving)


def test_without_shortcuts_there_is_nothing_to_see() -> None:
    """In one sentence."""
    network = warmed("cifar-plain-8")
    with pytest.raises(UserError, match=r"conv2_1 has no shortcut; choose a residual network or a Highway network"):
        trace_additions(take_apart(network), some_images(network))
