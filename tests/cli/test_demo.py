"""`reslab demo`."""

from __future__ import annotations

from reslab.cli import demo


def test_the_demo_counts_and_times(reslab, monkeypatch) -> None:
    """Counts beside the published ones, then images a second (two small networks here)."""
    monkeypatch.setattr(demo, "TIMED", {"resnet-20": 2, "plain-20": 2})
    monkeypatch.setattr(demo, "TABLE_6", demo.TABLE_6[5:8])
    outcome = reslab("demo")
    assert outcome.code == 0
    row = next(line.split() for line in outcome.out.splitlines() if line.startswith("resnet-20"))
    assert row == ["resnet-20", "269,722", "0.27M", "40,551,040"]
    assert "11,282,415,616" in outcome.out
    assert "x" in outcome.out.splitlines()[-4]
