"""Lesions computed together are those made one by one, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.analysis.test_anatomy import put_together, some_images, warmed
from torch import Tensor
from torch.nn import functional as F

from reslab.analysis.anatomy import take_apart
from reslab.analysis.lesions import plans
from reslab.analysis.lesions.surgery import Surgeon, sum_batch, sum_up
from reslab.networks import create_model


def judge(outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    return F.cross_entropy(outputs, targets, reduction="none"), (outputs.argmax(1) != targets).float()


@pytest.mark.parametrize("fields", [{}, {"order": "pre"}, {"shortcut": "none"}], ids=str)
def test_lesions_are_those_made_by_hand(fields: dict[str, str]) -> None:
    """Nothing, each deleted, set back or exchanged; each bit for bit that of the same network rebuilt."""
    network = warmed("cifar-resnet-14", **fields)
    other = create_model("cifar-resnet-14", **fields).eval()  # pyright: ignore[reportArgumentType]
    anatomy, x = take_apart(network), some_images(network)
    reserve = {index: part.module for index, part in enumerate(take_apart(other).parts)}
    count = len(anatomy.parts)
    lesions = [plans.intact(count), *plans.singles(count, "single"), *plans.singles(count, "reset")]
    lesions += plans.shuffles([[0, 1]], count, 1, 1, seed=0)
    with torch.no_grad():
        found = dict(Surgeon(anatomy, reserve).operate(lesions, x))
        assert torch.equal(found[0], network(x))
    for index in range(count):
        assert torch.equal(found[1 + index], put_together(anatomy, x, without=index))
    state = network.state_dict()
    replaced = {name: value for name, value in other.state_dict().items() if name.startswith("blocks.conv3_1.")}
    network.load_state_dict(state | replaced)
    with torch.no_grad():
        assert torch.equal(found[1 + count + 2], network(x))


def test_deleting_a_block_is_building_the_net_without_it() -> None:
    """A smaller network with the other blocks' weights gives the same logits."""
    network = warmed("cifar-resnet-14")
    smaller = create_model(
        "cifar-resnet-14",
        stages=[
            {"blocks": 1, "width": 16},
            {"blocks": 2, "width": 32, "stride": 2},
            {"blocks": 2, "width": 64, "stride": 2},
        ],
    ).eval()
    kept = {name: value for name, value in network.state_dict().items() if "conv2_2" not in name}
    smaller.load_state_dict(kept)
    x = some_images(network)
    lesions = [plans.intact(6), *plans.singles(6, "single")]
    with torch.no_grad():
        found = dict(Surgeon(take_apart(network), {}).operate(lesions, x))
        assert torch.equal(found[2], smaller(x))


def test_an_exchange_is_its_own_inverse() -> None:
    """Rows that name each block in its place are the network; exchanged weights in exchanged places too."""
    network = warmed("cifar-resnet-14")
    (swap,) = plans.shuffles([[0, 1]], 6, 1, 1, seed=0)
    x = some_images(network)
    state = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with torch.no_grad():
        whole = network(x)
        exchanged = dict(Surgeon(take_apart(network), {}).operate([swap], x))[0]
        turned = {name: state[name.replace("2_1", "2_0").replace("2_2", "2_1").replace("2_0", "2_2")] for name in state}
        network.load_state_dict(turned)
        assert torch.equal(network(x), exchanged)
        back = dict(Surgeon(take_apart(network), {}).operate([swap], x))[0]
        assert torch.equal(back, whole)
    assert not torch.equal(exchanged, whole)


def test_sums_are_means_and_paired_errors() -> None:
    """Against numpy over all images at once; nothing changed differs by nothing."""
    network = warmed("cifar-resnet-14")
    surgeon, x, targets = Surgeon(take_apart(network), {}), some_images(network, 12), torch.arange(12) % 10
    lesions = [plans.intact(6), *plans.singles(6, "single"), plans.intact(6)]
    sums = sum(sum_batch(surgeon, lesions, x[at], targets[at], judge).numpy() for at in (slice(5), slice(5, 12)))
    damage = sum_up(np.asarray(sums), 12, width=2.0)
    for index, lesion in enumerate(lesions):
        without = lesion.changed[0] if lesion.changed else None
        loss, wrong = judge(put_together(surgeon.anatomy, x, without=without), targets)
        intact = judge(put_together(surgeon.anatomy, x), targets)[0]
        assert damage.loss[index] == pytest.approx(loss.double().mean().item(), rel=1e-6)
        assert damage.wrong[index] == wrong.double().mean().item()
        error = 2 * (loss - intact).double().std().item() / np.sqrt(12)
        assert damage.loss_error[index] == pytest.approx(error, rel=1e-5, abs=1e-12)
    assert damage.more_loss[-1] == damage.more_wrong[-1] == damage.loss_error[-1] == 0


def test_a_lesion_that_overflows_has_no_finite_loss() -> None:
    """Nothing warns, and the other lesions keep their numbers."""
    sums = np.array([[3.0, 1, 0, 0, 0, 0], [np.inf, 3, np.inf, 2, np.inf, 2], [np.nan, 3, np.nan, 2, np.nan, 2]])
    damage = sum_up(sums, 3, width=2.0)
    assert damage.loss[0] == 1 and not np.isfinite(damage.loss[1:]).any()
    assert damage.wrong.tolist() == [1 / 3, 1, 1]
