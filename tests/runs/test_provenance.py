"""What a run says of its surroundings, against what they are."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import PIL
import pytest
import torch
from benchmarks.record import describe_machine

import reslab
from reslab.experiments.costs import describe_device
from reslab.runs.provenance import PACKAGES, describe_surroundings, name_device

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture(autouse=True)
def own_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No checkout above the test's folder, no settings of whoever runs it, no commit that the environment names."""
    for name in ("RESLAB_COMMIT", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
    return subprocess.run(["git", "-C", folder, *who, *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder from which the package is imported, as far as it knows; nothing of it is in git."""
    source = tmp_path / "src" / "reslab" / "__init__.py"
    source.parent.mkdir(parents=True)
    source.write_text("")
    monkeypatch.setattr(reslab, "__file__", str(source))
    return tmp_path


@pytest.fixture
def checkout(copy: Path) -> str:
    """The same as a checkout of one commit, which is returned."""
    git(copy, "init", "-q")
    git(copy, "add", "-A")
    git(copy, "commit", "-qm", "first")
    return git(copy, "rev-parse", "HEAD").strip()


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["/usr/local/bin/reslab", "train", "recipe.batch=64"], "reslab train recipe.batch=64"),
        (["/somewhere/reslab/__main__.py", "runs"], "reslab runs"),
        (["reslab", "train", "data=my photos", "--note=it's"], "reslab train 'data=my photos' '--note=it'\"'\"'s'"),
        (["tools/ship.py"], "ship.py"),
    ],
)
def test_the_command_can_be_typed_again(words: list[str], command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the place where the program lies; what a shell would take apart is quoted."""
    monkeypatch.setattr("sys.argv", words)
    assert describe_surroundings()["command"] == command


def test_the_start_is_now_in_universal_time() -> None:
    """To the second."""
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    started = datetime.datetime.fromisoformat(describe_surroundings()["started"])
    assert before <= started <= datetime.datetime.now(datetime.UTC)
    assert started.utcoffset() == datetime.timedelta(0)
    assert started.microsecond == 0


@needs_git
def test_the_commit_is_the_checkouts(checkout: str, copy: Path) -> None:
    """Whole, though a tag names it; files that git does not know change nothing."""
    assert len(checkout) == 40
    assert describe_surroundings()["commit"] == checkout
    git(copy, "tag", "-am", "a tag", "v1")
    (copy / "notes.txt").write_text("mine")
    assert describe_surroundings()["commit"] == checkout


@needs_git
@pytest.mark.parametrize("staged", [False, True])
def test_a_changed_checkout_is_marked(staged: bool, checkout: str, copy: Path) -> None:
    """What ran is not what the commit has; once it is committed there is another one, without a mark."""
    (copy / "src" / "reslab" / "__init__.py").write_text("changed = True")
    if staged:
        git(copy, "add", "-A")
    assert describe_surroundings()["commit"] == f"{checkout}-dirty"
    git(copy, "commit", "-qam", "second")
    second = describe_surroundings()["commit"]
    assert second == git(copy, "rev-parse", "HEAD").strip() != checkout


@needs_git
def test_the_environment_names_the_commit_of_a_copy(checkout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is believed, in a checkout too; empty it says nothing."""
    monkeypatch.setenv("RESLAB_COMMIT", "0123abc")
    assert describe_surroundings()["commit"] == "0123abc"
    monkeypatch.setenv("RESLAB_COMMIT", "")
    assert describe_surroundings()["commit"] == checkout


@needs_git
def test_outside_a_checkout_there_is_no_commit(copy: Path) -> None:
    """Nor in one that has none yet."""
    assert describe_surroundings()["commit"] == ""
    git(copy, "init", "-q")
    assert describe_surroundings()["commit"] == ""


def test_without_git_there_is_no_commit(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing on the path goes by that name."""
    monkeypatch.setenv("PATH", str(copy))
    assert describe_surroundings()["commit"] == ""


def test_a_git_that_does_not_answer_is_not_waited_for(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a network's drive that is gone."""

    def hang(command: list[str], *, timeout: float, **options: object) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    assert describe_surroundings()["commit"] == ""


def test_versions_are_those_that_run() -> None:
    """Ours, Python's and every package's that is here."""
    versions = describe_surroundings()["versions"]
    assert (versions["reslab"], versions["numpy"]) == (reslab.__version__, np.__version__)
    assert versions["python"] == platform.python_version()
    assert versions["pillow"] == PIL.__version__
    assert {"torch", "safetensors", "simplejpeg"} <= versions.keys() <= {"reslab", "python", *PACKAGES}


def test_what_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are told all the same."""
    real = importlib.metadata.version

    def find(package: str) -> str:
        if package in ("torchvision", "simplejpeg", "tensorboard"):
            raise importlib.metadata.PackageNotFoundError(package)
        return real(package)

    monkeypatch.setattr(importlib.metadata, "version", find)
    found = list(describe_surroundings()["versions"])
    assert found == ["reslab", "python", "torch", "numpy", "pillow", "safetensors"]


CPUINFO = "processor\t: 0\nmodel name\t: A Fast One: 3 GHz\n\nprocessor\t: 1\nmodel name\t: Another\n"


@pytest.mark.parametrize(
    ("cpuinfo", "processor"), [(CPUINFO, "A Fast One: 3 GHz"), ("processor\t: 0\n", "m1"), (None, "m1")]
)
def test_the_processor_is_the_systems_word(
    cpuinfo: str | None, processor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux tells in a file, but not of every kind; elsewhere Python is asked."""
    real = Path.read_text

    def read(path: Path, *words: str, **options: str) -> str:
        if str(path) != "/proc/cpuinfo":
            return real(path, *words, **options)
        if cpuinfo is None:
            raise FileNotFoundError(path)
        return cpuinfo

    monkeypatch.setattr(Path, "read_text", read)
    monkeypatch.setattr(platform, "processor", lambda: "m1")
    machine = describe_surroundings()["machine"]
    assert machine["processor"] == name_device("cpu") == processor
    assert machine["cores"] >= 1
    assert platform.system() in machine["system"]


def test_devices_go_by_one_name_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """In what benchmarks and Table 1 say too; a GPU by the name its maker gave it, of several the one that is meant."""
    threads = f"{name_device('cpu')}, {torch.get_num_threads()} threads"
    assert (describe_device("cpu"), describe_machine("cpu").split(", ")[0]) == (threads, name_device("cpu"))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"GPU for {device}")
    assert name_device("cuda:1") == describe_device("cuda:1") == "GPU for cuda:1"
    assert describe_machine("cuda").startswith("GPU for cuda, ")


def test_all_of_it_is_plain_data() -> None:
    """As it is written into a run."""
    surroundings = describe_surroundings()
    assert json.loads(json.dumps(surroundings)) == surroundings
    assert list(surroundings) == ["command", "started", "commit", "versions", "machine"]
