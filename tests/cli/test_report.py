"""`reslab report`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.runs_by_hand import write_run


def test_the_site_lies_among_the_runs(reslab, tmp_path: Path) -> None:
    """Its first page is named; the runs' listing does not take it for a run."""
    write_run(tmp_path)
    outcome = reslab("report", "--runs", str(tmp_path))
    assert outcome.code == 0, outcome.err
    assert f"1 run: wrote {tmp_path}/report/index.html" in outcome.out
    assert "2 runs" not in reslab("report", "--runs", str(tmp_path)).out
    assert "report" not in reslab("runs", "--runs", str(tmp_path), "--json").out


def test_places_can_be_chosen(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RESLAB_RUNS says where runs are, --out where the site goes."""
    write_run(tmp_path / "here")
    monkeypatch.setenv("RESLAB_RUNS", str(tmp_path / "here"))
    assert reslab("report", "--out", str(tmp_path / "site")).code == 0
    assert (tmp_path / "site" / "index.html").exists()
    assert not (tmp_path / "here" / "report").exists()


def test_no_runs_is_a_sentence(reslab, tmp_path: Path) -> None:
    """Exit code 2, the folder, the remedy; no site is begun."""
    outcome = reslab("report", "--runs", str(tmp_path / "none"))
    assert outcome.code == 2
    assert "there are no runs in" in outcome.err
    assert "`reslab train`" in outcome.err
    assert not (tmp_path / "none").exists()


def test_damage_is_told_and_survived(reslab, tmp_path: Path) -> None:
    """A warning beside the good runs; with none left, exit code 2."""
    bad = write_run(tmp_path, seed=1)
    (bad.path / "result.json").write_text("{")
    outcome = reslab("report", "--runs", str(tmp_path))
    assert outcome.code == 2
    assert bad.path.name in outcome.err
    write_run(tmp_path, seed=2)
    outcome = reslab("report", "--runs", str(tmp_path))
    assert outcome.code == 0
    assert f"warning: {bad.path.name}: " in outcome.err
    assert bad.path.name in (tmp_path / "report" / "index.html").read_text()


def test_a_report_needs_no_torch(tmp_path: Path) -> None:
    """On a machine that has none."""
    write_run(tmp_path)
    words = ["report", "--runs", str(tmp_path)]
    script = f"import sys; sys.modules['torch'] = None\nfrom reslab.cli import main; main({words})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "wrote" in done.stdout
