"""Data is placed once for those that train on it at the same time; evaluation captured is evaluation."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import pytest
import torch
from tests.experiments.faults import DIGITS, make_trial

from reslab.experiments.classification import log_scores, make_task
from reslab.networks import build


def test_trials_share_their_images() -> None:
    """While one holds them; other crops or another split are other images, and the last one's are let go."""
    gc.collect()  # what other tests left behind
    trial = make_trial()
    first, second = (make_task(replace(trial, seed=seed), DIGITS, device="cpu") for seed in (1, 2))
    assert first.data is second.data
    assert first.sampler.seed != second.sampler.seed
    tuning = make_task(replace(trial, data=replace(trial.data, split="tuning")), DIGITS, device="cpu")
    assert tuning.data is not first.data
    assert len(tuning.train) < len(first.train)
    recipe = replace(trial.recipe, augmentation=replace(trial.recipe.augmentation, padding=2))
    assert make_task(replace(trial, recipe=recipe), DIGITS, device="cpu").data is not first.data
    placed = weakref.ref(first.data)
    del first
    assert placed() is second.data
    del second
    assert placed() is None


def test_an_evaluation_is_of_the_network_as_it_is() -> None:
    """Made once, it sees what becomes of the weights."""
    task = make_task(make_trial(), DIGITS, device="cpu")
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
    task = make_task(make_trial(), DIGITS, device="cuda")
    network = build(task.trial.network).to("cuda")
    with torch.backends.cudnn.flags(enabled=True, deterministic=True):
        evaluate = task.make_evaluation(network, capture=True)
        for _ in range(3):
            assert evaluate() == log_scores(task.score(network))
            with torch.no_grad():
                for parameter in network.parameters():
                    parameter.mul_(1.1)
