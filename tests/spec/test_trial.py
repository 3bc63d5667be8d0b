"""Trials and their ids."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from reslab.errors import UserError
from reslab.spec import find
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial, trial_from_dict, trial_to_dict

TRIAL = Trial(
    data=DataSpec(name="cifar10", fingerprint="abc"),
    network=find("resnet-20"),
    recipe=find_recipe("cifar-paper"),
    seed=1,
)


def test_equal_trials_share_an_id() -> None:
    """The id is a function of the content, and every part of it counts."""
    again = trial_from_dict(json.loads(json.dumps(trial_to_dict(TRIAL))))
    assert again == TRIAL
    assert again.id == TRIAL.id
    others = [
        replace(TRIAL, seed=2),
        replace(TRIAL, network=find("plain-20")),
        replace(TRIAL, recipe=find_recipe("cifar-paper", {"iterations": 10})),
        replace(TRIAL, data=replace(TRIAL.data, fingerprint="abd")),
    ]
    assert len({trial.id for trial in [TRIAL, *others]}) == 5
    assert TRIAL.id.startswith("resnet-20-cifar10-")


def test_nonsense_is_refused() -> None:
    """Negative seeds and other tasks."""
    for seed in (-1, 2**31):
        with pytest.raises(UserError, match=f"seed is {seed}; it must be from 0"):
            replace(TRIAL, seed=seed)
    with pytest.raises(UserError, match="task is None"):
        trial_from_dict({})
