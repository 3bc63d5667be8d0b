"""What verbs are told about trained networks and images: paths without permission, whatever they are given to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.closed import close

from reslab.cli.words import trained

W = "mine.safetensors"
LONG = "a" * 300


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["train", "network=cifar-resnet-8", "data=up/photos"], "up/photos"),
        (["evaluate", W, "data=up/photos"], "up/photos"),
        (["evaluate", "up/run"], "up/run"),
        (["predict", W, "up/photos"], "up/photos"),
        (["predict", W, "up/a.jpg"], "up/a.jpg"),
        (["predict", W, "up/a=1.jpg"], "up/a=1.jpg"),
        (["predict", W, "up"], "up"),
        (["predict", W, "."], "up"),
        (["export", W, "up", "--format", "torch-export"], "up"),
        (["embed", W, "up/photos", "--out", "x.safetensors"], "up/photos"),
        (["probe", W, "data=up/photos"], "up/photos"),
        (["data", "prepare", "imagenet", "up"], "up/train"),
        (["data", "check", "up/photos"], "up/photos"),
        (["runs", "--runs", "up"], "up"),
        (["runs", "--runs", "up/runs"], "up/runs"),
        (["report", "--runs", "up"], "up"),
    ],
)
def test_what_may_not_be_read_is_named(
    reslab, here: Path, words: list[str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one sentence, also where a folder above it is closed; nothing is taken for empty or for all there is."""
    (here / "up").mkdir()
    close(here / "up", monkeypatch)
    outcome = reslab(*words)
    assert outcome.code == 2
    told = outcome.err.splitlines()[-1]
    assert told.startswith(f"reslab: {named} ")
    assert "Permission denied; check its permissions" in told
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    "words",
    [
        ["data", "check", LONG],
        ["data", "shard", "photos", LONG],
        ["data", "fetch", "cifar10", "--source", LONG],
        ["predict", W, f"{LONG}.png"],
        ["evaluate", LONG],
        ["evaluate", W, f"data={LONG}"],
        ["train", "network=cifar-resnet-8", "--runs", LONG, "--dry-run"],
        ["train", LONG],
        ["runs", "--runs", LONG],
        ["report", "--out", LONG],
    ],
)
def test_a_name_that_is_too_long_is_one_sentence(reslab, here: Path, words: list[str]) -> None:
    """Wherever a path is given: 255 characters are the most that a name has."""
    outcome = reslab(*words)
    assert outcome.code == 2
    told = [line for line in outcome.err.splitlines() if line.startswith("reslab: ")]
    assert len(told) == 1
    assert LONG in told[0] or "there are no runs" in told[0]


@pytest.mark.parametrize("words", [["data", "shard", "photos", "loop"], ["data", "check", "loop/x"], ["train", "loop"]])
def test_links_in_a_circle_are_one_sentence(reslab, here: Path, words: list[str]) -> None:
    """They lead nowhere, which is said of what was given."""
    (here / "loop").symlink_to("loop")
    outcome = reslab(*words)
    assert outcome.code == 2
    assert "loop" in outcome.err.splitlines()[-1]


def test_a_folder_of_images_is_no_network(reslab, here: Path) -> None:
    """Where one is asked for, the sentence says how images are given."""
    assert "give a run or a weight file, and data=photos" in reslab("evaluate", "photos").err


def test_a_run_that_was_never_finished_makes_no_word_ambiguous(reslab, run: Path) -> None:
    """It has no weights that could be meant."""
    other = shutil.copytree(run, run.with_name(f"{run.name}-again"))
    words = ["evaluate", "cifar-resnet-8", "--runs", str(run.parent)]
    assert "matches 2 finished runs" in reslab(*words).err
    (other / "result.json").unlink()
    assert reslab(*words).code == 0


def test_beside_a_gpu_decoding_starts_early_for_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for datasets by name, and not where there is no GPU."""
    started: list[int] = []
    monkeypatch.setattr(trained.forkserver, "ensure_running", lambda: started.append(1))
    monkeypatch.setattr(trained, "GPU", tmp_path / "none")
    trained.start_workers(str(tmp_path))
    monkeypatch.setattr(trained, "GPU", tmp_path)
    for data in (None, "cifar10", str(tmp_path)):
        trained.start_workers(data)
    assert started == [1]
