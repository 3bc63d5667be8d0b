"""Sums over images, in batches, and after an interruption."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.analysis.subjects import make_subject
from torch import Tensor

from reslab.analysis.settings import Settings
from reslab.analysis.streaming import mean_and_error, sum_over_images, tell_means
from reslab.analysis.workbench import Workbench


def test_sums_are_over_all_images_whatever_interrupts(tmp_path: Path) -> None:
    """What was kept is not computed again, and the sums are the same to the bit."""
    subject, settings, calls = make_subject("cifar-resnet-8"), Settings(images=50, on="train"), list[int]()

    def add(images: Tensor, targets: Tensor) -> dict[str, Tensor]:
        calls.append(len(images))
        if len(calls) == 3:
            raise InterruptedError
        return {"brightness": images.sum((0, 2, 3)), "targets": targets.sum()[None]}

    calls += [0] * 9
    whole, images = sum_over_images(subject, settings, Workbench(), add, batch=20, part="sums")
    assert images == 50 and whole["targets"] == subject.trained_on.targets[:50].sum()
    calls.clear()
    bench = Workbench(place=tmp_path / "found")
    with pytest.raises(InterruptedError):
        sum_over_images(subject, settings, bench, add, batch=20, part="sums")
    again, images = sum_over_images(subject, settings, bench, add, batch=20, part="sums")
    assert len(calls) == 4 and sum(calls) - calls[2] == images == 50
    assert all(np.array_equal(again[name], whole[name]) for name in whole)


def test_errors_are_those_of_means() -> None:
    """As numpy has them; one image has none, and of no image nothing is told."""
    values = np.random.default_rng(0).normal(3, 2, (4, 30))
    means, errors = mean_and_error(values.sum(1), (values**2).sum(1), 30, width=1.96)
    assert np.allclose(means, values.mean(1))
    assert np.allclose(errors, 1.96 * values.std(1, ddof=1) / np.sqrt(30))
    assert mean_and_error(values[:, 0], values[:, 0] ** 2, 1, width=1.96)[1] == pytest.approx(0, abs=1e-6)
    none = mean_and_error(np.array([0.0, np.inf]), np.array([0.0, np.inf]), 0, width=1.96)
    assert tell_means(("here", "there"), *none) == dict.fromkeys(("here", "here_error", "there", "there_error"))
