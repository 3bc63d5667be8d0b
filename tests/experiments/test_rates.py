"""The learning-rate range test."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from tests.photographs import make_photos
from tests.trials import DIGITS, PHOTO_FIELDS, make_digits_trial

import reslab
from reslab.data.photos.reader import read_photos
from reslab.errors import UserError
from reslab.experiments import rates
from reslab.experiments.rates import RANGES, RateSweep, sweep_rates
from reslab.experiments.trials import read_trial
from reslab.runtime.listener import Listener
from reslab.training.loop import Stopped

RISING = tuple(10 ** (power / 10) for power in range(-40, 11))
SMALL = {"recipe.batch": 64, "recipe.precision": "fp32"}


def sweep(losses: list[float]) -> RateSweep:
    return RateSweep(network="a", rates=RISING[: len(losses)], losses=tuple(losses))


def test_the_suggested_rate_lies_a_tenth_below_the_lowest_loss() -> None:
    """To a digit; a single low loss among high ones is noise."""
    losses = [2.3 - (1.3 if -2 < math.log10(rate) < 0 else 0) for rate in RISING]
    losses[5] = 0.0
    found = sweep(losses)
    assert 0.01 < found.lowest_at < 1
    assert found.suggested == float(f"{found.lowest_at / 10:.0e}")
    assert not found.still_falls
    assert sweep([2.0 - number / 100 for number in range(len(RISING))]).still_falls
    assert sweep([2.0 + number / 100 for number in range(len(RISING))]).suggested is None


def test_it_finds_a_rate_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the arguments of a training."""
    monkeypatch.setattr(rates, "STEPS", 40)
    monkeypatch.setitem(rates.RANGES, "sgd", (1e-3, 10.0))
    monkeypatch.chdir(tmp_path)
    told: list[int] = []
    found = reslab.find_rate("digits", "cifar-resnet-8", fields=SMALL, progress=told.append)
    assert (found.rates[0], found.network) == (1e-3, "cifar-resnet-8")
    assert found.suggested is not None
    assert 5e-3 <= found.suggested <= 0.1
    assert told == list(range(1, len(told) + 1))
    assert found._repr_svg_() == found.draw()
    assert not list(tmp_path.iterdir())
    with pytest.raises(UserError, match=r"train needs a network"):  # as of a training, which has one for photographs
        reslab.find_rate("digits")
    with pytest.raises(UserError, match=r"'seed' is an argument of find_rate, not a field"):
        reslab.find_rate("digits", "cifar-resnet-8", fields={"seed": 1})


def test_it_ends_where_the_loss_explodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no number is not among the losses; a training that never was one is told, and a wish to stop heeded."""
    monkeypatch.setattr(rates, "STEPS", 30)
    monkeypatch.setitem(rates.RANGES, "sgd", (1e-2, 1e12))
    trial = make_digits_trial(batch=8, precision="fp32", average_decay=0.9)
    found = sweep_rates(trial, DIGITS)
    assert len(found.losses) < 30
    assert all(map(math.isfinite, found.losses))
    monkeypatch.setitem(rates.RANGES, "sgd", (1e30, 1e38))
    with pytest.raises(UserError, match="is not finite or rises steeply"):
        sweep_rates(trial, DIGITS)
    with pytest.raises(Stopped):
        sweep_rates(trial, DIGITS, listener=Listener(should_stop=lambda: True))


def test_of_photographs_a_frozen_network_is_swept_by_its_own_optimizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that a trial may ask for besides: AdamW, held-out images, crops that grow, a warm-up."""
    monkeypatch.setattr(rates, "STEPS", 12)
    photos = read_photos(make_photos(tmp_path / "photos"))
    fields = PHOTO_FIELDS | {
        "network.input_size": "64",
        "recipe.optimizer.kind": "adamw",
        "recipe.freeze": "stem",
        "recipe.keep_best": "true",
        "data.validation": "0.2",
        "recipe.resizing.initial": "0.5",
        "recipe.warmup.iterations": "4",
    }
    found = sweep_rates(read_trial(fields, photos), photos)
    assert found.rates[0] == RANGES["adamw"][0]
    assert len(found.losses) > 8
