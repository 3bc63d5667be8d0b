"""TAB completes verbs, flags, fields and names, without torch; in bash by the script that is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cyclopts.completion.detect import ShellDetectionError

from reslab.cli import app, completion, main
from reslab.cli.completion import DATASETS, install_completion, write_script
from reslab.data.catalogue import LOADERS
from reslab.errors import UserError
from reslab.spec import list_models

PROGRAM = f"#!/bin/sh\nexec '{sys.executable}' -m reslab \"$@\"\n"


def offer(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """What a shell is offered for the last of these words."""
    app(["__complete", *words], result_action="return_value")
    lines = capsys.readouterr().out.splitlines()
    return [line.split("\t")[0] for line in lines if line and not line.startswith("\x1f")]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with photographs, a recipe and two runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RESLAB_RUNS", "kept")
    for run in ("resnet-20-digits-0123", "plain-20-digits-4567"):
        (tmp_path / "kept" / run).mkdir(parents=True)
        (tmp_path / "kept" / run / "trial.json").write_text("{}")
    (tmp_path / "photos").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "mine.toml").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["train", "s"], ["seed="]),
        (["train", "m"], ["mine.toml"]),
        (["train", "recipe.bat"], ["recipe.batch="]),
        (["train", "recipe.optimizer.nest"], ["recipe.optimizer.nesterov="]),
        (["train", "recipe.channels_last="], ["recipe.channels_last=true", "recipe.channels_last=false"]),
        (["train", "recipe.precision=b"], ["recipe.precision=bf16"]),
        (["train", "network=lenet", "data=c"], ["data=cifar10", "data=cifar100"]),
        (["train", "data=p"], ["data=photos/"]),
        (["train", "recipe=m"], ["recipe=mine.toml"]),
        (["train", "recipe=cifar-paper-"], ["recipe=cifar-paper-110"]),
        (["train", "weights=res"], ["weights=resnet-20-digits-0123"]),
        (["train", "nothing=p"], []),
        (["train", "--runs", "k"], ["kept/"]),
        (["train", "--seeds", "p"], []),
        (["evaluate", "resnet-20-"], ["resnet-20-digits-0123"]),
        (["analyze", "respon"], ["responses"]),
        (["analyze", "responses", "resnet-20-"], ["resnet-20-digits-0123"]),
        (["analyze", "responses", "confid"], ["confidence="]),
        (["predict", "plain-20-digits-4567", "pho"], ["photos/"]),
        (["runs", "show", "pl"], ["plain-20-digits-4567"]),
        (["data", "check", "sv"], ["svhn"]),
        (["reproduce", "table-6", "fig-"], ["fig-4", "fig-1", "fig-6", "fig-7"]),
        (["reproduce", "table-6", "recipe.iter"], ["recipe.iterations="]),
        (["draw", "plain-1"], [name for name in list_models() if name.startswith("plain-1")]),
        (["describe", "nowhere/"], []),
    ],
    ids=str,
)  # fmt: skip
def test_words_are_completed(words: list[str], offered: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """By what they may become, and nothing else."""
    assert offer(capsys, *words) == offered


def test_datasets_are_those_there_are() -> None:
    """They are named twice, because the catalogue needs torch."""
    assert set(DATASETS) == set(LOADERS)


def test_completing_does_not_wait_for_torch() -> None:
    """Whatever is completed."""
    code = (
        "import sys; from reslab.cli import app\n"
        "for word in ('network=', 'data=', 'recipe.', 'weights=', 'resnet'):\n"
        "    for verb in ('train', 'evaluate'): app(['__complete', verb, word], result_action='return_value')\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize(
    ("line", "replies"),
    [
        ("reslab des", ["describe"]),
        ("reslab train --snap", ["--snapshots"]),
        ("reslab train network=resnet-1 data=photos recipe.precision=", ["fp32", "bf16", "fp16"]),
        ("reslab train data=digits network=lenet-", [name for name in list_models() if name.startswith("lenet-")]),
        ("reslab train data=p", ["photos/"]),
        ("reslab evaluate plain-20-d", ["plain-20-digits-4567"]),
    ],
)
def test_bash_takes_fields_for_words(line: str, replies: list[str], folder: Path) -> None:
    """Although it takes `=` for the end of one, and `data` before it for a verb."""
    words: list[str] = []
    for word in line.split(" "):
        field, equals, value = word.partition("=")
        words += [field, equals, *([value] if value else [])] if equals else [word]
    (folder / "completion.sh").write_text(write_script(app, "bash"))
    (folder / "reslab").write_text(PROGRAM)
    (folder / "reslab").chmod(0o755)
    quoted = " ".join(f"'{word}'" for word in words)
    script = (
        f". ./completion.sh; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; PATH=$PWD:$PATH\n"
        '_reslab_words; printf "%s\\n" "${COMPREPLY[@]}"; complete -p reslab'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    *offered, registered = done.stdout.split("\n")[:-1]
    assert (offered, done.stderr) == (replies, "")
    assert registered == "complete -o default -F _reslab_words reslab"


def test_it_is_installed_where_the_shell_looks(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`reslab --install-completion` writes the script and the line that loads it, and says where."""
    monkeypatch.setenv("HOME", str(folder))
    (folder / ".bashrc").write_text("# mine\n")
    kept: dict[str, Any] = {"result_action": "return_value", "exit_on_error": False}
    app(["--install-completion", "--shell", "bash"], **kept)
    script = folder / ".local/share/bash-completion/completions/reslab"
    assert "_reslab_words" in script.read_text()
    startup = (folder / ".bashrc").read_text()
    assert startup.startswith("# mine\n") and str(script) in startup
    assert str(script) in capsys.readouterr().out.replace("\n", "")


def test_a_file_of_ones_own_changes_no_startup(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--output FILE` writes the script there, and nothing else; nothing else is said."""
    monkeypatch.setenv("HOME", str(folder))
    (folder / ".bashrc").write_text("# mine\n")
    app(["--install-completion", "--shell", "bash", "--output", str(folder / "x.sh")], result_action="return_value")
    assert capsys.readouterr().out == f"wrote {folder}/x.sh; no startup file was changed\n"
    assert "_reslab_words" in (folder / "x.sh").read_text()
    assert (folder / ".bashrc").read_text() == "# mine\n"


def test_an_unknown_shell_is_asked_for(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As where a program starts it."""

    def fail() -> None:
        raise ShellDetectionError

    monkeypatch.setattr(completion, "detect_shell", fail)
    with pytest.raises(SystemExit):
        main(["--install-completion"])
    assert "the shell is unknown; add --shell bash, zsh, fish or powershell" in capsys.readouterr().err


def test_a_home_that_cannot_be_written_is_one_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the file, and what to do about it."""
    monkeypatch.setenv("HOME", str(folder / "mine.toml"))
    with pytest.raises(UserError, match=r"mine\.toml/\S+ cannot be written: Not a directory; .* --output FILE$"):
        install_completion(app, shell="bash")
