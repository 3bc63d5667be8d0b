"""How far a network has gone from a snapshot of its run."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.analysis.subjects import make_subject
from torch import nn

from reslab.analysis.identity.departure import compare_outputs, compare_weights, tell_departure
from reslab.analysis.identity.measure import INSTRUMENT
from reslab.analysis.identity.printed import PRINTED
from reslab.analysis.identity.settings import Identity
from reslab.analysis.workbench import Workbench
from reslab.networks import save_model
from reslab.tasks.subject import Subject

FEW = Identity(images=40, batch=15, linear=False, since=0)


def with_start(folder: Path) -> Subject:
    """A network whose run kept its start, which is this network."""
    subject = make_subject("cifar-resnet-8")
    path = folder / "start.safetensors"
    save_model(subject.network, path)
    return replace(subject, snapshots={0: path})


def _classifier(subject: Subject) -> nn.Linear:
    (found,) = (module for module in subject.network.modules() if isinstance(module, nn.Linear))
    return found


def test_who_stays_has_gone_nowhere(tmp_path: Path) -> None:
    """Not in weights, outputs or errors; and without since= nothing is said of it."""
    subject = with_start(tmp_path)
    found = INSTRUMENT.measure(subject, FEW, Workbench())
    since = found["since"]
    assert [since[name] for name in ("weights", "outputs", "outputs_error", "judged_otherwise")] == [0, 0, 0, 0]
    assert since["loss"] == since["loss_then"] and since["wrong"] == since["wrong_then"]
    assert [row["weights_moved"] for row in found["blocks"]] == [0, 0, 0]
    assert "since" not in INSTRUMENT.measure(subject, replace(FEW, since=None), Workbench())


def test_what_moved_is_measured_relative_to_what_was_there(tmp_path: Path) -> None:
    """A classifier twice as large gives outputs twice as large, and the blocks have not moved."""
    subject = with_start(tmp_path)
    length = sum(float(value.detach().double().square().sum()) for value in subject.network.parameters()) ** 0.5
    doubled = list(_classifier(subject).parameters())
    moved = sum(float(value.detach().double().square().sum()) for value in doubled) ** 0.5
    with torch.no_grad():
        for parameter in doubled:
            parameter.mul_(2)
    found = INSTRUMENT.measure(subject, FEW, Workbench())
    assert found["since"]["weights"] == pytest.approx(moved / length)
    assert found["since"]["outputs"] == pytest.approx(1, abs=1e-5)
    assert found["since"]["judged_otherwise"] == 0 and found["since"]["loss"] != found["since"]["loss_then"]
    assert [row["weights_moved"] for row in found["blocks"]] == [0, 0, 0]


def test_mistakes_that_come_and_go_are_counted(tmp_path: Path) -> None:
    """Each image that is judged otherwise, even where as many are wrong as before."""
    subject = with_start(tmp_path)
    before = subject.wrong(*_answer(subject))
    with torch.no_grad():
        for parameter in _classifier(subject).parameters():
            parameter.neg_()
    after = subject.wrong(*_answer(subject))
    since = INSTRUMENT.measure(subject, FEW, Workbench())["since"]
    assert since["judged_otherwise"] == pytest.approx(float((before != after).float().mean())) and before.any()
    assert (since["wrong_then"], since["wrong"]) == pytest.approx((float(before.mean()), float(after.mean())))


@torch.no_grad()
def _answer(subject: Subject) -> tuple[torch.Tensor, torch.Tensor]:
    images, targets = next(iter(subject.batches(40, images=40)))
    return subject.network(images), targets


def test_outputs_of_nothing_have_moved_by_nothing_that_can_be_told(tmp_path: Path) -> None:
    """A snapshot that gives zeros of every image; what can be told still is."""
    subject = with_start(tmp_path)
    classifier = _classifier(subject)
    whole = {name: value.clone() for name, value in classifier.state_dict().items()}
    with torch.no_grad():
        for parameter in classifier.parameters():
            parameter.zero_()
    save_model(subject.network, tmp_path / "start.safetensors")
    classifier.load_state_dict(whole)
    found = INSTRUMENT.measure(subject, FEW, Workbench())
    since = found["since"]
    assert (since["outputs"], since["outputs_error"], since["left_out"]) == (None, None, 40)
    assert since["loss_then"] == pytest.approx(math.log(10)) and since["wrong_error"] is not None
    assert "of their length, " in PRINTED.sentence(found | {"data": "digits", "settings": {"on": "test"}})


def test_images_whose_outputs_were_zeros_are_left_out() -> None:
    """Of the mean of what moved, and of nothing else."""
    subject = make_subject("cifar-resnet-8")
    outputs = torch.eye(10)[:3]
    then = outputs * torch.tensor([[0.0], [1.0], [0.5]])
    sums = {
        name: value.numpy() for name, value in compare_outputs(subject, outputs, then, torch.zeros(3).long()).items()
    }
    told = tell_departure(sums, 3, step=0, weights=0.0, width=1.0)
    assert told["outputs"] == pytest.approx(0.5) and told["left_out"] == 1
    assert told["wrong"] == pytest.approx(2 / 3)


def test_weights_of_nothing_have_not_moved() -> None:
    """Where all were zeros, nothing is long relative to them."""
    network, then = (make_subject("cifar-resnet-8").network for _ in range(2))
    assert compare_weights(network, then) > 0
    with torch.no_grad():
        for parameter in then.parameters():
            parameter.zero_()
    assert compare_weights(network, then) == 0
