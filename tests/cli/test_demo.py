"""`reslab demo`."""

from __future__ import annotations

from pathlib import Path

import pytest

from reslab.experiments import degradation, estimate
from reslab.spec.recipe import RECIPES, find_recipe


def test_the_demo_trains_and_judges(reslab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Six networks (shallow and short here), their errors and a verdict; a second time nothing is trained."""
    monkeypatch.setattr(degradation, "DEPTHS", (8, 14, 20))
    monkeypatch.setitem(RECIPES, "digits", find_recipe("digits", {"iterations": 4, "batch": 16, "evaluate_every": 4}))
    outcome = reslab("demo", "--runs", str(tmp_path))
    assert outcome.code == 0, outcome.err
    for name in ("plain-8", "plain-14", "plain-20", "resnet-8", "resnet-14", "resnet-20"):
        assert name in outcome.out
        assert f"{name}: step 4 of 4: loss" in outcome.err  # there is no terminal
    assert "plain: training error" in outcome.out
    assert "residual: training error" in outcome.out
    assert "reduced setting" in outcome.out.lower()
    assert "residual against plain: mean response" in outcome.out
    assert "residual: mean response" in outcome.out
    assert len(list(tmp_path.glob("*/result.json"))) == len(list(tmp_path.glob("*/analysis/responses.json"))) == 6
    written = [path.stat().st_mtime_ns for path in sorted(tmp_path.glob("*/result.json"))]
    assert reslab("demo", "--runs", str(tmp_path)).code == 0
    assert [path.stat().st_mtime_ns for path in sorted(tmp_path.glob("*/result.json"))] == written


def test_a_dry_run_trains_nothing(reslab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It lists the six networks and how long they take."""
    monkeypatch.setattr(degradation, "DEPTHS", (8, 14, 20))
    monkeypatch.setattr(estimate, "SECONDS", 0.02)
    outcome = reslab("demo", "--dry-run", "--runs", str(tmp_path / "runs"))
    assert (outcome.code, outcome.out.count(" new")) == (0, 6)
    assert "to run: 6 on" in outcome.err and "one after the other" in outcome.err
    assert not (tmp_path / "runs").exists()
