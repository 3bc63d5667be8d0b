"""Seeds belong together, under a name that tells them from the others."""

from __future__ import annotations

import itertools
import json
import shutil
import statistics
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.runs_by_hand import groups_in, labelled_groups, write_run, write_turning_run

from reslab.analysis.catalogue import Mark, View
from reslab.report.groups import DARK, LIGHT, Group, by_data, group_runs, spread
from reslab.report.records import read_records

# What a colour becomes without one kind of cone, in linear RGB (Machado, Oliveira, Fernandes, 2009).
SIGHTS = {
    "usual": np.eye(3),
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def test_seeds_share_a_mean_curve(tmp_path: Path) -> None:
    """Mean and sample deviation at every step."""
    for seed in range(3):
        write_run(tmp_path, seed=seed)
    (group,) = labelled_groups(tmp_path).values()
    assert [run.trial.seed for run in group.runs] == [0, 1, 2]
    last = [run.test_score or 0.0 for run in group.runs]
    end = group.curve[-1].test
    assert end is not None
    assert (end.mean, end.std, end.n) == (statistics.fmean(last), statistics.stdev(last), 3)


def test_what_is_unknown_of_one_seed_has_no_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other places keep theirs; with nothing found there is no line."""
    write_run(tmp_path)
    (group,) = labelled_groups(tmp_path).values()
    view = View(key="linear", title="Linear share", axis="layers", printed_axis="layers")
    assert group.line("identity", view) == []
    seeds = [[("first", 1.0), ("second", 2.0), ("third", 3.0)], [("first", 3.0), ("third", 5.0)]]
    found = [SimpleNamespace(marks_in=lambda _, row=row: [Mark.around(*each, 0.1) for each in row]) for row in seeds]
    monkeypatch.setattr(Group, "found", lambda self, instrument: found)
    assert [(mark.name, mark.value) for mark in group.line("identity", view)] == [("first", 2.0), ("third", 4.0)]


def test_an_interrupted_seed_joins_no_mean(tmp_path: Path) -> None:
    """Unless no other is finished: then it is what there is."""
    write_run(tmp_path, seed=0, finished=False)
    (group,) = labelled_groups(tmp_path).values()
    assert len(group.shown) == 1
    assert not group.finished
    write_run(tmp_path, seed=1)
    (group,) = labelled_groups(tmp_path).values()
    assert [run.trial.seed for run in group.shown] == [1]
    assert all(step.test and step.test.n == 1 for step in group.curve)


def test_a_copied_folder_is_no_second_measurement(tmp_path: Path) -> None:
    """Both are listed; one counts."""
    run = write_run(tmp_path)
    shutil.copytree(run.path, tmp_path / "copy")
    (group,) = labelled_groups(tmp_path).values()
    assert (len(group.runs), len(group.finished)) == (2, 1)


def test_one_stands_for_those_that_differ_in_nothing_material(tmp_path: Path) -> None:
    """The one with the most seeds, then the finest numbers; others wait to be clicked."""
    write_run(tmp_path, precision="bf16")
    write_run(tmp_path, precision="fp16")
    repeated = {group.runs[0].trial.recipe.precision: group.repeated for group in labelled_groups(tmp_path).values()}
    assert repeated == {"bf16": True, "fp16": False}
    write_run(tmp_path, precision="bf16", seed=1)
    repeated = {group.runs[0].trial.recipe.precision: group.repeated for group in labelled_groups(tmp_path).values()}
    assert repeated == {"bf16": False, "fp16": True}


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
    groups = labelled_groups(tmp_path)
    assert groups["plain-20"].shade == groups["resnet-20"].shade
    assert groups["plain-56"].shade == groups["resnet-56"].shade
    assert len({group.shade for group in groups.values()}) == 3


def test_the_ceiling_is_of_the_later_half(tmp_path: Path) -> None:
    """How a network starts does not decide the scale; of training and test the larger does, as a mean over seeds."""
    larger = [(90.0, 75.0, 30.0, 12.0), (88.0, 61.0, 26.0, 16.0)]
    for names in (("train", "test"), ("test", "train")):
        for seed, errors in enumerate(larger):
            log = write_run(tmp_path, seed=seed, finished=False).path / "metrics.jsonl"
            entries = [
                {"step": 10 * number, f"{names[0]}_error_percent": error, f"{names[1]}_error_percent": error / 2}
                for number, error in enumerate(errors, start=1)
            ]
            log.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
        (group,) = labelled_groups(tmp_path).values()
        assert group.ceiling == (30.0 + 26.0) / 2


def test_a_low_score_flattens_nothing_where_higher_is_better(tmp_path: Path) -> None:
    """Whatever it is, it is displayed, and the scale reaches the highest."""
    for network, right in (("resnet-20", 90.0), ("plain-20", 5.0)):
        write_turning_run(tmp_path, network, right=right)
    groups = labelled_groups(tmp_path)
    assert {label: (group.displayed, group.ceiling) for label, group in groups.items()} == {
        "resnet-20": (True, 95.0),
        "plain-20": (True, 10.0),
    }


def test_networks_with_other_headlines_stand_apart(tmp_path: Path) -> None:
    """On the same data, too: one axis has one score."""
    write_turning_run(tmp_path)
    write_run(tmp_path, "plain-20", data="pictures")
    write_run(tmp_path)
    assert list(by_data(groups_in(tmp_path))) == ["cifar10", "pictures, error", "pictures, rate"]


def test_a_spread_needs_two() -> None:
    """One value has no deviation, none no mean."""
    assert spread([None]) is None
    one = spread([3.0, None])
    assert one is not None
    assert (one.mean, one.std, one.n) == (3.0, None, 1)


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[first : first + 2], 16) for first in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(colour: np.ndarray) -> np.ndarray:
    x, y, z = np.cbrt(np.maximum(TO_XYZ @ colour / TO_XYZ.sum(1), 0.008856))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize(("colours", "paper"), [(LIGHT, "#ffffff"), (DARK, "#14171c")])
def test_lines_stand_out_from_the_page(colours: tuple[str, ...], paper: str) -> None:
    """A contrast of 3 at least."""
    for colour in colours:
        dim, bright = sorted((linear(colour) @ TO_XYZ[1], linear(paper) @ TO_XYZ[1]))
        assert (bright + 0.05) / (dim + 0.05) >= 3, colour


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_no_two_colours_look_alike(colours: tuple[str, ...], sight: str) -> None:
    """Ten units of CIELAB apart at least, five times what the eye can just tell."""
    seen = [lab(np.clip(np.array(SIGHTS[sight]) @ linear(colour), 0, 1)) for colour in colours]
    for (one, a), (other, b) in itertools.combinations(zip(colours, seen, strict=True), 2):
        assert np.linalg.norm(a - b) >= 10, f"{one} and {other}"
