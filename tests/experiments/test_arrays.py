"""Data is placed once for all that train on it, and processes share it; evaluation captured is evaluation."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.experiments.faults import OPTIONS, make_trial
from tests.experiments.shared import make_shared_trial
from tests.processes import run_in_processes
from tests.trials import DIGITS
from torch import Tensor
from torch.nn import functional as F

from reslab.data.sampling import Sampler
from reslab.experiments.arrays import ArrayTask, make_array_task
from reslab.experiments.labelled import log_scores
from reslab.experiments.run import run_trial
from reslab.networks import Network, build
from reslab.spec import find
from reslab.spec.recipe import find_recipe
from reslab.training.processes import ALONE, Processes
from reslab.training.state import TrainingState
from reslab.training.stepping import Runtime, Stepper


def test_trials_share_their_images() -> None:
    """While one holds them; other crops or another split are other images, and the last one's are let go."""
    gc.collect()  # what other tests left behind
    trial = make_trial()
    first, second = (make_array_task(replace(trial, seed=seed), DIGITS, device="cpu") for seed in (1, 2))
    assert first.data is second.data
    assert first.sampler.seed != second.sampler.seed
    tuning = make_array_task(replace(trial, data=replace(trial.data, split="tuning")), DIGITS, device="cpu")
    assert tuning.data is not first.data
    assert len(tuning.train) < len(first.train)
    recipe = replace(trial.recipe, augmentation=replace(trial.recipe.augmentation, padding=2))
    assert make_array_task(replace(trial, recipe=recipe), DIGITS, device="cpu").data is not first.data
    placed = weakref.ref(first.data)
    del first
    assert placed() is second.data
    del second
    assert placed() is None


def test_the_embedded_digits_can_be_balanced_too() -> None:
    """Their rarer ones count more, or come as often as the others; on the tuning split by what is trained on there."""
    trial = make_trial()
    weighted = replace(trial, recipe=replace(trial.recipe, class_weights="balanced"))
    tuning = replace(weighted, data=replace(trial.data, split="tuning"))
    for one, count in ((weighted, len(DIGITS.train)), (tuning, len(DIGITS.train) - len(DIGITS.train) // 10)):
        task = make_array_task(one, DIGITS, device="cpu")
        assert task.class_weights is not None
        counts = np.bincount(DIGITS.train.labels[:count])
        assert task.class_weights.tolist() == pytest.approx((count / (10 * counts)).tolist())
    balanced = replace(trial, recipe=replace(trial.recipe, sampling="balanced", batch=40))
    _, labels = make_array_task(balanced, DIGITS, device="cpu").load(50, 2)
    assert [torch.bincount(batch).tolist() for batch in labels] == [[4] * 10] * 2


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_weighted_loss_is_captured(tmp_path: Path) -> None:
    """Nothing in it asks the device, so the run is one of captured iterations; it gives the same log each time."""
    recipe = find_recipe("digits", OPTIONS | {"class_weights": "balanced"})
    runs = [run_trial(make_trial(recipe), DIGITS, tmp_path / name, device="cuda") for name in "ab"]
    assert all(run.read("provenance")["sittings"][0]["capture"] for run in runs)
    one, other = ((run.path / "metrics.jsonl").read_text() for run in runs)
    assert one == other


def test_an_evaluation_is_of_the_network_as_it_is() -> None:
    """Made once, it sees what becomes of the weights."""
    task = make_array_task(make_trial(), DIGITS, device="cpu")
    network = build(task.trial.network)
    evaluate = task.make_evaluation(network, capture=False)
    before = evaluate()
    assert before == log_scores(task.score(network))
    with torch.no_grad():
        network.get_parameter("classifier.bias")[3] = 100
    always_three = 100 * (1 - (DIGITS.test.labels == 3).mean())
    assert evaluate()["test_error_percent"] == pytest.approx(always_three) != before["test_error_percent"]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_captured_evaluation_is_the_evaluation() -> None:
    """Replayed, also after the weights have moved: the same scores to the bit."""
    task = make_array_task(make_trial(), DIGITS, device="cuda")
    network = build(task.trial.network).to("cuda")
    with torch.backends.cudnn.flags(enabled=True, deterministic=True):
        evaluate = task.make_evaluation(network, capture=True)
        for _ in range(3):
            assert evaluate() == log_scores(task.score(network))
            with torch.no_grad():
                for parameter in network.parameters():
                    parameter.mul_(1.1)


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
