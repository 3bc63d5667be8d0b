"""The loop as several processes go through it: two do what one does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.experiments.faults import make_trial
from tests.experiments.shared import make_shared_trial, metrics, train
from tests.processes import run_in_processes
from tests.trials import DIGITS, outcome
from torch import Tensor
from torch.nn import functional as F

from reslab.data.sampling import Sampler
from reslab.errors import UserError
from reslab.experiments.arrays import ArrayTask, make_array_task
from reslab.experiments.run import run_trial
from reslab.networks import Network, build, load_model
from reslab.runs.directory import RunDirectory
from reslab.spec import find
from reslab.spec.trial import Trial
from reslab.training.processes import ALONE, Processes
from reslab.training.state import TrainingState
from reslab.training.stepping import Runtime, Stepper

OPTIONS: list[dict[str, object]] = [
    {},
    {"accumulate": 2, "average_decay": 0.9, "exact_norms": True, "optimizer.clip_norm": 1.0},
    {"warmup": {"learning_rate": 0.01, "until_error_percent": 95.0, "window": 5}},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_two_processes_are_one(options: dict[str, object], tmp_path: Path) -> None:
    """The same global batch, normalized whole: the loss trace, the errors and the weights, up to rounding."""
    trial = make_shared_trial(**options)
    run_in_processes(train, 2, trial, tmp_path / "two")
    run_trial(trial, DIGITS, tmp_path / "one")
    one, two = metrics(trial, tmp_path / "one"), metrics(trial, tmp_path / "two")
    assert [entry["step"] for entry in two] == list(range(1, 17))
    for name in ("train_loss", "test_loss", "train_error_percent", "learning_rate"):
        np.testing.assert_allclose([entry[name] for entry in two], [entry[name] for entry in one], rtol=1e-4)
    runs = [RunDirectory.of(trial, tmp_path / name) for name in ("one", "two")]
    weights = [load_model(run.weights).state_dict() for run in runs]
    for name, tensor in weights[0].items():
        torch.testing.assert_close(weights[1][name], tensor, rtol=1e-3, atol=1e-4)
    assert [run.read("provenance")["sittings"][0]["processes"] for run in runs] == [1, 2]
    assert sum(map(sum, runs[1].result()["confusion"])) == len(DIGITS.test)


class InFloat64(ArrayTask):
    """Digits in float64, where rounding does not grow to something one sees within a run."""

    def load(self, step: int, count: int) -> tuple[Tensor, Tensor]:
        images, labels = super().load(step, count)
        return images.double(), labels

    def loss(self, network: Network, batch: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        logits = network(batch[0])
        return F.cross_entropy(logits, batch[1]), (logits.argmax(1) != batch[1]).sum()


def trace(processes: Processes) -> tuple[list[float], Tensor]:
    """The summed loss after each of twenty iterations of ResNet-20, and the weights they end with."""
    trial = make_shared_trial(batch=64, iterations=20)
    task = InFloat64(**vars(make_array_task(trial, DIGITS, device="cpu", processes=processes)))
    torch.manual_seed(1)
    state = TrainingState(build(find("resnet-20", {"channels": 1})).double(), trial.recipe, processes=processes)
    stepper = Stepper(state, task, trial.recipe, seed=1, runtime=Runtime())
    losses = []
    for step in range(20):
        stepper.advance(step, warmed_at=None)
        losses.append(state.read_tally().loss)
    return losses, state.optimizer.weights.flat


@pytest.mark.slow
def test_in_float64_two_processes_are_one_to_nine_digits() -> None:
    """Float32 rounds two sums in different orders, and training makes more of that at each step; here it cannot."""
    (losses, weights), _ = run_in_processes(trace, 2)
    expected, whole = trace(ALONE)
    np.testing.assert_allclose(losses, expected, rtol=1e-9)
    torch.testing.assert_close(weights, whole, rtol=1e-7, atol=1e-9)


def test_norms_of_shares_are_something_else(tmp_path: Path) -> None:
    """Without `sync_norms` each process normalizes its own images, so the losses differ from one process's."""
    trial = make_shared_trial(sync_norms=False, iterations=2)
    run_in_processes(train, 2, trial, tmp_path / "two")
    run_trial(trial, DIGITS, tmp_path / "one")
    one, two = (metrics(trial, tmp_path / name)[-1]["train_loss"] for name in ("one", "two"))
    assert abs(one - two) > 1e-4 * one


@pytest.mark.slow
def test_a_run_stopped_and_resumed_ends_the_same(tmp_path: Path) -> None:
    """Two processes with dropout and statistics of their own; one of them wishes to stop: to the bit."""
    trial = make_trial()
    run_in_processes(train, 2, trial, tmp_path / "whole")
    for stop_at in (11, None):
        assert run_in_processes(train, 2, trial, tmp_path / "stopped", stop_at) == [[], []]
    runs = [RunDirectory.of(trial, tmp_path / name) for name in ("whole", "stopped")]
    assert runs[1].state == "finished"
    assert outcome(runs[1]) == outcome(runs[0])


def test_another_number_of_processes_goes_on_and_is_told(tmp_path: Path) -> None:
    """The batches stay what they are, so the end is the same up to rounding."""
    trial = make_shared_trial()
    run_in_processes(train, 2, trial, tmp_path / "mixed", 7)
    (warning,) = train(ALONE, trial, tmp_path / "mixed")
    assert warning.startswith("the run goes on with processes=1 (2 so far): the batches are the same")
    run_trial(trial, DIGITS, tmp_path / "one")
    one, mixed = (metrics(trial, tmp_path / name)[-1]["train_loss"] for name in ("one", "mixed"))
    assert mixed == pytest.approx(one, rel=1e-4)


def diverge(processes: Processes, trial: Trial, root: Path) -> str:
    """What a process is told when the loss of one of them is not finite."""
    with pytest.raises(UserError) as told:
        train(processes, trial, root)
    return str(told.value)


def test_a_loss_that_is_not_finite_stops_all(tmp_path: Path) -> None:
    """At the same iteration, with the same sentence."""
    options = {"optimizer.learning_rate": 1e30, "iterations": 12}
    trial = make_trial(make_shared_trial(**options).recipe, norm="none")
    one, other = run_in_processes(diverge, 2, trial, tmp_path)
    assert "is not finite, on images" in one
    assert one == other


@pytest.mark.parametrize("count", [1, 2, 4])
def test_shares_of_batches_are_the_batches(count: int) -> None:
    """Of each part that is accumulated, every process has its own images; together they are the whole draw."""
    trial = make_shared_trial(accumulate=2)
    draw = Sampler(count=len(DIGITS.train), seed=trial.seed, padding=1).draw(3, 32, count=2)
    shares = [draw.share(rank, count, parts=4).indices.reshape(4, -1) for rank in range(count)]
    assert np.array_equal(np.concatenate(shares, axis=1).ravel(), draw.indices)
    images, labels = make_array_task(trial, DIGITS, device="cpu", processes=Processes(count - 1, count)).load(3, 2)
    assert images.shape[:2] == labels.shape == (2, 32 // count)
    assert np.array_equal(labels.ravel(), DIGITS.train.labels[shares[-1].ravel()])


@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_test_image_is_seen_once(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """355 images, which two, three or four processes cannot share evenly."""
    monkeypatch.setattr("reslab.experiments.arrays.EVALUATION_BATCH", 50)
    seen = []
    for rank in range(count):
        task = make_array_task(make_shared_trial(), DIGITS, device="cpu", processes=Processes(rank, count))
        seen += [labels for _, labels in task.test_batches()]
    assert len(DIGITS.test) % count
    assert torch.equal(torch.cat(seen), torch.from_numpy(DIGITS.test.labels).long())


def test_other_trials_are_not_trained_together(tmp_path: Path) -> None:
    """All must be given the same."""
    told = run_in_processes(disagree, 2, tmp_path)
    assert told[1] == "process 1 was given another trial than process 0; give all the same"


def disagree(processes: Processes, root: Path) -> str:
    """What is told where each has its own trial."""
    try:
        train(processes, make_shared_trial(iterations=processes.rank + 1), root)
    except UserError as error:
        return str(error)
    return ""
