"""The committed records are whole, are what their names say, and say what README tells first."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from tools.collect import read_files

from reslab.cli import main
from reslab.paper.claims import CLAIMS
from reslab.report.groups import group_runs, spread
from reslab.report.notation import spread_words
from reslab.report.records import RunRecord, read_records
from reslab.report.verdicts import judge
from reslab.runs.directory import RunDirectory, list_runs

RESULTS = Path(__file__).parent.parent / "results"
RUNS = list_runs(RESULTS)
LARGEST_RECORD = 500_000


@functools.cache
def read_all() -> dict[str, RunRecord]:
    records, damages = read_records(RESULTS)
    assert not damages
    return {record.id: record for record in records}


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.path.name)
def test_a_record_is_whole(run: RunDirectory) -> None:
    """Finished, named after its trial, with the commit and machine it came from; its error the last one logged.

    Unless its normalizations were given new statistics after that.
    """
    assert run.state == "finished"
    assert run.trial().id == run.path.name
    record = read_all()[run.path.name]
    for sitting in record.sittings:
        assert sitting.commit
        assert sitting.device
        assert sitting.command.startswith("reslab ")
    assert record.points[-1].step == run.trial().recipe.iterations
    result = run.result()
    confusion = np.array(result["confusion"])
    counted = 100 * (1 - np.trace(confusion) / confusion.sum())
    for name in ("error_percent", "test_error_percent"):
        assert result[name] == pytest.approx(counted)
    if not run.trial().recipe.exact_norms:
        assert result["test_error_percent"] == record.points[-1].values["test_error_percent"]
    files = {path.relative_to(run.path).as_posix(): path for path in run.path.rglob("*") if path.is_file()}
    assert files.keys() == read_files(run).keys()
    assert sum(path.stat().st_size for path in files.values()) < LARGEST_RECORD


def test_what_is_reproduced() -> None:
    """Degradation and its cure, in training and test error; all orders of Fig. 7; five rows of Table 6."""
    orders = [claim for table in ("fig-1", "fig-6", "fig-7") for claim in CLAIMS[table] if len(claim.settings) > 1]
    rows = [claim for claim in CLAIMS["table-6"] if claim.row in {f"ResNet-{depth}" for depth in (20, 32, 44, 56, 110)}]
    claims = [claim for claim in (*orders, *rows) if "resnet-1202" not in claim.row]
    assert len(claims) == 14
    assert [verdict.word for verdict in judge(claims, list(read_all().values()))] == ["reproduced"] * 14


@pytest.mark.parametrize(
    "label",
    [
        "resnet-56",
        "resnet-20 accumulate=2",
        "resnet-32 accumulate=2",
        "resnet-44 accumulate=2",
        "resnet-56 accumulate=2",
        "resnet-110 accumulate=2",
        "plain-20 accumulate=2",
        "plain-32 accumulate=2",
        "plain-44 accumulate=2",
        "plain-56 accumulate=2",
        "resnet-110",
        "resnet-110 precision=bf16",
        "plain-56 iterations=32000 schedule.drops=[] exact_norms=true",
    ],
)
def test_means_quoted_in_prose_are_the_records(label: str) -> None:
    """What the page on differences says of settings that no table has."""
    (group,) = [group for group in group_runs(list(read_all().values())) if group.label == label]
    page = (RESULTS.parent / "docs" / "paper" / "differences.md").read_text(encoding="utf-8")
    prose = " ".join(page.partition("Why, as far as we know")[2].split())
    assert f" {spread_words(spread([run.test_score for run in group.finished]))}" in prose


@pytest.mark.parametrize("label", ["resnet-56", "resnet-56 accumulate=2", "resnet-110", "resnet-110 precision=bf16"])
def test_means_quoted_in_how_tos_are_the_records(label: str) -> None:
    """What the page on speed says of precision and of batches in parts."""
    (group,) = [group for group in group_runs(list(read_all().values())) if group.label == label]
    page = (RESULTS.parent / "docs" / "how-to" / "speed.md").read_text(encoding="utf-8")
    assert spread_words(spread([run.test_score for run in group.finished])) in page


def test_the_readmes_first_table_is_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """`reslab reproduce table-6 --from results` prints those cells, and its JSON names the runs behind each number."""
    readme = (RESULTS.parent / "README.md").read_text(encoding="utf-8")
    block = readme.partition("<!-- table-6: make results -->")[2].partition("<!-- end of table-6 -->")[0]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in block.splitlines() if line[:2] == "| "]
    rows = {row[0]: row for row in cells if row[0]}
    main(["reproduce", "table-6", "--from", str(RESULTS)])
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    for row in rows.values():
        assert " ".join(row).split() in printed
    main(["reproduce", "table-6", "--from", str(RESULTS), "--json"])
    trained = {judged["claim"]["row"]: judged for judged in json.loads(capsys.readouterr().out) if judged["runs"]}
    assert trained.keys() == rows.keys()
    for name, judged in trained.items():
        for cell in judged["settings"]:
            for value, run_id in zip(cell["values"], cell["runs"], strict=True):
                (run,) = [run for run in RUNS if run.path.name == run_id]
                assert run.result()["error_percent"] == value
        assert rows[name][4] == str(len(judged["runs"]))


def test_the_readme_shows_whole_settings_first() -> None:
    """What was shortened comes after everything that was trained as in the paper."""
    readme = (RESULTS.parent / "README.md").read_text(encoding="utf-8")
    assert readme.index("| reproduced |") < readme.index("<details>") < readme.index("| reduced setting |")
    assert "| reproduced |" not in readme.partition("<details>")[2].partition("</details>")[0]
