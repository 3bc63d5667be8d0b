"""`reslab analyze`, end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.photographs import make_photos


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


def test_a_network_is_named_with_its_weights(reslab, run: Path) -> None:
    """As for `evaluate`: one word for the name, one for the weights."""
    weights = run / "weights.safetensors"
    named = json.loads(reslab("analyze", "cifar-resnet-8", f"weights={weights}", "data=digits", "--json").out)
    assert named[0]["responses"] == json.loads(reslab("analyze", str(weights), "--json").out)[0]["responses"]


def test_bad_photographs_can_be_skipped(reslab, tmp_path: Path) -> None:
    """As the sentence that stops it says; those left out are counted, and what is kept is about all."""
    photos = make_photos(tmp_path / "photos", train=2, val=2)
    words = ["network=cifar-resnet-8", f"data={photos}", "network.input_size=24", "recipe.iterations=1"]
    words += ["recipe.batch=2", "recipe.precision=fp32", "recipe.exact_norms=false", "--runs", str(tmp_path / "runs")]
    assert reslab("train", *words).code == 0
    (run,) = (tmp_path / "runs").iterdir()
    bad = sorted((photos / "val").rglob("*.jpg"))[1]
    bad.write_bytes(bytes(bad.stat().st_size))
    assert "set data.on_bad_image=skip" in reslab("analyze", str(run), f"data={photos}").err
    outcome = reslab("analyze", str(run), f"data={photos}", "data.on_bad_image=skip")
    assert (outcome.code, bad.name in outcome.err) == (0, True)
    assert "3 images of photos (bad images skipped: 1)" in outcome.out
    kept = json.loads((run / "analysis" / "responses.json").read_text())
    assert (kept["images"], kept["skipped_images"]) == (3, 1)
    assert reslab("analyze", str(run), f"data={photos}").out == outcome.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "needs a run or a weight file"),
        (["RUN", "--only", "curvature"], "--only is 'curvature'; choose responses"),
        (["RUN", "images=0"], "images is '0'"),
        (["RUN", "images=400"], "images is 400, but digits has 355"),
        (["RUN", "protocol=10-crop"], "analyze has no field 'protocol'; choose weights, data, data.split"),
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
