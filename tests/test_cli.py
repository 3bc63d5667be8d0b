"""The command as a user runs it: a process of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.delivery.conftest import fill, make_network
from tests.runs_by_hand import CLASSES, SITTING, write_run

from reslab.cli import app
from reslab.networks import save_model

VERBS = [
    "analyze",
    "compare",
    "convert",
    "data",
    "demo",
    "describe",
    "draw",
    "embed",
    "evaluate",
    "export",
    "networks",
    "predict",
    "probe",
    "report",
    "reproduce",
    "runs",
    "train",
]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "reslab", *words], capture_output=True, text=True, check=False)


def test_the_verbs_are_frozen() -> None:
    """A new verb is a decision, not an accident."""
    assert sorted(name for name in app if not name.startswith("-")) == VERBS


def test_help_names_every_verb() -> None:
    """`reslab --help` and `--version` answer."""
    done = run("--help")
    assert done.returncode == 0
    assert all(verb in done.stdout for verb in VERBS)
    assert run("--version").stdout.strip()[0].isdigit()


def test_a_mistake_is_one_sentence() -> None:
    """Exit code 2 and no traceback, also for an unknown verb."""
    for words in (["describe", "resnt-50"], ["fly"]):
        done = run(*words)
        assert done.returncode == 2
        assert done.stderr.startswith("reslab: ")
        assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("words", ["networks", "networks --json", "--help"])
def test_a_closed_pipe_is_no_error(words: str) -> None:
    """`reslab networks | head -1` ends quietly and well, even if the reader is gone before the first line."""
    for reader in ("head -1", "true"):
        command = f"set -o pipefail; {sys.executable} -m reslab {words} | {reader}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_nothing_that_a_terminal_obeys_is_printed(tmp_path: Path) -> None:
    """From class names and words, folders, files that are no images, records by others; printed, warned of and told."""
    evil = "\x1b[31m\x07\x9b\u202e[red]:cat:\nreslab: well"
    network = make_network()
    network.class_names, network.class_words = (evil, "[bold]bees 漢"), {"[bold]bees 漢": evil}
    save_model(network, tmp_path / "mine.safetensors", provenance={evil: evil})
    folder = tmp_path / f"photos{evil}"
    fill(folder / "train" / evil, 3, bright=20, name=evil)
    fill(folder / "train" / "[bold]bees 漢", 3, bright=150)
    shutil.copytree(folder / "train", folder / "val")
    (folder / "val" / evil / f"bad{evil}.png").write_text("no image")
    run = write_run(tmp_path / "runs", classes=[evil, *CLASSES[1:]], name=f"run{evil}")
    run.write("provenance", {"sittings": [SITTING | dict.fromkeys(("command", "device", "commit", "started"), evil)]})
    run.write("result", run.result() | {evil: 1.5})
    mine, skip = str(tmp_path / "mine.safetensors"), "data.on_bad_image=skip"
    commands = [
        ["predict", mine, str(folder), skip],
        ["predict", mine, str(folder)],
        ["evaluate", mine, f"data={folder}", skip],
        ["export", mine, str(folder), skip, "--format", "torch-export", "--out", str(tmp_path / f"{evil}.pt2")],
        ["data", "check", str(folder)],
        ["runs", "--runs", str(tmp_path / "runs")],
        ["runs", "show", str(run.path), "--runs", str(tmp_path / "runs")],
        ["compare", str(run.path), str(run.path)],
        ["describe", evil],
        ["train", f"data={folder}", f"network={evil}"],
    ]
    script = "from reslab.cli import main\n" + "".join(
        f"try: main({words!r})\nexcept SystemExit: pass\n" for words in commands
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    for printed in (done.stdout, done.stderr):
        assert printed.replace("\n", "").isprintable()
        assert r"\x1b[31m\x07\x9b\u202e[red]:cat:" in printed
        assert "reslab: well" not in printed.splitlines()
    assert "[bold]bees 漢" in done.stdout
