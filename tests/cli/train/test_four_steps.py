"""Alternating training by one command: killed in its third step it goes on there, and ends as if it never was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.cli import conftest
from tests.objects import make_scenes, write_coco

from reslab.experiments.train import train
from reslab.networks import create_model, save_model
from reslab.runs.directory import RunDirectory, list_runs
from reslab.spec.detection import Detection
from reslab.training import loop

reslab = conftest.reslab

THIN: dict[str, Any] = {"stem.width": 8} | {
    f"stages.{stage}.{name}": value
    for stage, width in enumerate((8, 8, 16, 16))
    for name, value in (("width", width), ("blocks", 1))
}
FIELDS = dict(
    word.split("=")
    for word in (
        *("task.form=alternating", "task.shorter=64", "task.longest=96", "task.anchor_sides=[16,32]"),
        *("task.rpn_width=16", "task.proposal_side=4", "task.proposals_train=40", "task.proposals_test=20"),
        *("task.regions=16", "task.detections=10", "task.detection_score=0", "task.crossing_anchors=true"),
        *("recipe.iterations=2", "recipe.evaluate_every=1", "recipe.batch=2", "recipe.precision=fp32"),
    )
)
WEIGHTS = "classifier.safetensors"
WORDS = ["train", "data=coco", f"weights={WEIGHTS}", *(f"{name}={value}" for name, value in FIELDS.items())]


class Killed(BaseException):
    """What nothing in the program expects."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a tiny dataset and a classifier."""
    monkeypatch.chdir(tmp_path)
    sizes = ((96, 72), (72, 96))
    scenes = [make_scenes(name, count, seed=seed, sizes=sizes) for name, count, seed in (("a", 4, 1), ("b", 2, 2))]
    write_coco(tmp_path / "coco", train=scenes[0], val=scenes[1])
    torch.manual_seed(0)
    save_model(create_model("resnet-18", **THIN), WEIGHTS)
    return tmp_path


def kill_after(saves: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """End the program right after so many checkpoints."""
    save, done = loop.save_checkpoint, []

    def save_and_die(*given: object) -> Path:
        done.append(save(*given))  # pyright: ignore[reportArgumentType]
        if len(done) == saves:
            raise Killed
        return done[-1]

    monkeypatch.setattr(loop, "save_checkpoint", save_and_die)


def read_task(run: RunDirectory) -> Detection:
    task = run.trial().task
    assert isinstance(task, Detection)
    return task


def test_a_killed_chain_goes_on_where_it_was(
    reslab: Callable[..., conftest.Outcome], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In step 3, in the middle; logs and weights of every step are the same to the bit as in one call from Python."""
    last = train("coco", weights=WEIGHTS, fields=FIELDS, runs="whole", progress=False)
    with monkeypatch.context() as patch:
        kill_after(5, patch)
        with pytest.raises(Killed):
            reslab(*WORDS)
    assert sorted(run.state for run in list_runs(here / "runs")) == ["finished", "finished", "interrupted"]
    ready = reslab(*WORDS, "--dry-run")
    assert all(words in ready.out for words in ('trains = "proposals"', 'freeze = "shared"', "1 of them done"))
    rest = reslab(*WORDS)
    assert rest.code == 0, rest.err
    said = [f"step {number} of 4: {what}" for number, what in enumerate(("proposals", "regions") * 2, start=1)]
    assert [line for line in rest.err.splitlines() if line.startswith("step ")] == said
    assert rest.out.count("is finished: ") == 2
    runs = list_runs(here / "whole")
    assert len(runs) == len(list_runs(here / "runs")) == 4
    for run in runs:
        again, task = RunDirectory(here / "runs" / run.path.name), read_task(run)
        third = (task.trains, task.freeze) == ("proposals", "shared")
        assert len(again.read("provenance")["sittings"]) == 1 + third
        for name in ("metrics.jsonl", "weights.safetensors"):
            assert (run.path / name).read_bytes() == (again.path / name).read_bytes()
    ended = reslab(*WORDS, "--dry-run")
    assert not ended.out and f"all steps are finished; the detector is runs/{last.path.name}" in ended.err
    assert (read_task(last).trains, read_task(last).trunks) == ("regions", "shared")
    assert reslab("evaluate", last.path.name).code == 0


@pytest.mark.parametrize("option", [["--seeds", "2"], ["--processes", "2"], ["--find-rate"], ["trial.toml"]])
def test_it_is_for_one_seed_and_one_process(
    reslab: Callable[..., conftest.Outcome], option: list[str], here: Path
) -> None:
    """Refused in a sentence."""
    outcome = reslab(*WORDS, *option)
    assert outcome.code == 2
    assert "task.form trains one seed in one process; leave out --seeds, --processes" in " ".join(outcome.err.split())
