"""Files are parsed once; what could not be read is tried again."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.runs_by_hand import write_run

from reslab.errors import UserError
from reslab.runs.log import StepLog
from reslab.runs.read_once import ReadOnce


def test_what_was_read_is_remembered(tmp_path: Path) -> None:
    """The same, and as it was; a run that is read anew has what came since."""
    written = write_run(tmp_path)
    run = ReadOnce(written.path)
    assert run.trial() == written.trial()
    result, log = run.result(), run.log(strict=True)
    assert (result, log) == (written.result(), written.log())
    written.write("result", {"step": 1})
    StepLog(run.path / "metrics.jsonl").append({"step": 99_999_999})
    assert run.result() is result
    assert run.log() is log
    assert ReadOnce(run.path).result() == {"step": 1}
    assert len(ReadOnce(run.path).log()) == len(log) + 1


def test_what_cannot_be_read_is_told_each_time(tmp_path: Path) -> None:
    """A log with a bad line is read, but never passes as strictly read; a file that is mended is read."""
    run = ReadOnce(write_run(tmp_path).path)
    text = (run.path / "metrics.jsonl").read_text()
    (run.path / "metrics.jsonl").write_text(f"nonsense\n{text}")
    (run.path / "result.json").write_text("{")
    for _ in range(2):
        assert len(run.log()) == len(text.splitlines())
        with pytest.raises(UserError, match="a line that cannot be read"):
            run.log(strict=True)
        with pytest.raises(UserError, match=r"result\.json cannot be read"):
            run.result()
    (run.path / "result.json").write_text("{}")
    assert run.result() == {}
