"""The command as a user runs it: a process of its own."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.delivery.conftest import fill, make_network
from tests.runs_by_hand import CLASSES, SITTING, write_run

from reslab.cli import app, main, networks
from reslab.networks import save_model
from reslab.runs.directory import list_runs

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
    "weights",
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


def test_ctrl_c_is_confirmed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever it comes before there is anything to save."""

    def stop(verb: str | None) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(networks, "list_models", stop)
    with pytest.raises(SystemExit) as end:
        main(["networks"])
    assert (end.value.code, capsys.readouterr().err) == (130, "reslab: stopped\n")


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


def test_another_broken_pipe_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not output that nobody reads: a process that died."""

    def fail(verb: str | None) -> object:
        raise BrokenPipeError

    monkeypatch.setattr(networks, "list_models", fail)
    with pytest.raises(BrokenPipeError):
        main(["networks"])


@pytest.mark.slow
def test_a_closed_pipe_ends_no_training(tmp_path: Path) -> None:
    """`reslab train … | head -1`, and where nobody reads what goes to standard error either."""
    fields = "network=cifar-resnet-8 recipe.iterations=4 recipe.evaluate_every=2 recipe.batch=8"
    command = f"set -o pipefail; {sys.executable} -m reslab train {fields} --runs {tmp_path} 2>&1 | head -1"
    assert subprocess.run(["bash", "-c", command], capture_output=True, check=False).returncode == 0
    (run,) = list_runs(tmp_path)
    assert run.state == "finished"


@pytest.mark.parametrize(
    ("where", "code", "told"),
    [
        (">&-", 0, ""),
        (">&- 2>&-", 0, ""),
        ("> /dev/full", 2, "reslab: the output could not be written: No space left on device; send it elsewhere\n"),
    ],
)
def test_output_that_goes_nowhere_is_no_traceback(where: str, code: int, told: str) -> None:
    """Closed, or full; in one sentence if in any."""
    command = f"{sys.executable} -m reslab networks --json {where}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, told)


def test_output_need_not_be_utf_8() -> None:
    """What the encoding does not have becomes a question mark."""
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    words = [sys.executable, "-m", "reslab", "data", "check", "ünknown"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("reslab: ")
    assert "?nknown" in done.stderr


def test_closed_input_is_no_traceback() -> None:
    """There is nothing on it."""
    script = f"{sys.executable} -m reslab predict resnet-20 - weights=cifar10 <&-"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "reslab: predict needs an image" in done.stderr


def test_input_need_not_be_utf_8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names on standard input are bytes, and end where their lines end."""
    fill(tmp_path, 1, bright=90)
    save_model(make_network(), tmp_path / "mine.safetensors")
    monkeypatch.chdir(tmp_path)
    names = [b"caf\xe9.png", "a\u2028b\x0b.png".encode()]
    for name in names:
        shutil.copy("photo-0.png", os.fsdecode(name))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n".join(names)), encoding="utf-8"))
    main(["predict", "mine.safetensors", "-", "--json"])
    assert [one["image"] for one in json.loads(capsys.readouterr().out)] == [os.fsdecode(name) for name in names]


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


@pytest.mark.parametrize(("words", "code"), [(["networks", "resnet-18"], 0), (["networks", "--no"], 2)])
def test_one_of_several_processes_ends_at_once(words: list[str], code: int) -> None:
    """With its code and all it had to say; what would be done at an orderly end is not."""
    script = "import atexit, sys; atexit.register(print, 'at the end'); from reslab.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", script, *words]
    for shared, ends in ({}, True), ({"WORLD_SIZE": "2"}, False):
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | shared)
        assert done.returncode == code
        assert ("resnet-18" in done.stdout) == (code == 0) and ("reslab:" in done.stderr) == (code == 2)
        assert ("at the end" in done.stdout) == ends
