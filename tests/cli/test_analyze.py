"""`reslab analyze`, end to end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.analysis.convergence.test_fitting import make_log
from tests.photographs import make_photos

from reslab.analysis.catalogue import describe_instruments


def test_responses_are_printed_and_kept(reslab, run: Path) -> None:
    """Original order with ranks; JSON and the kept file agree; several subjects at once."""
    outcome = reslab("analyze", run.name, "--runs", str(run.parent))
    assert outcome.code == 0, outcome.err
    rows = [line.split() for line in outcome.out.splitlines() if line.startswith("conv")]
    assert [row[0] for row in rows] == ["conv1", *[f"conv{stage}_1.{layer}" for stage in (2, 3, 4) for layer in (1, 2)]]
    by_rank = sorted(rows, key=lambda row: int(row[-1]))
    assert [row[1] for row in by_rank] == sorted([row[1] for row in rows], reverse=True)
    kept = json.loads((run / "analysis" / "responses.json").read_text())
    told = json.loads(reslab("analyze", "responses", str(run), str(run / "weights.safetensors"), "--json").out)
    assert [one["responses"]["layers"] for one in told] == [kept["layers"]] * 2
    assert told[0]["responses"] == kept


def test_a_subset_is_said(reslab, run: Path) -> None:
    """The number of images is printed; what is kept is over all of them."""
    reslab("analyze", str(run))
    assert "50 images of digits" in reslab("analyze", str(run), "images=50").out
    assert json.loads((run / "analysis" / "responses.json").read_text())["images"] == 355


def test_settings_stand_side_by_side(reslab, run: Path) -> None:
    """Each in a file of its own, and printed as it was asked for; the default has the instrument's name."""
    assert "50 training images of digits; 90 %" in reslab(
        "analyze", "responses", str(run), "images=50", "on=train", "confidence=0.9"
    ).out  # fmt: skip
    reslab("analyze", "responses", str(run))
    names = sorted(path.name for path in (run / "analysis").iterdir())
    assert len(names) == 2
    assert names[1] == "responses.json"
    kept = json.loads((run / "analysis" / names[0]).read_text())
    assert kept["settings"] == {"images": 50, "on": "train", "seed": 0, "confidence": 0.9, "resamples": 1000}


def test_a_run_is_looked_into_at_a_step(reslab, run: Path) -> None:
    """Of its snapshots; the result names the step."""
    (run / "snapshots").mkdir()
    shutil.copy(run / "weights.safetensors", run / "snapshots" / "step-00000006.safetensors")
    (told,) = json.loads(reslab("analyze", "responses", f"{run}@6", "--json").out)
    assert (told["subject"], told["responses"]["step"]) == (f"{run.name}@6", 6)
    assert (run / "analysis" / "responses@6.json").exists()
    outcome = reslab("analyze", f"{run}@7")
    assert (outcome.code, "has no snapshot of step 7; it has those of steps 6" in outcome.err) == (2, True)
    outcome = reslab("analyze", "convergence", f"{run}@6")
    assert (outcome.code, "reads the whole log of a run, which has no steps; leave out @6" in outcome.err) == (2, True)


def test_findings_about_a_file_are_kept_where_that_is_asked(reslab, run: Path, tmp_path: Path) -> None:
    """In a folder named after the file, and read from there the next time."""
    words = ("analyze", "responses", str(run / "weights.safetensors"), "--out", str(tmp_path / "out"))
    (told,) = json.loads(reslab(*words, "--json").out)
    (kept,) = (tmp_path / "out").rglob("responses.json")
    assert json.loads(kept.read_text()) == told["responses"]
    kept.write_text(json.dumps(told["responses"] | {"counted": "marked"}))
    assert json.loads(reslab(*words, "--json").out)[0]["responses"]["counted"] == "marked"
    assert not (run / "analysis").exists()


def test_help_lists_the_instruments(reslab) -> None:
    """Each with a line about it."""
    told = " ".join(reslab("analyze", "--help").out.split())
    assert all(f"{name}: {about.split()[0]}" in told for name, about in describe_instruments().items())


def test_a_network_is_named_with_its_weights(reslab, run: Path) -> None:
    """As for `evaluate`: one word for the name, one for the weights."""
    weights = run / "weights.safetensors"
    named = json.loads(reslab("analyze", "cifar-resnet-8", f"weights={weights}", "data=digits", "--json").out)
    told = json.loads(reslab("analyze", str(weights), "--json").out)
    assert named[0]["responses"] == told[0]["responses"] | {"subject": f"cifar-resnet-8 weights={weights}"}


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
        (["responses"], "needs a run or a weight file"),
        (["response", "RUN"], "there is no instrument 'response'; did you mean 'responses'?"),
        (["RUN", "images=-1"], "images is -1; it must be at least 0"),
        (["RUN", "images=400"], "images is 400, but digits has 355"),
        (["RUN", "protocol=10-crop"], "analyze responses has no field 'protocol'; choose images, on, seed, "),
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


def test_a_records_log_is_read_without_weights(reslab, run: Path) -> None:
    """By the instrument of convergence; fields of images are refused, and so is what is no run."""
    (run / "weights.safetensors").unlink()
    log = [entry | {"train_error_percent": 10 * entry["train_loss"]} for entry in make_log()]
    (run / "metrics.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in log))
    outcome = reslab("analyze", "convergence", str(run), "resamples=5", f"against={run.name}")
    assert outcome.code == 0, outcome.err
    assert len([line for line in outcome.out.splitlines() if line.startswith(("error %", "NLL"))]) == 8
    told = reslab("analyze", "convergence", str(run), "data=digits")
    assert (told.code, "analyze convergence has no field 'data'" in told.err) == (2, True)
    told = reslab("analyze", "convergence", "nonsense", "--runs", str(run.parent))
    assert (told.code, "there is no run 'nonsense'" in told.err) == (2, True)
