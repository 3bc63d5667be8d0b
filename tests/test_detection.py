"""Detection through the command line, end to end: train, kill, resume, evaluate, report."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from tests.cli import conftest
from tests.objects import make_scenes, write_coco

from reslab.report.records import read_records
from reslab.runs.directory import RunDirectory
from reslab.spec.detection import Detection

reslab = conftest.reslab  # the command line in this process, for these tests too

SIZES = ((96, 72), (72, 96))
THIN = [
    "network=resnet-18",
    "network.stem.width=8",
    *[f"network.stages.{stage}.width={width}" for stage, width in enumerate((8, 8, 16, 16))],
]
TASK = [
    *("task.shorter=64", "task.longest=96", "task.anchor_sides=[16,32]", "task.freeze=none", "task.norm=trained"),
    *("task.rpn_width=16", "task.proposals_train=40", "task.proposals_test=20", "task.proposal_side=4"),
    *("task.regions=16", "task.detections=10", "task.detection_score=0", "task.crossing_anchors=true"),
]
RECIPE = [
    *("recipe.iterations=6", "recipe.evaluate_every=2", "recipe.batch=2", "recipe.precision=fp32"),
    *("recipe.augmentation.scales=[0.75,1]", "recipe.optimizer.bias_rate=2", "recipe.optimizer.head_decay=10"),
]
WORDS = ["train", "data=coco", *THIN, *TASK, *RECIPE]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny dataset and of a run on it that nothing interrupted."""
    from reslab.cli import main

    torch.set_num_threads(1)  # as every test has it, which comes later
    root = tmp_path_factory.mktemp("detection")
    scenes = [make_scenes(name, count, seed=seed, sizes=SIZES) for name, count, seed in (("a", 6, 1), ("b", 4, 2))]
    write_coco(root / "coco", train=scenes[0], val=scenes[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        main(WORDS)
    return root


@pytest.fixture
def here(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a copy of both."""
    monkeypatch.chdir(shutil.copytree(trained, tmp_path / "here"))
    return Path.cwd()


def find_only(runs: Path) -> RunDirectory:
    (path,) = [trial.parent for trial in runs.glob("*/trial.json")]
    return RunDirectory(path)


def test_a_killed_run_ends_like_one_never_stopped(reslab, here: Path) -> None:
    """Killed without a word after its first evaluation; log and weights are the same to the bit."""
    words = [*WORDS, "--runs", "killed"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-m", "reslab", *words], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 120
        while not list(here.glob("killed/*/checkpoints/*2.safetensors")) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert reslab(*words).code == 0
    whole, killed = find_only(here / "runs"), find_only(here / "killed")
    assert len(killed.read("provenance")["sittings"]) == 2
    for name in ("metrics.jsonl", "weights.safetensors"):
        assert (killed.path / name).read_bytes() == (whole.path / name).read_bytes()


def test_a_run_says_how_it_ended_in_one_short_line(reslab, here: Path) -> None:
    """Both precisions, the first with its interval; logs have the four losses, and tests none."""
    result = find_only(here / "runs").result()
    low, high = result["map50_interval_percent"]
    line = f"test {result['map50_percent']:.2f} % mAP@.5 (95 % interval {low:.2f} to {high:.2f} %)"
    line += f", mAP@[.5,.95] {result['map50_95_percent']:.2f} %"
    printed = reslab(*WORDS).out.replace("\n", " ")
    assert printed.split("is finished: ")[1].strip() == line
    last = find_only(here / "runs").log()[-1]
    losses = {name for name in last if name.endswith("_loss")}
    parts = {f"train_{name}_loss" for name in ("rpn_class", "rpn_box", "roi_class", "roi_box")}
    assert losses == {"train_loss", *parts}
    assert sum(last[name] for name in parts) == pytest.approx(last["train_loss"], rel=1e-5)


def test_a_run_is_listed_shown_and_reported(reslab, here: Path) -> None:
    """Nothing in its records contradicts anything else; its page has the losses and the curves."""
    ((record,), damages) = read_records(here / "runs")
    assert damages == []
    assert record.points[-1].losses.keys() == {name for name in record.points[-1].values if name.endswith("_loss")}
    (row,) = json.loads(reslab("runs", "--json").out)
    assert (row["state"], row["map50_percent"]) == ("finished", record.test_score)
    assert "map50_percent" in reslab("runs", "show", record.id).out
    assert reslab("report").code == 0
    (page,) = (here / "runs" / "report" / "runs").glob("*.html")
    text = page.read_text(encoding="utf-8")
    assert all(words in text for words in ("rpn class", "Average precision of each class", "Precision and recall"))
    index = (here / "runs" / "report" / "index.html").read_text(encoding="utf-8")
    assert "Test mAP@.5 is measured on every test image" in index
    assert "training mAP" not in index  # which no detector has


@pytest.mark.parametrize("protocol", ["1-scale", "refined-several-scales"])
def test_a_run_is_evaluated_alone_and_with_itself(reslab, here: Path, protocol: str) -> None:
    """By its own protocol it scores what its result says; several scales are named."""
    run = find_only(here / "runs")
    outcome = reslab("evaluate", run.path.name, f"protocol={protocol}")
    assert outcome.code == 0, outcome.err
    assert ("several-scales at 21, " in " ".join(outcome.out.split())) == ("several" in protocol)
    assert "AP@[.5,.95] %" in outcome.out
    if protocol == "1-scale":
        found = json.loads(reslab("evaluate", run.path.name, str(run.path), "--json").out)
        assert found["members"][0]["map50_95_percent"] == pytest.approx(run.result()["map50_95_percent"])


def test_a_detector_goes_on_from_anothers_weights(reslab, here: Path) -> None:
    """As a detector of the same kind, whatever the fields leave open; a classifier cannot."""
    weights = f"weights={find_only(here / 'runs').weights}"
    short = ["recipe.iterations=1", "recipe.batch=2", "recipe.precision=fp32", "--runs", "others"]
    outcome = reslab("train", "data=coco", weights, "task.detections=5", *short)
    assert outcome.code == 0, outcome.err
    trial = find_only(here / "others").trial().task
    first = find_only(here / "runs").trial().task
    assert isinstance(trial, Detection)
    assert isinstance(first, Detection)
    assert (trial.anchor_sides, trial.detections, trial.shorter) == (first.anchor_sides, 5, first.shorter)
    other = reslab("train", "data=coco", weights, "task.anchor_sides=[16]", *short)
    assert other.code == 2
    assert "leave out task.anchor_sides" in " ".join(other.err.split())
    head = reslab("train", "data=coco", weights, "task.head=fpn", *short)
    assert head.code == 2
    assert 'were trained with task.head="c4"; leave out task.head' in " ".join(head.err.split())
    classifier = reslab("train", "data=digits", "network=cifar-resnet-8", weights, *short)
    assert classifier.code == 2
    assert "those of a detector" in " ".join(classifier.err.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["data=coco", "task.head=foo"], "task.head is 'foo'; choose c4 or fpn"),
        (["data=coco", "task.shorter=0"], "task.shorter is 0; it must be at least 1"),
        (["data=coco", "recipe.freeze=conv3"], "set task.freeze"),
        (["data=coco", "task=classification"], "coco is for detection"),
        (["data=digits", "network=cifar-resnet-8", "task=detection"], "digits is for classification"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(reslab, here: Path, words: list[str], said: str) -> None:
    """Which names the field, or the data, and what to do."""
    outcome = reslab("train", *words, "--runs", "refused")
    assert outcome.code == 2
    assert said in " ".join(outcome.err.split())
    assert not (here / "refused").exists() or not list((here / "refused").iterdir())
