"""docs/inside/extending.md: each of its patches is applied to a copy of the source, and its commands run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.photographs import make_photos

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "inside" / "extending.md").read_text()
SECTIONS = {section.partition("\n")[0]: section for section in PAGE.split("\n## ")[1:]}
EXAMPLES = (
    "A network family",
    "A dataset",
    "An augmentation",
    "An evaluation protocol",
    "A verb",
    "A task",
)
MOST_FILES = 3
UNTOUCHED = {"report", "runs", "training"}  # what no new kind of thing needs to change
ONE_BY_ONE = """
import contextlib, io, json, sys
from reslab.cli import main

told = []
for words in json.load(sys.stdin):
    said, code = io.StringIO(), 0
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main(words)
        except SystemExit as stop:
            code = stop.code or 0
    told.append((code, said.getvalue()))
print(json.dumps(told))
"""
SHORT = ("recipe.iterations=100", "recipe.evaluate_every=50", "recipe.precision=fp32")


def find_block(section: str, kind: str) -> str:
    """Return the one fenced block of a kind."""
    (block,) = re.findall(rf"^```{kind}\n(.*?)^```$", SECTIONS[section], re.MULTILINE | re.DOTALL)
    return block


def mask(line: str) -> str:
    """Return a line without what hangs on the machine: numbers, what follows from them, and the width of columns."""
    line = re.sub(r"-[0-9a-f]{12}\b", "-ID", line)
    line = re.sub(r"(?<![\w-])-?\d[\d,.]*", "N", line)
    return " ".join(re.sub(r"\b(KiB|MiB|GiB|B)\b", "SIZE", line).split())


@dataclass(frozen=True)
class Copy:
    """A copy of the source in a folder, where commands run."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """What a command sees: the copy before any other source, and one thread, which always adds alike."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("RESLAB_")}
        return inherited | {"PYTHONPATH": str(self.folder / "src"), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start `reslab WORDS...`; what it prints, and what it tells beside, come as one."""
        return subprocess.Popen(
            [sys.executable, "-m", "reslab", *words],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str, code: int = 0) -> str:
        """Run `reslab WORDS...` to its end, which is to be `code`; return what it said."""
        process = self.start(*words)
        said, _ = process.communicate()
        assert process.returncode == code, said
        return said

    def run_all(self, commands: list[str]) -> list[tuple[int, str]]:
        """Run commands one after the other in one process, which starts once; return the code and words of each."""
        programs, words = zip(*[(line[0], line[1:]) for line in map(shlex.split, commands)], strict=True)
        assert set(programs) == {"reslab"}
        done = subprocess.run(
            [sys.executable, "-c", ONE_BY_ONE],
            input=json.dumps(words),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    def read(self, *words: str) -> Any:
        """Return what `reslab WORDS... --json` prints."""
        said = self.run(*words, "--json")
        return json.loads(said[re.search(r"^[\[{]", said, re.MULTILINE).start() :])  # pyright: ignore[reportOptionalMemberAccess]

    def find(self, pattern: str) -> Path:
        """Return the one file, or folder, that matches."""
        (found,) = self.folder.glob(pattern)
        return found

    def follow_page(self, section: str) -> None:
        """Run the commands of a section; each says what the page shows, up to numbers; `…` is whatever comes there."""
        commands = re.sub(r" \\\n +", " ", find_block(section, "console"))  # which may go on in the next line
        parts = [part.splitlines() for part in commands.split("$ ")[1:]]
        for (command, *shown), (code, said) in zip(parts, self.run_all([part[0] for part in parts]), strict=True):
            assert code == (2 if shown[0].startswith("reslab: ") else 0), said
            lines = [mask(line) for line in said.splitlines()]
            for line in shown:
                assert line == "…" or mask(line) in lines, f"{command} does not say {line!r}, but\n{said}"


def copy_source(folder: Path, section: str | None = None) -> Copy:
    """Copy the source to a folder, and apply the patch of a section to it."""
    folder.mkdir(exist_ok=True)
    shutil.copytree(ROOT / "src", folder / "src")  # what is compiled already, too
    if section:
        # Without a repository around it, whose other files git would leave alone.
        subprocess.run(
            ["git", "apply", "-"],
            input=find_block(section, "diff"),
            cwd=folder,
            env=os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent)},
            text=True,
            check=True,
        )
    return Copy(folder)


def test_the_page_has_six_examples() -> None:
    """Each is a section of its own."""
    assert tuple(SECTIONS) == EXAMPLES


@pytest.mark.parametrize("section", EXAMPLES)
def test_patches_are_small(section: str) -> None:
    """Each changes three files of the source at most, and none that are for every kind of thing."""
    files = re.findall(r"^diff --git a/(\S+) b/\1$", find_block(section, "diff"), re.MULTILINE)
    assert 1 <= len(files) <= MOST_FILES
    for file in files:
        source, package, room, *_ = Path(file).parts
        assert (source, package) == ("src", "reslab")
        assert room not in UNTOUCHED, file


def test_the_verb_is_one_file() -> None:
    """It stands in `cli`, and nothing else knows of it."""
    assert re.findall(r"^\+\+\+ b/(.*)$", find_block("A verb", "diff"), re.MULTILINE) == ["src/reslab/cli/best.py"]


@pytest.mark.slow
def test_a_network_family(tmp_path: Path) -> None:
    """It learns, is tested by every protocol, and its weights bring it back."""
    copy = copy_source(tmp_path / "copy", "A network family")
    copy.follow_page("A network family")
    result = json.loads(copy.find("runs/*/result.json").read_text())
    assert result["error_percent"] < 60
    assert copy.read("evaluate", "convmixer-8")["error_percent"] == pytest.approx(result["error_percent"])
    assert copy.read("evaluate", "convmixer-8", "protocol=multi-scale")["protocol"] == "multi-scale"
    assert "<svg" in (copy.folder / "convmixer-8.svg").read_text()
    assert "network.width is 0" in copy.run(
        "train", "data=digits", "network=convmixer-8", "network.width=0", "--dry-run", code=2
    )


@pytest.mark.slow
def test_a_dataset(tmp_path: Path) -> None:
    """It is listed, checked, trained on by its usual recipe, and the same each time it is made."""
    copy = copy_source(tmp_path / "copy", "A dataset")
    copy.follow_page("A dataset")
    trial = json.loads(copy.find("runs/*/trial.json").read_text())
    assert json.loads(copy.find("runs/*/result.json").read_text())["error_percent"] < 30
    checked = copy.read("data", "check", "stripes")
    assert checked["fingerprint"] == trial["data"]["fingerprint"]
    assert checked["classes"] == ["level", "upright", "falling", "rising"]


@pytest.mark.slow
def test_an_augmentation(tmp_path: Path) -> None:
    """What does not ask for it is as it was, to the id and the bit; where it would not be done, it is refused."""
    copy = copy_source(tmp_path / "copy", "An augmentation")
    copy.follow_page("An augmentation")
    before = copy_source(tmp_path / "before")
    before.run("train", "data=digits", "network=cifar-resnet-8", *SHORT)
    log = before.find("runs/*/metrics.jsonl")
    logs = {path.parent.name: path.read_bytes() for path in copy.folder.glob("runs/*/metrics.jsonl")}
    assert logs.pop(log.parent.name) == log.read_bytes()
    assert [other != log.read_bytes() for other in logs.values()] == [True]
    photos = make_photos(tmp_path / "photos")
    refused = copy.run("train", f"data={photos}", "network=resnet-18", "recipe.augmentation.contrast=0.5", code=2)
    assert "recipe.augmentation.contrast is 0.5, which is only for images of one size" in refused


@pytest.mark.slow
def test_an_evaluation_protocol(tmp_path: Path) -> None:
    """It gives errors of its own, better than chance, and stands among those to choose from."""
    copy = copy_source(tmp_path / "copy", "An evaluation protocol")
    copy.follow_page("An evaluation protocol")
    nine, one = (copy.read("evaluate", "cifar-resnet-8", f"protocol={name}") for name in ("9-crop", "1-crop"))
    assert (nine["protocol"], nine["images"], nine["shorter_sides"]) == ("9-crop", one["images"], [10])
    assert one["error_percent"] < nine["error_percent"] < 70


@pytest.mark.slow
def test_a_verb(tmp_path: Path) -> None:
    """It is in the help, and names the run with the lowest error."""
    copy = copy_source(tmp_path / "copy", "A verb")
    copy.follow_page("A verb")
    assert "Print the best run on each dataset." in copy.run("--help")
    errors = {
        path.parent.name: json.loads(path.read_text())["error_percent"]
        for path in copy.folder.glob("runs/*/result.json")
    }
    assert len(errors) == 2
    lowest = min(errors, key=errors.__getitem__)
    assert copy.read("best") == [{"data": "digits", "task": "classification", "id": lowest}]
    assert copy.read("best", "cifar10") == []


@pytest.mark.slow
def test_a_task(tmp_path: Path) -> None:
    """It learns, logs its own scores, and is tested, listed and reported by them."""
    copy = copy_source(tmp_path / "copy", "A task")
    copy.follow_page("A task")
    run = copy.find("runs/cifar*")
    log = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [point["step"] for point in log] == [50, 100, 150, 200]
    scores = {"train_loss", "train_right_percent", "test_loss", "test_right_percent"}
    assert log[-1].keys() == {"step", "images", "learning_rate"} | scores
    assert log[-1]["test_right_percent"] > 50 > log[0]["train_right_percent"]
    result = json.loads((run / "result.json").read_text())
    assert [score["name"] for score in result["scores"]] == ["right_percent", "loss"]
    assert result["class_names"] == ["0°", "90°", "180°", "270°"]
    assert copy.read("evaluate", run.name)["right_percent"] == pytest.approx(result["right_percent"])
    assert copy.read("evaluate", run.name, "protocol=10-crop")["images"] == 355
    (listed,) = copy.read("runs")
    assert listed["test_right_percent"] == result["right_percent"]
    for page in ("index.html", f"runs/{run.name}.html"):
        assert "turns told" in (copy.folder / "runs" / "report" / page).read_text().lower(), page


@pytest.mark.slow
def test_a_task_resumes(tmp_path: Path) -> None:
    """Interrupted and resumed, its training ends as it would have, to the bit."""
    copy = copy_source(tmp_path / "copy", "A task")
    words = ("train", "data=digits", "task=rotation", "network=cifar-resnet-8", "recipe.evaluate_every=20")
    words += ("recipe.iterations=200", "recipe.precision=fp32")
    process = copy.start(*words)
    while not list(copy.folder.glob("runs/*/metrics.jsonl")) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate()
    assert not list(copy.folder.glob("runs/*/result.json")), said
    copy.run(*words)
    copy.run(*words, "--runs", "whole")
    log, whole = copy.find("runs/*/metrics.jsonl"), copy.find("whole/*/metrics.jsonl")
    assert len(json.loads((log.parent / "provenance.json").read_text())["sittings"]) == 2
    assert log.read_bytes() == whole.read_bytes()


@pytest.mark.slow
def test_a_task_refuses_what_it_cannot_heed(tmp_path: Path) -> None:
    """Weights of classes it does not have, and mixed targets where it makes its own."""
    copy = copy_source(tmp_path / "copy", "A task")
    words = ("train", "task=rotation", "network=cifar-resnet-8")
    refused = copy.run(*words, "data=digits", "recipe.class_weights=balanced", code=2)
    assert "recipe.class_weights is balanced, but the task has no classes" in refused
    photos = make_photos(tmp_path / "photos")
    refused = copy.run(*words, f"data={photos}", "recipe.augmentation.mixup=0.2", code=2)
    assert "recipe.augmentation.mixup mixes targets, but this task makes its own targets" in refused
