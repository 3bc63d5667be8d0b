"""Data is placed once for those that train on it at the same time; evaluation captured is evaluation."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.experiments.faults import OPTIONS, make_trial
from tests.trials import DIGITS

from reslab.experiments.arrays import make_array_task
from reslab.experiments.labelled import log_scores
from reslab.experiments.run import run_trial
from reslab.networks import build
from reslab.spec.recipe import find_recipe


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
    balanced = replace(trial, recipe=replace(trial.recipe, sampling="balanced", exact_norms=False, batch=40))
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
