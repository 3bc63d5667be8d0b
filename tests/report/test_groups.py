"""Seeds belong together, under a name that tells them from the others."""

from __future__ import annotations

import shutil
import statistics
from pathlib import Path

import pytest
from tests.runs_by_hand import write_run

from reslab.report.groups import Group, family_of, group_runs, network_label, spread
from reslab.report.records import read_records
from reslab.spec import find


def groups_in(root: Path) -> dict[str, Group]:
    return {group.label: group for group in group_runs(read_records(root)[0])}


def test_seeds_share_a_mean_curve(tmp_path: Path) -> None:
    """Mean and sample deviation at every step."""
    for seed in range(3):
        write_run(tmp_path, seed=seed)
    (group,) = groups_in(tmp_path).values()
    assert [run.trial.seed for run in group.runs] == [0, 1, 2]
    last = [run.points[-1].test_error_percent or 0.0 for run in group.runs]
    end = group.curve[-1].test
    assert end is not None
    assert (end.mean, end.std, end.n) == (statistics.fmean(last), statistics.stdev(last), 3)


def test_an_interrupted_seed_joins_no_mean(tmp_path: Path) -> None:
    """Unless no other is finished: then it is what there is."""
    write_run(tmp_path, seed=0, finished=False)
    (group,) = groups_in(tmp_path).values()
    assert len(group.shown) == 1
    assert not group.finished
    write_run(tmp_path, seed=1)
    (group,) = groups_in(tmp_path).values()
    assert [run.trial.seed for run in group.shown] == [1]
    assert all(step.test and step.test.n == 1 for step in group.curve)


def test_a_copied_folder_is_no_second_measurement(tmp_path: Path) -> None:
    """Both are listed; one counts."""
    run = write_run(tmp_path)
    shutil.copytree(run.path, tmp_path / "copy")
    (group,) = groups_in(tmp_path).values()
    assert (len(group.runs), len(group.finished)) == (2, 1)


def test_the_usual_trial_goes_by_the_bare_name(tmp_path: Path) -> None:
    """Others say in which fields they differ from it."""
    write_run(tmp_path, seed=0)
    write_run(tmp_path, seed=1)
    write_run(tmp_path, **{"optimizer.learning_rate": "0.05", "iterations": "40"})
    assert sorted(groups_in(tmp_path)) == ["resnet-20", "resnet-20 iterations=40 optimizer.learning_rate=0.05"]


def test_without_a_usual_one_all_say_what_differs(tmp_path: Path) -> None:
    """One run each: neither is more usual."""
    write_run(tmp_path)
    write_run(tmp_path, iterations="40")
    assert sorted(groups_in(tmp_path)) == ["resnet-20 iterations=40", "resnet-20 iterations=64000"]


def test_where_recipes_differ_they_are_named(tmp_path: Path) -> None:
    """And of their fields those that were changed, not the dozens in which one recipe is not the other."""
    write_run(tmp_path)
    write_run(tmp_path, recipe_name="photos", iterations="40")
    write_run(tmp_path, recipe_name="photos", iterations="40", **{"optimizer.momentum": "0.8"})
    photos = ["resnet-20 recipe=photos iterations=40", "resnet-20 recipe=photos iterations=40 optimizer.momentum=0.8"]
    assert sorted(groups_in(tmp_path)) == ["resnet-20 recipe=cifar-paper", *photos]
    write_run(tmp_path, seed=1)
    assert sorted(groups_in(tmp_path)) == ["resnet-20", *photos]


def test_digests_are_cut_as_in_ids(tmp_path: Path) -> None:
    """Twelve digits tell two apart."""
    for digit in "ab":
        write_run(tmp_path, fingerprint=digit * 64, responses=False)
    assert sorted(groups_in(tmp_path)) == [f"resnet-20 data.fingerprint={digit * 12}" for digit in "ab"]


def test_splits_of_data_are_kept_apart(tmp_path: Path) -> None:
    """A tuning split's errors are of other images."""
    write_run(tmp_path)
    write_run(tmp_path, split="tuning")
    groups = group_runs(read_records(tmp_path)[0])
    assert [group.data for group in groups] == ["cifar10", "cifar10, tuning split"]
    assert {group.label for group in groups} == {"resnet-20"}


def test_twins_share_a_colour(tmp_path: Path) -> None:
    """A plain network and its residual twin; other depths have others."""
    for network in ("plain-20", "resnet-20", "plain-56", "resnet-56", "highway-19"):
        write_run(tmp_path, network, responses=False)
    groups = groups_in(tmp_path)
    assert groups["plain-20"].shade == groups["resnet-20"].shade
    assert groups["plain-56"].shade == groups["resnet-56"].shade
    assert len({group.shade for group in groups.values()}) == 3


@pytest.mark.parametrize(
    ("name", "fields", "label", "family"),
    [
        ("cifar-plain-8", {"channels": 1, "input_size": 8}, "plain-8", "plain"),
        ("resnet-20", {"shortcut": "B"}, "resnet-20 shortcut=B", "residual"),
        ("cifar-resnet-50", {}, "cifar-resnet-50", "residual"),
        ("gated-resnet-20", {}, "gated-resnet-20", "other"),
        ("highway-19", {}, "highway-19", "other"),
    ],
)
def test_names_are_short_and_unmistakable(name: str, fields: dict[str, object], label: str, family: str) -> None:
    """Without what the data implies; the prefix stays where ImageNet has that depth too."""
    spec = find(name, fields)
    assert network_label(spec) == label
    assert family_of(spec) == family


def test_the_ceiling_is_of_the_later_half(tmp_path: Path) -> None:
    """How a network starts does not decide the scale."""
    write_run(tmp_path)
    (group,) = groups_in(tmp_path).values()
    tests = [step.test.mean for step in group.curve if step.test]
    assert group.ceiling == max(tests[len(tests) // 2 :])
    assert group.ceiling < max(tests)


def test_a_spread_needs_two() -> None:
    """One value has no deviation, none no mean."""
    assert spread([None]) is None
    one = spread([3.0, None])
    assert one is not None
    assert (one.mean, one.std, one.n) == (3.0, None, 1)
