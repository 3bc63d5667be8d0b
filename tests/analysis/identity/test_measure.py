"""Blocks beside the identity: constructed ones are exactly that."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import pytest
import torch
from tests.analysis.subjects import make_subject, with_weights
from torch import Tensor, nn

from reslab.analysis.anatomy import take_apart
from reslab.analysis.identity.measure import INSTRUMENT, compare_blocks
from reslab.analysis.identity.settings import Identity
from reslab.analysis.workbench import Workbench
from reslab.networks.deepening import deepen
from reslab.networks.resnet import ResidualNetwork
from reslab.spec import NetworkSpec, find

FEW = Identity(images=40, batch=15)


@pytest.mark.parametrize(
    ("shallow", "deep"), [("cifar-resnet-8", "cifar-resnet-20"), ("cifar-plain-8", "cifar-plain-20")]
)
def test_added_blocks_of_a_constructed_network_are_the_identity(shallow: str, deep: str) -> None:
    """Exactly: nothing is changed, and the cosine is one; the blocks of the shallow network are not."""
    subject = make_subject(shallow)
    spec = cast(NetworkSpec, find(deep, {"classes": 10, "channels": 1, "input_size": 8}))
    network = cast(ResidualNetwork, subject.network)
    found = INSTRUMENT.measure(with_weights(subject, deepen(network, spec)), FEW, Workbench())
    rows = {row["name"]: row for row in found["blocks"]}
    assert found["images"] == 40 and len(rows) == 9
    for name, row in rows.items():
        if name in network.blocks:
            assert row["change"] > 0.01 and row["cosine"] < 1 and row["linear_share"] is not None
        else:
            assert row["change"] == row["change_error"] == 0 and row["cosine"] == 1 and row["linear_share"] is None
            assert row["branch"] in (0, None)


def test_numbers_are_those_of_activations() -> None:
    """Of a pre-activation block, computed from what the network itself shows."""
    subject = make_subject("cifar-resnet-14", order="pre")
    found = INSTRUMENT.measure(subject, FEW, Workbench())
    images, _ = next(iter(subject.batches(40, images=40)))
    with torch.no_grad():
        seen = subject.network.activations(images)
    before, after = (seen[name].double().flatten(1) for name in ("conv3_1", "conv3_2"))
    row = next(row for row in found["blocks"] if row["name"] == "conv3_2")
    change = ((after - before).norm(dim=1) / before.norm(dim=1)).numpy()
    assert row["change"] == pytest.approx(change.mean(), rel=1e-6)
    assert row["branch"] == pytest.approx(row["change"], rel=1e-5)  # nothing follows the addition
    assert row["change_error"] == pytest.approx(1.959964 * change.std(ddof=1) / np.sqrt(40), rel=1e-4)
    assert row["cosine"] == pytest.approx(nn.CosineSimilarity()(after, before).mean().item(), rel=1e-6)
    assert row["compared_with"] == "identity"


def test_where_there_is_no_addition_there_is_no_branch() -> None:
    """Plain and gated blocks are compared as wholes."""
    for name, fields in (("cifar-plain-8", {}), ("cifar-resnet-8", {"shortcut": "gated"})):
        found = INSTRUMENT.measure(make_subject(name, **fields), FEW, Workbench())
        assert all(row["branch"] is None and row["branch_error"] is None for row in found["blocks"])
        assert all(np.isfinite(row["change"]) for row in found["blocks"])


@pytest.mark.parametrize(("name", "known"), [("cifar-plain-8", 2), ("cifar-resnet-8", 3)])
def test_images_that_reach_a_block_as_zeros_are_left_out(name: str, known: int) -> None:
    """Of that block's means, and counted; the rest of them is as it was."""
    subject = make_subject(name)
    images, _ = next(iter(subject.batches(3, images=3)))
    anatomy = take_apart(subject.network)
    sums = compare_blocks(anatomy, images)
    first = anatomy.parts[0]
    dying = replace(first, module=Dying(first.module))
    partly = compare_blocks(replace(anatomy, parts=(dying, *anatomy.parts[1:])), images)
    assert partly["left_out"].tolist() == [0, 1, 0] and sums["left_out"].tolist() == [0, 0, 0]
    assert partly["quantities"][1:, :known].isfinite().all()
    second = compare_blocks(anatomy, images[1:])["quantities"]
    assert partly["quantities"][1, :known] == pytest.approx(second[1, :known])


@pytest.mark.parametrize("name", ["cifar-plain-8", "cifar-resnet-8"])
def test_a_block_that_every_image_reaches_as_zeros_is_not_the_identity(name: str) -> None:
    """Nothing is told of it, least of all that it changes nothing."""
    subject = make_subject(name)
    for parameter in cast(ResidualNetwork, subject.network).stem.parameters():
        nn.init.zeros_(parameter)
    row = INSTRUMENT.measure(subject, FEW, Workbench())["blocks"][0]
    assert (row["name"], row["compared_with"], row["left_out"]) == ("conv2_1", "identity", 40)
    for quantity in ("change", "cosine", "branch"):
        assert row[quantity] is row[f"{quantity}_error"] is None


class Dying(nn.Module):
    """A block that gives zeros of the first image."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: Tensor) -> Tensor:
        y = self.block(x)
        return torch.cat([torch.zeros_like(y[:1]), y[1:]])
