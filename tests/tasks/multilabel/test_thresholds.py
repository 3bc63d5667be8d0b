"""Thresholds of labels: the best F1, by looking at every one there is."""

from __future__ import annotations

import time

import numpy as np
import pytest

from reslab.tasks.multilabel.meter import f1_percent
from reslab.tasks.multilabel.thresholds import describe_label, tune


def test_no_threshold_is_better() -> None:
    """Of a grid so fine that it parts all images; that of scikit-learn is the same F1."""
    random = np.random.default_rng(0)
    truths = random.random(200) < 0.2
    probabilities = (0.15 * random.random(200) + 0.2 * truths * random.random(200)).astype(np.float64)
    chosen = tune(probabilities, truths)
    every = [f1_percent(probabilities >= one, truths) or 0.0 for one in np.linspace(0, 1, 20001)]
    assert f1_percent(probabilities >= chosen, truths) == pytest.approx(max(every))
    assert chosen < 0.35
    told = describe_label("rare", chosen, probabilities, truths)
    assert told.f1_before_percent == 0
    assert told.f1_percent == pytest.approx(max(every))


def test_many_images_are_no_trouble() -> None:
    """One sort finds what trying every cut finds, images of one probability together."""
    random = np.random.default_rng(0)
    truths, probabilities = random.random(300) < 0.3, random.random(300).round(2)
    values = np.unique(probabilities)
    cuts = [0.5, values[0] / 2, *(values[1:] + values[:-1]) / 2]
    best = max(f1_percent(probabilities >= one, truths) or 0.0 for one in cuts)
    chosen = tune(probabilities, truths)
    assert f1_percent(probabilities >= chosen, truths) == best
    begun = time.monotonic()
    tune(random.random(200_000), random.random(200_000) < 0.3)
    assert time.monotonic() - begun < 5


def test_a_half_stays_where_nothing_is_better() -> None:
    """Where it parts all images already, and where no image has the label."""
    probabilities = np.array([0.1, 0.4, 0.6, 0.9])
    assert tune(probabilities, probabilities > 0.5) == 0.5
    assert tune(probabilities, np.zeros(4, bool)) == 0.5
    assert describe_label("none", 0.95, probabilities, np.zeros(4, bool)).f1_percent is None
