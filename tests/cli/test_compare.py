"""`reslab compare`."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runs_by_hand import SITTING, as_task, finish_run, write_run

from reslab.runs.directory import RunDirectory
from reslab.spec import find
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial


def test_what_differs_and_what_it_costs(reslab) -> None:
    """Fields of its own go in quotes, fields for both stand free."""
    told = json.loads(reslab("compare", "resnet-34", "resnet-34 shortcut=C", "--json").out)
    assert told["differences"] == {"shortcut": ["A", "C"]}
    assert told["params"] == [21_623_848, 22_716_840]
    told = json.loads(reslab("compare", "plain-20", "resnet-20", "classes=100", "--json").out)
    assert told["params"][0] == told["params"][1] == 269_722 + 90 * 65


def test_the_same_network_twice(reslab) -> None:
    """Two spellings of one network do not differ."""
    assert "the same network" in reslab("compare", "resnet-56", "resnet_56").out
    assert "1.000" in reslab("compare", "resnet-56", "resnet-56").out


def test_two_networks_are_needed(reslab) -> None:
    """One or three are told."""
    for words in (["resnet-20"], ["resnet-20", "resnet-32", "resnet-44"]):
        outcome = reslab("compare", *words)
        assert outcome.code == 2
        assert f"got {len(words)}" in outcome.err


def record(
    root: Path, network: str, seed: int, error: float | None = None, task: str = "classification", **recipe: object
) -> RunDirectory:
    """Write down a run, finished if it has an error."""
    data = DataSpec(name="digits", fingerprint="x")
    trial = Trial(data=data, network=find(network), recipe=find_recipe("digits", recipe), seed=seed)
    trial = as_task(trial, task)
    run = RunDirectory.of(trial, root)
    run.begin(trial, {"device": "cpu"})
    if error is not None:
        finish_run(run, test_error_percent=error, train_error_percent=error / 2)
    return run


@pytest.fixture
def runs(tmp_path: Path) -> dict[tuple[str, int], RunDirectory]:
    """Seeds 1 to 3 of plain-20, 1, 2 and 4 of resnet-20, and one of another recipe that must not mix in."""
    errors = {
        ("plain-20", 1): 9.0,
        ("plain-20", 2): 10.0,
        ("plain-20", 3): 11.0,
        ("resnet-20", 1): 8.0,
        ("resnet-20", 2): 8.0,
        ("resnet-20", 4): 1.0,
    }
    record(tmp_path, "resnet-20", 3, 0.0, batch=32)
    return {(network, seed): record(tmp_path, network, seed, error) for (network, seed), error in errors.items()}


def test_settings_are_compared_over_common_seeds(reslab, runs, tmp_path: Path) -> None:
    """Fields and errors of the two; differences of all seeds both have, by part of an id or by folder."""
    one, other = runs["plain-20", 1], runs["resnet-20", 4]
    words = ["compare", one.path.name[:-2], str(other.path), "--runs", str(tmp_path)]
    told = json.loads(reslab(*words, "--json").out)
    assert told["differences"] == {"network.shortcut": ["none", "A"], "seed": [1, 4]}
    assert [errors["test_error_percent"] for errors in told["errors"]] == [9.0, 1.0]
    assert told["seeds"] == [[1, 2, 3], [1, 2, 4]]
    paired = told["paired"]["test_error_percent"]
    assert (paired["seeds"], paired["differences"], paired["mean"]) == ([1, 2], [-1.0, -2.0], -1.5)
    assert paired["sign_flip_p"] == 0.5
    assert told["paired"]["train_error_percent"]["mean"] == -0.75
    shown = reslab(*words).out
    assert "network.shortcut" in shown
    assert "-1.50" in shown
    assert "cannot be below 0.5" in shown


def test_where_images_have_several_labels_precision_is_compared(reslab, runs, tmp_path: Path) -> None:
    """Beside the errors; where they have one, nobody is told of it."""
    names = []
    for network, precision in (("plain-20", 60.0), ("resnet-20", 64.5)):
        run = record(tmp_path, network, 7, task="multi-label")
        finish_run(run, test_error_percent=0.0, train_error_percent=0.0, map_percent=precision)
        names.append(run.path.name)
    alone = [runs[name, 1].path.name for name in ("plain-20", "resnet-20")]
    assert "mAP" not in reslab("compare", *alone, "--runs", str(tmp_path)).out
    for run in runs.values():
        shutil.rmtree(run.path)
    shown = reslab("compare", *names, "--runs", str(tmp_path)).out
    assert next(line.split()[-2:] for line in shown.splitlines() if line.startswith("test error")) == ["0.00", "0.00"]
    rows = [line.split()[2:] for line in shown.splitlines() if line.startswith("mAP")]
    assert rows == [["60.00", "64.50"], ["+4.50"]]


def test_two_seeds_of_one_setting(reslab, runs, tmp_path: Path) -> None:
    """There is nothing to pair."""
    names = [runs["plain-20", seed].path.name for seed in (1, 2)]
    shown = reslab("compare", *names, "--runs", str(tmp_path)).out
    assert "differ only in the seed; finished seeds of this setting: 1, 2, 3" in shown
    shown = reslab("compare", names[0], names[0], "--runs", str(tmp_path)).out
    assert "The two are the same run." in shown
    assert "only in the seed" not in shown


def test_weights_and_images_are_named(reslab, tmp_path: Path) -> None:
    """As people would, not by digests."""
    scratch = write_run(tmp_path, responses=False)
    trial = replace(scratch.trial(), start="a" * 64, data=replace(scratch.trial().data, fingerprint="b" * 64))
    tuned = RunDirectory.of(trial, tmp_path)
    tuned.begin(trial, SITTING | {"weights": "cifar10", "data_images": [99, 20]})
    out = reslab("compare", scratch.path.name, tuned.path.name, "--runs", str(tmp_path)).out
    rows = [re.split("  +", line.strip()) for line in out.splitlines()]
    assert ["weights", "-", "cifar10"] in rows
    assert ["images", "-", "99 training, 20 test"] in rows


def test_too_few_seeds_are_told(reslab, tmp_path: Path) -> None:
    """None in common, one in common, one not finished."""
    plain = record(tmp_path, "plain-20", 1, 9.0)
    residual = record(tmp_path, "resnet-20", 2)
    words = ["compare", str(plain.path), str(residual.path)]
    shown = reslab(*words).out
    assert "interrupted" in shown
    assert "No seed is finished in both settings (1 and none)" in shown
    record(tmp_path, "resnet-20", 1, 8.0)
    shown = reslab(*words).out
    assert "-1.00" in shown
    assert "no significance" in shown
    for network in ("plain-20", "resnet-20"):
        record(tmp_path, network, 5, {"plain-20": 9.0, "resnet-20": 8.0}[network])
    assert "Equal differences have no spread" in reslab(*words).out


def test_a_networks_name_means_the_network(reslab, runs, tmp_path: Path) -> None:
    """That runs begin so too is told; a run and a network are not compared."""
    told = reslab("compare", "plain-20", "resnet-20", "--runs", str(tmp_path))
    assert "Cost" in told.out
    assert "comparing the network plain-20" in told.err
    outcome = reslab("compare", "plain-20", runs["resnet-20", 1].path.name, "--runs", str(tmp_path))
    assert outcome.code == 2
    assert "is a run, but 'plain-20' is not" in outcome.err


def test_mistakes_are_told(reslab, runs, tmp_path: Path) -> None:
    """Fields of runs, and ids that begin several."""
    names = [runs["plain-20", seed].path.name for seed in (1, 2)]
    assert "leave out batch=" in reslab("compare", *names, "batch=2", "--runs", str(tmp_path)).err
    outcome = reslab("compare", "plain-20-digits", names[0], "--runs", str(tmp_path))
    assert "matches 3 runs" in outcome.err


def test_other_recipes_are_other_settings(reslab, runs, tmp_path: Path) -> None:
    """Their seeds do not mix."""
    other = record(tmp_path, "resnet-20", 1, 5.0, batch=32)
    told = json.loads(reslab("compare", str(runs["resnet-20", 1].path), str(other.path), "--json").out)
    assert told["differences"] == {"recipe.batch": [64, 32]}
    assert told["seeds"] == [[1, 2, 4], [1, 3]]
    assert replace(other.trial(), seed=3).id in {run.name for run in tmp_path.iterdir()}
