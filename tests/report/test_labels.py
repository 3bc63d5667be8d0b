"""Trials are named by what tells them apart, in few words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.photographs import make_photos
from tests.runs_by_hand import SITTING, labelled_groups, write_run
from tests.trials import make_photo_trial

from reslab.data.photos.folder import read_folder
from reslab.report.groups import family_of
from reslab.report.labels import label_each, network_label, shared_departures, write_value
from reslab.runs.directory import RunDirectory
from reslab.spec import find
from reslab.spec.preprocess import AUTHORS


def test_the_usual_trial_goes_by_the_bare_name(tmp_path: Path) -> None:
    """Others say in which fields they differ from it."""
    write_run(tmp_path, seed=0)
    write_run(tmp_path, seed=1)
    write_run(tmp_path, **{"optimizer.learning_rate": "0.05", "iterations": "40"})
    assert sorted(labelled_groups(tmp_path)) == ["resnet-20", "resnet-20 iterations=40 optimizer.learning_rate=0.05"]


def test_what_has_no_effect_is_not_told(tmp_path: Path) -> None:
    """A warm-up by iterations has no window of errors; no images to choose by is the usual number of them."""
    write_run(tmp_path, **{"warmup.iterations": "10"})
    write_run(tmp_path, **{"warmup.window": "50"})
    names = ["resnet-20 warmup.iterations=10 warmup.initial=0.01", "resnet-20 warmup.window=50"]
    assert sorted(labelled_groups(tmp_path)) == names


def test_how_often_is_not_told_where_it_follows_from_the_length(tmp_path: Path) -> None:
    """About ten evaluations a run come by themselves; another number was asked for."""
    write_run(tmp_path)
    write_run(tmp_path, iterations="6400", evaluate_every="640")
    write_run(tmp_path, iterations="3200", evaluate_every="50")
    names = ["resnet-20", "resnet-20 iterations=3200 evaluate_every=50", "resnet-20 iterations=6400"]
    assert sorted(labelled_groups(tmp_path)) == names


def test_the_whole_recipe_is_more_usual_than_many_runs(tmp_path: Path) -> None:
    """And of two precisions with as many runs, the finer one."""
    for seed in range(2):
        write_run(tmp_path, seed=seed, iterations="40")
    write_run(tmp_path, precision="bf16")
    assert sorted(labelled_groups(tmp_path)) == ["resnet-20", "resnet-20 iterations=40 precision=fp32"]
    write_run(tmp_path, precision="fp16")
    groups = labelled_groups(tmp_path)
    names = ["resnet-20", "resnet-20 iterations=40 precision=fp32", "resnet-20 precision=bf16"]
    assert sorted(groups) == names
    assert [groups[name].variant for name in names] == [False, True, True]


def test_without_a_usual_one_all_say_what_differs(tmp_path: Path) -> None:
    """One run each, and one change: neither is more usual."""
    write_run(tmp_path, iterations="40")
    write_run(tmp_path, iterations="80")
    assert sorted(labelled_groups(tmp_path)) == ["resnet-20 iterations=40", "resnet-20 iterations=80"]


def test_where_recipes_differ_they_are_named(tmp_path: Path) -> None:
    """And of their fields those that were changed, not the dozens in which one recipe is not the other."""
    write_run(tmp_path)
    write_run(tmp_path, recipe_name="photos", iterations="40")
    write_run(tmp_path, recipe_name="photos", iterations="40", **{"optimizer.momentum": "0.8"})
    photos = ["resnet-20 recipe=photos iterations=40", "resnet-20 recipe=photos iterations=40 optimizer.momentum=0.8"]
    assert sorted(labelled_groups(tmp_path)) == ["resnet-20", *photos]
    write_run(tmp_path, recipe_name="fast")
    whole = ["resnet-20 recipe=cifar-paper", "resnet-20 recipe=fast"]
    assert sorted(labelled_groups(tmp_path)) == [*whole, *photos]


def test_what_was_cut_short_says_so_without_a_twin(tmp_path: Path) -> None:
    """A network's bare name stands for its whole recipe, in whatever precision and however often evaluated."""
    write_run(tmp_path, "resnet-20", precision="bf16", evaluate_every="200")
    write_run(tmp_path, "resnet-1202", responses=False, recipe_name="cifar-paper-110", iterations="6400")
    groups = labelled_groups(tmp_path)
    assert {label: group.reduced for label, group in groups.items()} == {
        "resnet-20": False,
        "resnet-1202 iterations=6400": True,
    }


def test_what_all_networks_changed_is_told_once(tmp_path: Path) -> None:
    """Not in every name."""
    for network in ("plain-20", "resnet-20"):
        write_run(tmp_path, network, iterations="640")
    groups = labelled_groups(tmp_path)
    assert {label: group.reduced for label, group in groups.items()} == {"plain-20": False, "resnet-20": False}
    assert shared_departures([group.runs[0].trial for group in groups.values()]) == {"iterations": "640"}


def test_versions_of_data_have_names(tmp_path: Path) -> None:
    """In the order of time, or by their numbers of images where these are known; never by their fingerprints."""
    for day, digit in enumerate("ba", start=1):
        run = write_run(tmp_path, fingerprint=digit * 64, responses=False)
        run.write("provenance", {"sittings": [run.read("provenance")["sittings"][0] | {"started": f"2026-01-0{day}"}]})
    groups = labelled_groups(tmp_path)
    assert {label: group.runs[0].trial.data.fingerprint[0] for label, group in groups.items()} == {
        "resnet-20 version=1": "b",
        "resnet-20 version=2": "a",
    }
    for group in groups.values():
        run = group.runs[0].directory
        images = 99 if group.runs[0].trial.data.fingerprint[0] == "a" else 100
        RunDirectory(run.path).finish(run.result() | {"data_images": [images, 20]})
    assert sorted(labelled_groups(tmp_path)) == ["resnet-20 images=100", "resnet-20 images=99"]


def test_what_a_run_started_from_is_always_told(tmp_path: Path) -> None:
    """By the name of the weights, also of a run without a twin; what was held out and skipped as usual is not."""
    scratch = write_run(tmp_path / "scratch", responses=False).trial()
    usual = dict.fromkeys("ab", scratch.data)
    usual["b"] = replace(scratch.data, on_bad_image="skip")
    for digit, data in usual.items():
        trial = replace(scratch, start=digit * 64, data=data)
        RunDirectory.of(trial, tmp_path / "runs").begin(trial, SITTING | {"weights": "cifar10"})
    names = ["resnet-20 weights=cifar10#" + digit * 12 for digit in "ab"]
    assert sorted(labelled_groups(tmp_path / "runs")) == [names[0], f"{names[1]} on_bad_image=skip"]
    assert label_each([replace(scratch, start="c" * 64)], {"c" * 64: "weights=mine.pth"}).popitem()[1] == (
        "resnet-20 weights=mine.pth"
    )


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


def test_values_are_written_as_one_types_them() -> None:
    """Words without quotes, lists and numbers as in JSON."""
    assert [write_value(value) for value in ("bf16", [0.5, 0.75], 64, None)] == ["bf16", "[0.5, 0.75]", "64", "null"]


def test_how_weights_know_their_images_goes_without_saying(tmp_path: Path) -> None:
    """Only a run that prepares them otherwise says how."""
    scratch = make_photo_trial(read_folder(make_photos(tmp_path / "photos", train=2)))
    start = replace(scratch, start="0" * 64)
    by_weights = replace(start, preprocess=AUTHORS)
    origins = {start.start or "": "weights=authors"}
    labels = label_each([scratch, start, by_weights], origins)
    name = labels[scratch]
    assert labels[by_weights] == f"{name} weights=authors"
    assert labels[start] == f"{name} weights=authors centring=imagenet"


def test_what_an_optimizer_brings_along_is_not_told(tmp_path: Path) -> None:
    """Its usual rate and decay; another one is."""
    write_run(tmp_path)
    write_run(tmp_path, **{"optimizer.kind": "adamw"})
    write_run(tmp_path, **{"optimizer.kind": "adamw", "optimizer.learning_rate": "0.01"})
    assert sorted(labelled_groups(tmp_path)) == [
        "resnet-20",
        "resnet-20 optimizer.kind=adamw",
        "resnet-20 optimizer.kind=adamw optimizer.learning_rate=0.01",
    ]
