"""`reslab analyze`, end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def test_responses_are_printed_and_kept(reslab, run: Path) -> None:
    """Original order with ranks; JSON and the kept file agree; several subjects at once."""
    outcome = reslab("analyze", run.name, "--runs", str(run.parent))
    assert outcome.code == 0, outcome.err
    rows = [line.split() for line in outcome.out.splitlines() if line.startswith("conv")]
    assert [row[0] for row in rows] == ["conv1", *[f"conv{stage}_1.{layer}" for stage in (2, 3, 4) for layer in (1, 2)]]
    by_rank = sorted(rows, key=lambda row: int(row[-1]))
    assert [row[1] for row in by_rank] == sorted([row[1] for row in rows], reverse=True)
    kept = json.loads((run / "analysis" / "responses.json").read_text())
    told = json.loads(
        reslab("analyze", str(run), str(run / "weights.safetensors"), "--only", "responses", "--json").out
    )
    assert [one["responses"] for one in told] == [kept, kept]


def test_a_subset_is_said(reslab, run: Path) -> None:
    """The number of images is printed; what is kept is over all of them."""
    reslab("analyze", str(run))
    assert "50 images of digits" in reslab("analyze", str(run), "images=50").out
    assert json.loads((run / "analysis" / "responses.json").read_text())["images"] == 355


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "needs a run or a weight file"),
        (["RUN", "--only", "curvature"], "--only is 'curvature'; choose responses"),
        (["RUN", "images=0"], "images is '0'"),
        (["RUN", "images=400"], "images is 400, and digits has 355"),
        (["RUN", "weights=x.pth"], "analyze knows no field 'weights'"),
    ],
)
def test_mistakes_end_in_one_sentence(words: list[str], sentence: str, reslab, run: Path) -> None:
    """Exit code 2, one line that says what to do."""
    outcome = reslab("analyze", *[str(run) if word == "RUN" else word for word in words])
    assert outcome.code == 2
    assert sentence in outcome.err


def test_networks_without_responses_are_refused(reslab, tmp_path: Path) -> None:
    """Highway networks have none."""
    words = ["network=highway-19", "recipe.iterations=1", "recipe.batch=2", "recipe.precision=fp32"]
    assert reslab("train", *words, "--runs", str(tmp_path)).code == 0
    assert "has no named layer responses" in reslab("analyze", "highway", "--runs", str(tmp_path)).err
