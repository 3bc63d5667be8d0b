"""The command as a user runs it: a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from reslab.cli import app

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
