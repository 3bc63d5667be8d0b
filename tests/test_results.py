"""The committed records are whole, are what their names say, and read as the docs tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from reslab.paper.claims import CLAIMS
from reslab.report.records import read_records
from reslab.report.verdicts import judge
from reslab.runs.directory import RunDirectory, list_runs

RESULTS = Path(__file__).parent.parent / "results"
RUNS = [run for folder in sorted(RESULTS.iterdir()) if folder.is_dir() for run in list_runs(folder)]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.path.name)
def test_a_record_is_whole(run: RunDirectory) -> None:
    """Finished, named after its trial, with the commit and machine it came from; its error is the last one logged."""
    assert run.state == "finished"
    assert run.trial().id == run.path.name
    records, damages = read_records(run.path.parent)
    assert not damages
    (record,) = [record for record in records if record.id == run.path.name]
    for sitting in record.sittings:
        assert sitting.commit
        assert sitting.device
        assert sitting.command.startswith("reslab ")
    assert record.points[-1].step == run.trial().recipe.iterations
    assert record.points[-1].test_error_percent == record.test_error_percent


def test_degradation_is_reproduced() -> None:
    """Fig. 1's two orders, and ResNet-20's row of Table 6."""
    claims = [*CLAIMS["fig-1"][:2], *[claim for claim in CLAIMS["table-6"] if claim.row == "ResNet-20"]]
    assert [verdict.word for verdict in judge(claims, RUNS)] == ["reproduced"] * 3


def test_the_readme_tells_them() -> None:
    """Its table has the verdicts' numbers."""
    readme = (RESULTS.parent / "README.md").read_text()
    order, tested = judge(CLAIMS["fig-1"][:2], RUNS)
    (row,) = judge([claim for claim in CLAIMS["table-6"] if claim.row == "ResNet-20"], RUNS)
    assert f"| ResNet-20, test error % | {row.mean:.2f} | {row.claim.published:g} | {row.word} |" in readme
    for verdict in (order, tested):
        assert " → ".join(f"{value:.2f}" for value in verdict.values) in readme
