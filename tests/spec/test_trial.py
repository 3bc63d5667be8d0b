"""Trials and their ids."""

from __future__ import annotations

import json
from dataclasses import make_dataclass, replace

import numpy as np
import pytest

from reslab.errors import UserError
from reslab.spec import find
from reslab.spec.optimization import OptimizerSpec, ScheduleSpec
from reslab.spec.recipe import Recipe, find_recipe
from reslab.spec.task import Classification, MultiLabel
from reslab.spec.trial import DataSpec, Trial, change_trial, trial_differences, trial_from_dict, trial_to_dict

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
        replace(TRIAL, task=MultiLabel()),
    ]
    assert len({trial.id for trial in [TRIAL, *others]}) == 6
    assert all(trial_from_dict(trial_to_dict(trial)) == trial for trial in others)
    assert TRIAL.id.startswith("resnet-20-cifar10-")


@pytest.mark.parametrize(
    "trial",
    [
        replace(TRIAL, recipe=replace(TRIAL.recipe, optimizer=OptimizerSpec(learning_rate=1))),
        replace(TRIAL, recipe=replace(TRIAL.recipe, iterations=2.0, label_smoothing=np.float32(0.1), exact_norms=1)),
        replace(TRIAL, recipe=replace(TRIAL.recipe, schedule=ScheduleSpec(drops=[0.25]), precision="BF16")),
        replace(TRIAL, network=replace(find("highway-19"), dropout=0, gate_bias=-0.0)),
        replace(TRIAL, seed=np.int64(3), start="ab", task="Multi-Label"),
        replace(TRIAL, start=""),
    ],
)
def test_a_trial_read_back_is_the_same(trial: Trial) -> None:
    """However its numbers were given: it is equal, has the same hash and the same id."""
    again = trial_from_dict(json.loads(json.dumps(trial_to_dict(trial))))
    assert (again, hash(again), again.id) == (trial, hash(trial), trial.id)
    assert (again == TRIAL) == (again.id == TRIAL.id)


def test_a_task_may_be_given_by_its_name() -> None:
    """As files and commands write it; the trial has the task itself."""
    assert TRIAL.task == Classification()
    named = replace(TRIAL, task="Multi-Label")  # pyright: ignore[reportArgumentType]
    assert (named, named.id) == ((labelled := replace(TRIAL, task=MultiLabel())), labelled.id)
    assert trial_to_dict(labelled)["task"] == "multi-label"


def test_nonsense_is_refused() -> None:
    """Negative seeds, other tasks and splits, data whose name is none."""
    for seed in (-1, 2**31):
        with pytest.raises(UserError, match=f"seed is {seed}; it must be from 0"):
            replace(TRIAL, seed=seed)
    with pytest.raises(UserError, match="this is not a trial"):
        trial_from_dict({})
    with pytest.raises(UserError, match="this is a recipe, not a trial: it has 'base'; use it with recipe=FILE"):
        trial_from_dict({"base": "fast", "iterations": 10})
    with pytest.raises(UserError, match="task is 'tracking'; choose classification, multi-label or detection"):
        replace(TRIAL, task="tracking")
    with pytest.raises(UserError, match=r"data\.split is 'tunning'; choose full or tuning"):
        replace(TRIAL.data, split="tunning")
    for name in ("../elsewhere", "a b", ""):  # a run's folder is named after it
        with pytest.raises(UserError, match=rf"data\.name is '{name}'; it takes letters"):
            replace(TRIAL.data, name=name)


def test_an_id_is_of_what_is_not_by_default() -> None:
    """So that fields to come leave it alone; a field that differs does not."""
    later = make_dataclass("Later", [("warp", float, 0.0)], bases=(Recipe,), frozen=True, kw_only=True)
    trial = replace(TRIAL, recipe=Recipe())
    assert replace(trial, recipe=later()).id == trial.id
    assert replace(trial, recipe=later(warp=0.1)).id != trial.id
    written = trial_to_dict(trial)
    del written["recipe"]["label_smoothing"]  # as before there was such a field
    assert trial_from_dict(written) == trial
    assert replace(trial, recipe=replace(trial.recipe, label_smoothing=0.1)).id != trial.id


def test_ids_stay_what_they_were() -> None:
    """Of runs that lie on disks, by number: a default that changed would show here."""
    everything_decays = find_recipe("cifar-paper", {"optimizer.decay": "all"})
    assert replace(TRIAL, recipe=everything_decays).id == "resnet-20-cifar10-9f5dcde6a9a7"
    assert replace(TRIAL, recipe=find_recipe("digits"), network=find("plain-56")).id == "plain-56-cifar10-80b22cb98b88"


@pytest.mark.parametrize(
    ("name", "fields", "before"),
    [
        ("resnet-110", {"order": "pre", "shortcut": "C"}, "resnet-110-cifar10-b554dfc948fe"),
        ("wrn-16-4", {"dropout": 0.3}, "wrn-16-4-cifar10-e1486720ce04"),
    ],
)
def test_trials_of_the_first_preactivation_stay_what_they_were(
    name: str, fields: dict[str, object], before: str
) -> None:
    """Recorded before there were revisions, a trial keeps its id and meaning; asked for anew it is another."""
    trial = replace(TRIAL, network=find(name, fields))
    assert trial_from_dict(trial_to_dict(trial)) == trial
    recorded = trial_to_dict(trial)
    del recorded["network"]["pre_revision"]
    old = trial_from_dict(recorded)
    assert (old.id, old.network.pre_revision) == (before, 1)
    assert trial_from_dict(trial_to_dict(old)) == old
    assert (trial.id != before, trial.network.pre_revision) == (True, 2)
    assert trial_differences(old, trial) == {"network.pre_revision": (1, 2)}
    assert change_trial(old, {"network.classes": "7"}).network.pre_revision == 1


def test_a_revision_that_decides_nothing_is_in_no_id() -> None:
    """Neither where there never was dropout or a projection, nor where they were taken out again."""
    trial = replace(TRIAL, network=find("resnet-20", {"order": "pre"}))
    assert trial.id == "resnet-20-cifar10-164d7aa6c301"
    dropping = change_trial(trial, {"network.dropout": "0.3"})
    assert dropping.network.pre_revision == 2
    assert trial_differences(dropping, trial) == {"network.dropout": (0.3, 0.0)}
    assert change_trial(dropping, {"network.dropout": "0"}) == trial
    assert change_trial(trial, {"network.pre_revision": "1"}) == trial


def test_fields_change_a_trial() -> None:
    """Its seed and dotted fields; the rest stays, and what it has already is not given anew."""
    changed = change_trial(TRIAL, {"seed": "2", "recipe.batch": "16", "data.split": "tuning"})
    assert changed == replace(
        TRIAL, seed=2, recipe=replace(TRIAL.recipe, batch=16), data=replace(TRIAL.data, split="tuning")
    )
    assert change_trial(TRIAL, {}) == TRIAL
    with pytest.raises(UserError, match=r"already has its recipe; change it with recipe\.FIELD=value"):
        change_trial(TRIAL, {"recipe": "fast"})
    with pytest.raises(UserError, match=r"a trial has no field 'lr'; write recipe\.optimizer\.learning_rate="):
        change_trial(TRIAL, {"lr": "1"})
