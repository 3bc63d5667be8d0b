"""Words become subjects and fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from reslab.cli.words.subjects import read_spec, runs_root, take_count, writable_root
from reslab.errors import UserError
from reslab.files import LOCK, write_text
from reslab.networks import create_model, save_model
from reslab.spec import find


def test_what_a_killed_report_left_goes_before_runs_are_written(tmp_path: Path) -> None:
    """The folder for runs is where reports are built."""
    write_text(tmp_path / ".report.a1b2c3d4.partial" / LOCK, "")
    assert writable_root(tmp_path) == tmp_path
    assert not list(tmp_path.iterdir())


def test_quoted_names_bring_their_fields() -> None:
    """Their own fields win over those for all."""
    assert read_spec("resnet-34 shortcut=C", {"shortcut": "B"}) == find("resnet-34", {"shortcut": "C"})


@pytest.mark.parametrize(
    ("subject", "fields", "sentence"),
    [
        ("resnet-34 resnet-50", {}, "names two things"),
        ("resnet-50", {"weights": ""}, "is not a network's name and a file"),
        ("x.pth", {"weights": "y.pth"}, "is not a network's name and a file"),
        ("x" * 5000, {}, "there is no network"),
    ],
)
def test_words_are_never_dropped(subject: str, fields: dict[str, str], sentence: str) -> None:
    """What cannot be meant is told."""
    with pytest.raises(UserError, match=sentence):
        read_spec(subject, fields)


def test_a_file_refuses_what_contradicts_it(tmp_path: Path) -> None:
    """Fields beside a weight file follow `load_model`'s rule, quoted or not."""
    path = save_model(create_model("resnet-50-v1.5"), tmp_path)
    with pytest.raises(UserError, match="contradicts"):
        read_spec(str(path), {"stride_in": "1x1"})
    assert read_spec(f"{path} checkpointing=true", {}).checkpointing  # pyright: ignore[reportAttributeAccessIssue]
    assert read_spec(f"resnet-50 weights={path}", {}) == find("resnet-50-v1.5")


def test_counts_are_positive() -> None:
    """And are taken out of the fields."""
    fields = {"batch": "8"}
    assert take_count(fields, "batch", 1) == 8
    assert fields == {}
    for text in ("0", "-1", "2.5", "x", "²", "99999999999999999999"):
        with pytest.raises(UserError, match="batch"):
            take_count({"batch": text}, "batch", 1)


def test_a_file_is_no_folder_for_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever names it."""
    (tmp_path / "trial.toml").touch()
    with pytest.raises(UserError, match=r"trial\.toml is a file, not a folder for runs; give --runs a folder"):
        runs_root(tmp_path / "trial.toml")
    monkeypatch.setenv("RESLAB_RUNS", str(tmp_path / "trial.toml"))
    with pytest.raises(UserError, match="a file, not a folder for runs; give --runs a folder"):
        writable_root(None)


def test_a_folder_for_runs_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that can be made is not made yet; one that has runs may have all that is asked, and is not refused."""
    assert writable_root(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    assert not list(tmp_path.iterdir())
    with pytest.raises(UserError, match=r"cannot write /proc/x: .*; choose a writable place"):
        writable_root(Path("/proc/x"))
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cannot write .*/runs: Not a directory"):
        writable_root(tmp_path / "file" / "runs")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "trial.json").touch()
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: pytest.fail("it was tried"))
    assert writable_root(tmp_path) == tmp_path


@pytest.mark.parametrize("words", [["train", "network=resnet-20"], ["reproduce", "table-6"], ["demo"]])
def test_who_writes_runs_says_at_once_that_it_cannot(words: list[str], reslab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before data is loaded or a step timed."""
    for name in ("catalogue.open_data", "catalogue.load_dataset", "arrays.digits.load_digits"):
        monkeypatch.setattr(f"reslab.data.{name}", lambda *_, **__: pytest.fail("it was loaded"))
    outcome = reslab(*words, "--runs", "/proc/x")
    assert outcome.code == 2
    assert "cannot write /proc/x: " in outcome.err
