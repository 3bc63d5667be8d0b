"""The instrument of lesions on digits: its numbers, its resuming, and blocks set back to known weights."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.analysis.subjects import make_subject, subject_of
from tests.trials import DIGITS, make_digits_trial

from reslab.analysis.anatomy import take_apart
from reslab.analysis.lesions.measure import INSTRUMENT, find_initial, plan_lesions
from reslab.analysis.lesions.settings import Lesions
from reslab.analysis.workbench import Workbench
from reslab.data.arrays.split import ArraySplit
from reslab.errors import UserError
from reslab.experiments.run import run_trial
from reslab.experiments.starting import initialize
from reslab.experiments.trained import choose_inputs, load_run
from reslab.networks import create_model
from reslab.runtime.listener import Listener

FEW = Lesions(images=60, batch=25, pairs=5, several=3, swaps=3, draws=2, paths=2, path_images=8)


def test_findings_are_about_the_network_they_are_of() -> None:
    """The intact network's loss and mistakes, one row for each block, as many draws as were asked for."""
    subject = make_subject("cifar-resnet-14")
    found = INSTRUMENT.measure(subject, FEW, Workbench())
    images, targets = next(iter(subject.batches(60, images=60)))
    with torch.no_grad():
        logits = subject.network(images)
    assert found["images"] == 60 and found["skipped_images"] == 0 and found["blocks"] == 6
    assert found["intact"]["loss"] == pytest.approx(subject.losses(logits, targets).mean().item(), rel=1e-5)
    assert found["intact"]["wrong"] == pytest.approx(subject.wrong(logits, targets).mean().item())
    assert [row["name"] for row in found["single"]] == [row["name"] for row in found["reset"]]
    assert [row["left"] for row in found["single"]][:3] == ["identity", "identity", "zero-padding"]
    assert len(found["pairs"]) == 5 and all(len(row["names"]) == 2 for row in found["pairs"])
    assert [(row["deleted"], row["draws"]) for row in found["several"]] == [(1, 2), (2, 2), (3, 2)]
    assert [row["swaps"] for row in found["shuffled"]] == [1, 2, 3]
    assert all(-1 <= row["kendall_tau"] <= 1 for row in found["shuffled"])
    assert found["reset_to"] == "drawn"
    assert len(found["paths_by_length"]["lengths"]) == 7 and found["paths_by_length"]["images"] == 8
    for row in found["single"]:
        assert row["loss"] == pytest.approx(found["intact"]["loss"] + row["more_loss"])


@pytest.mark.parametrize(
    ("name", "fields"), [("cifar-plain-8", {}), ("cifar-resnet-8", {"shortcut": "gated"})], ids=str
)
def test_without_two_ways_there_are_no_paths(name: str, fields: dict[str, str]) -> None:
    """And everything else there is."""
    found = INSTRUMENT.measure(make_subject(name, **fields), replace(FEW, swaps=0), Workbench())
    assert found["paths_by_length"] is None and found["shuffled"] == []
    assert len(found["single"]) == 3 and len(found["pairs"]) == 3


def test_preactivation_networks_have_all_lesions() -> None:
    """Paths too; the first block, which alone is given an activated map, is exchanged with no other."""
    subject = make_subject("cifar-resnet-20", order="pre")
    found = INSTRUMENT.measure(subject, FEW, Workbench())
    images, targets = next(iter(subject.batches(60, images=60)))
    with torch.no_grad():
        wrong = subject.wrong(subject.network(images), targets).mean().item()
    assert found["intact"]["wrong"] == pytest.approx(wrong) and found["blocks"] == 9
    assert len(found["single"]) == len(found["reset"]) == 9 and len(found["shuffled"]) == 3
    assert len(found["paths_by_length"]["lengths"]) == 10
    assert any(row["more_loss"] != 0 for row in found["single"])


def test_vggs_lose_convolutions() -> None:
    """By name, with whatever weights; they have one way through every convolution, so no paths."""
    numbers = np.random.default_rng(0)
    images = ArraySplit(numbers.integers(0, 256, (4, 3, 32, 32), np.uint8), numbers.integers(0, 10, 4, np.uint8))
    network = create_model("vgg-16", num_classes=10)
    subject = replace(subject_of(network), images=images, brightest=255, side=32)
    found = INSTRUMENT.measure(subject, replace(FEW, images=4, pairs=1, several=1, draws=1, reset=False), Workbench())
    assert found["blocks"] == len(found["single"]) == 12 and found["paths_by_length"] is None
    assert [row["left"] for row in found["single"]][:2] == ["identity", "zero-padding"]
    assert all(np.isfinite(row["loss"]) for row in found["single"])


def test_statistics_of_batches_change_the_numbers_and_leave_no_trace() -> None:
    """Every batch normalizes itself; the same again gives the same."""
    subject, settings = make_subject("cifar-resnet-8"), replace(FEW, paths=0, several=0, norms="batch")
    before = {name: value.clone() for name, value in subject.network.state_dict().items()}
    found = INSTRUMENT.measure(subject, settings, Workbench())
    assert found == INSTRUMENT.measure(subject, settings, Workbench())
    assert found["intact"] != INSTRUMENT.measure(subject, replace(settings, norms="fixed"), Workbench())["intact"]
    assert all(torch.equal(before[name], value) for name, value in subject.network.state_dict().items())


class _Killed(Exception):
    """In place of SIGKILL."""


def test_what_was_interrupted_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    """In the middle of the images, and of the paths."""
    subject, whole = make_subject("cifar-resnet-8"), tmp_path / "whole"
    expected = INSTRUMENT.measure(subject, FEW, Workbench(place=whole))
    for part, after in (("lesions", 2), ("paths", 3)):
        bench = Workbench(_stopping(part, after), place=tmp_path / part)
        with pytest.raises(_Killed):
            INSTRUMENT.measure(subject, FEW, bench)
        assert INSTRUMENT.measure(subject, FEW, Workbench(place=tmp_path / part)) == expected
        stored, again = (np.load(path.with_name(f"{path.name}.npz")) for path in (whole, tmp_path / part))
        assert all(np.array_equal(stored[name], again[name]) for name in stored.files)
        assert stored["loss"].shape == (len(plan_lesions(take_apart(subject.network), FEW)),)


def _stopping(word: str, after: int) -> Listener:
    from contextlib import nullcontext

    seen = 0

    def progress(done: int, metrics: object) -> None:
        nonlocal seen
        seen += 1
        if seen == after:
            raise _Killed

    return Listener(enter=lambda part, total: nullcontext(progress if word in part else lambda done, metrics: None))


def test_blocks_are_set_back_to_the_weights_that_training_began_with(tmp_path: Path) -> None:
    """Those the run's seed drew, or those of a snapshot; what is not there is refused."""
    trial = make_digits_trial("cifar-resnet-8", iterations=4, batch=16)
    run = run_trial(trial, DIGITS, tmp_path)
    subject = choose_inputs(load_run(run), DIGITS)
    origin, first = find_initial(subject, FEW)
    assert origin == "initial"
    drawn = initialize(trial).state_dict()
    assert all(torch.equal(drawn[name], value) for name, value in first.state_dict().items())
    at_end = replace(subject, snapshots={4: run.weights})
    origin, last = find_initial(at_end, replace(FEW, reset_step=4))
    trained = subject.network.state_dict()
    assert origin == "step 4" and all(torch.equal(trained[name], value) for name, value in last.state_dict().items())
    found = INSTRUMENT.measure(at_end, replace(FEW, reset_step=4, pairs=0, several=0, swaps=0, paths=0), Workbench())
    assert all(row["more_loss"] == row["loss_error"] == 0 for row in found["reset"])
    with pytest.raises(UserError, match="has no snapshot of iteration 3; it has 4"):
        find_initial(at_end, replace(FEW, reset_step=3))


def test_networks_that_give_no_numbers_are_refused() -> None:
    """By the name of what is to blame; a lesion may well give none."""
    subject = make_subject("cifar-resnet-8")
    subject.network.get_parameter("classifier.bias").data[0] = math.nan
    with pytest.raises(UserError, match=r"gives losses that are not finite .* its classifier\.bias is not finite"):
        INSTRUMENT.measure(subject, FEW, Workbench())
