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

from reslab.data.arrays.feed import ArrayFeed
from reslab.data.arrays.order import Sampler
from reslab.data.validation import draw_held_back
from reslab.experiments.run import run_trial
from reslab.networks import Network, build
from reslab.runtime.listener import DEAF
from reslab.runtime.processes import ALONE, Processes
from reslab.spec import find
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import Trial
from reslab.tasks.trial_task import TrialTask, log_scores, make_task
from reslab.training.state import TrainingState
from reslab.training.stepping import Runtime, Stepper


def feed_digits(trial: Trial, processes: Processes = ALONE) -> ArrayFeed:
    return DIGITS.make_feed(trial, device="cpu", processes=processes, folder=None, listener=DEAF)


def test_trials_share_their_images() -> None:
    """While one holds them; other crops or another split are other images, and the last one's are let go."""
    gc.collect()  # what other tests left behind
    trial = make_trial()
    first, second = (feed_digits(replace(trial, seed=seed)) for seed in (1, 2))
    assert first.data is second.data
    assert first.sampler.seed != second.sampler.seed
    tuning = feed_digits(replace(trial, data=replace(trial.data, split="tuning")))
    assert tuning.data is not first.data
    assert len(tuning.data.train) < len(first.data.train)
    recipe = replace(trial.recipe, augmentation=replace(trial.recipe.augmentation, padding=2))
    assert feed_digits(replace(trial, recipe=recipe)).data is not first.data
    placed = weakref.ref(first.data)
    del first
    assert placed() is second.data
    del second
    assert placed() is None


def test_the_embedded_digits_can_be_balanced_too() -> None:
    """Their rarer ones count more, or come as often as the others; on the tuning split by what is trained on there."""
    trial = make_trial(find_recipe("digits", OPTIONS))
    weighted = replace(trial, recipe=replace(trial.recipe, class_weights="balanced"))
    tuning = replace(weighted, data=replace(trial.data, split="tuning"))
    for one, count in ((weighted, len(DIGITS.train)), (tuning, len(DIGITS.train) - len(DIGITS.train) // 10)):
        task = make_task(one, DIGITS, device="cpu")
        assert np.array_equal(task.feed.targets, DIGITS.train.targets[:count])
        assert task.class_weights is not None
        counts = np.bincount(DIGITS.train.targets[:count])
        assert task.class_weights.tolist() == pytest.approx((count / (10 * counts)).tolist())
    balanced = replace(trial, recipe=replace(trial.recipe, sampling="balanced", batch=40))
    _, targets = feed_digits(balanced).load(50, 2)
    assert [torch.bincount(batch).tolist() for batch in targets] == [[4] * 10] * 2


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
    task = make_task(make_trial(find_recipe("digits", OPTIONS)), DIGITS, device="cpu")
    network = build(task.trial.network)
    evaluate = task.make_evaluation(network, capture=False)
    before = evaluate()
    assert before == log_scores(task.score(network))
    with torch.no_grad():
        network.get_parameter("classifier.bias")[3] = 100
    always_three = 100 * (1 - (DIGITS.test.targets == 3).mean())
    assert evaluate()["test_error_percent"] == pytest.approx(always_three) != before["test_error_percent"]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_captured_evaluation_is_the_evaluation() -> None:
    """Replayed, also after the weights have moved: the same scores to the bit."""
    task = make_task(make_trial(find_recipe("digits", OPTIONS)), DIGITS, device="cuda")
    assert task.feed.is_resident
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
    images, targets = feed_digits(trial, Processes(count - 1, count)).load(3, 2)
    assert images.shape[:2] == targets.shape == (2, 32 // count)
    assert np.array_equal(targets.ravel(), DIGITS.train.targets[shares[-1].ravel()])


@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_test_image_is_seen_once(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """355 images, which two, three or four processes cannot share evenly."""
    monkeypatch.setattr("reslab.data.arrays.feed.EVALUATION_BATCH", 50)
    feeds = [feed_digits(make_shared_trial(), Processes(rank, count)) for rank in range(count)]
    assert len(DIGITS.test) % count
    assert [index for feed in feeds for index in feed.tested] == list(range(len(DIGITS.test)))
    seen = [targets for feed in feeds for _, targets, _ in feed.tests()]
    assert torch.equal(torch.cat(seen), torch.from_numpy(DIGITS.test.targets).long())


@pytest.mark.parametrize("kind", ["resident", "streamed"])
def test_tests_can_be_captured_where_the_images_lie_on_the_device(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamed ones are new at each test."""
    gc.collect()
    monkeypatch.setenv("RESLAB_BATCHES", kind)
    assert feed_digits(make_trial()).is_resident == (kind == "resident")


def test_images_are_named_by_their_numbers() -> None:
    """In the dataset, so that one finds what an iteration saw; the first of a batch."""
    feed = feed_digits(make_trial())
    held = draw_held_back(DIGITS.train, feed.trial.data)
    assert len(held) == 144
    indices = np.setdiff1d(np.arange(len(DIGITS.train)), held)[feed.sampler.draw(3, feed.trial.recipe.batch).indices]
    assert feed.name_images(3) == ", ".join(map(str, indices[:8])) + ", ..."
    seen = torch.as_tensor(DIGITS.train.targets[indices[:8]].astype(np.int64))
    assert feed.load(3, 1)[1][0][:8].equal(seen)


class InFloat64(TrialTask):
    """Digits in float64, where rounding does not grow to something one sees within a run."""

    def load(self, step: int, count: int) -> tuple[Tensor, ...]:
        images, *rest = super().load(step, count)
        return images.double(), *rest

    def loss(self, network: Network, batch: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        logits = network(batch[0])
        return F.cross_entropy(logits, batch[1]), self.task.tally(logits, batch[1])


def trace(processes: Processes) -> tuple[list[float], Tensor]:
    """The summed loss after each of twenty iterations of ResNet-20, and the weights they end with."""
    trial = make_shared_trial(batch=64, iterations=20)
    task = InFloat64(**vars(make_task(trial, DIGITS, device="cpu", processes=processes)))
    torch.manual_seed(1)
    network = build(find("resnet-20", {"channels": 1})).double()
    state = TrainingState(network, trial.recipe, tallied=task.tallied, processes=processes)
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
