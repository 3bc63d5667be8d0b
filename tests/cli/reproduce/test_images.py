"""`reslab reproduce` on images with objects: planned, trained, tested and judged as what they are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.networks.detection.scenes import THIN
from tests.objects import make_scenes, write_voc
from tests.runs_by_hand import write_run

from reslab.experiments import estimate
from reslab.networks import build, save_model
from reslab.paper.claim import Claim
from reslab.paper.claims import CLAIMS
from reslab.paper.measurements import ByEnsemble
from reslab.spec import find

SMALL = " ".join(["resnet-18", *[f"{field}={value}" for field, value in THIN.items()]])
SHORT = ["recipe.iterations=2", "task.shorter=48", "task.longest=64", "task.regions=4", "task.proposals_test=8"]


def test_what_was_not_run_says_how_it_would_be(reslab, tmp_path: Path) -> None:
    """Every row of every table, with the command that trains and tests for it."""
    tables = {"table-7": 8, "table-8": 8, "table-9": 24, "table-10": 63, "table-11": 63, "table-12": 5, "norms": 10}
    for table, rows in tables.items():
        outcome = reslab("reproduce", table, "--from", str(tmp_path), "--json")
        assert outcome.code == 0, outcome.err
        judged = json.loads(outcome.out)
        assert [row["word"] for row in judged] == ["not run"] * rows
        for row in judged:
            network = row["claim"]["settings"][-1]["network"] if row["claim"]["settings"] else ""
            asked = [setting["network"] for setting in row["claim"]["settings"]]
            command = f"reslab reproduce {table} --only {','.join(asked)} data=FOLDER weights=FILE"
            assert row["command"] == (command if network else None)


def test_runs_on_other_images_are_told_of(reslab, tmp_path: Path) -> None:
    """With what judges them."""
    write_run(tmp_path, "resnet-20", data="toys", responses=False)
    told = reslab("reproduce", "table-8", "--from", str(tmp_path)).err
    assert "was trained on coco-2014, only on toys; add data=FOLDER to judge the runs on that folder" in told


def test_a_folder_of_objects_is_a_reduced_setting(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Context, refinement, several scales and three seeds together; judged again without training."""
    monkeypatch.setattr(estimate, "SECONDS", 0.02)

    def shrink(claim: Claim) -> Claim:
        asked = claim.measurement
        measurement = replace(asked, members=(SMALL,) * 3) if isinstance(asked, ByEnsemble) else asked
        settings = tuple(replace(setting, network=SMALL) for setting in claim.settings)
        return replace(claim, settings=settings, measurement=measurement)

    claims = [claim for claim in CLAIMS["table-9"] if "[.5,.95]" in claim.quantity and "VGG" not in claim.row]
    claims = [shrink(claim) for claim in claims if claim.published is not None]
    monkeypatch.setitem(CLAIMS, "table-9", tuple(claims))
    toys = write_voc(tmp_path / "toys", train=make_scenes("a", 4), val=make_scenes("b", 2))
    weights = save_model(build(find("resnet-18", THIN)), tmp_path / "thin.safetensors")
    words = ["reproduce", "table-9", f"data={toys}", "--runs", str(tmp_path / "runs"), "--json"]
    outcome = reslab(*words, f"weights={weights}", *SHORT)
    assert outcome.code == 0, outcome.err
    judged = json.loads(outcome.out)
    assert [row["word"] for row in judged] == ["reduced setting"] * len(claims)
    assert "without the paper's images: 4 and 2 images of toys instead" in judged[0]["remarks"]
    assert "started from thin.safetensors" in judged[0]["remarks"]
    assert "three seeds" in judged[-1]["remarks"]
    assert len(list((tmp_path / "runs").iterdir())) == 4
    again = reslab("reproduce", "table-9", "--from", str(tmp_path / "runs"), f"data={toys}", "--json")
    assert json.loads(again.out) == judged


def test_batch_norm_is_frozen_and_trained(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs, each timed on one image, and told with what is not known on a CPU; judged again without training."""
    monkeypatch.setattr(estimate, "SECONDS", 0.02)
    claims = [
        replace(claim, settings=tuple(replace(setting, network=SMALL) for setting in claim.settings))
        for claim in CLAIMS["norms"]
    ]
    monkeypatch.setitem(CLAIMS, "norms", tuple(claims))
    toys = write_voc(tmp_path / "toys", train=make_scenes("a", 4), val=make_scenes("b", 2))
    weights = save_model(build(find("resnet-18", THIN)), tmp_path / "thin.safetensors")
    words = ["reproduce", "norms", f"data={toys}", "--runs", str(tmp_path / "runs"), f"weights={weights}", *SHORT]
    assert "to measure: latency of resnet-18" in reslab(*words, "--dry-run").err
    outcome = reslab(*words, "--json")
    assert outcome.code == 0, outcome.err
    judged = json.loads(outcome.out)
    trials = {run: json.loads((run / "trial.json").read_text()) for run in (tmp_path / "runs").iterdir()}
    assert {trial["task"].get("norm", "frozen") for trial in trials.values()} == {"frozen", "trained"}
    for run, norm in ((run, trial["task"].get("norm", "frozen")) for run, trial in trials.items()):
        told = {row["claim"]["quantity"]: row for row in judged if row["claim"]["row"] == f"{norm} batch norm"}
        memory = told.pop("peak memory of training, GiB")
        assert (memory["word"], "only known on a GPU" in memory["remarks"]) == ("not run", True)
        assert {row["word"] for row in told.values()} == {"reduced setting"}
        assert {tuple(row["runs"]) for row in told.values()} == {(run.name,)}
        latency = json.loads((run / "analysis" / "latency.json").read_text())
        assert told["test of one image, ms"]["values"] == [latency["milliseconds"]]
        assert f"measured on {latency['device']}" in told["test of one image, ms"]["remarks"]
        assert told["training, ms per image"]["values"][0] > 0
    again = reslab("reproduce", "norms", "--from", str(tmp_path / "runs"), f"data={toys}", "--json")
    assert json.loads(again.out) == judged
