"""`reslab train` of several trials: seeds and files, at once, each ending as it would have alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.multilabel import make_labelled

from reslab.runs.directory import RunDirectory, list_runs

SHORT = ["recipe.iterations=12", "recipe.batch=16", "recipe.evaluate_every=6"]
SMALL = ["network=cifar-resnet-8", *SHORT]


@pytest.fixture
def files(reslab, tmp_path: Path) -> list[str]:
    """Write two trials down, a residual network and a plain one, and return their files."""
    paths = [tmp_path / f"{kind}.toml" for kind in ("resnet", "plain")]
    for path in paths:
        path.write_text(reslab("train", f"network=cifar-{path.stem}-8", *SHORT, "--dry-run").out)
    return [str(path) for path in paths]


def result_of(run: RunDirectory) -> tuple[int, float]:
    return run.read("trial")["seed"], run.result()["test_error_percent"]


def test_seeds_are_those_trained_one_by_one(reslab, tmp_path: Path) -> None:
    """The same runs with the same results, of which the mean is printed; the second command trains nothing."""
    words = ["train", *SMALL, "--seeds", "2", "--together", "2", "--runs", str(tmp_path / "several")]
    outcome = reslab(*words)
    assert outcome.code == 0, outcome.err
    assert "no data= given: training on digits" in outcome.err
    assert "trials: 2, finished: 0, to run: 2" in outcome.err
    for seed in (1, 2):
        assert reslab("train", *SMALL, f"seed={seed}", "--runs", str(tmp_path / "alone")).code == 0
    alone, several = (sorted(map(result_of, list_runs(tmp_path / kind))) for kind in ("alone", "several"))
    assert several == alone
    errors = [error for _, error in alone]
    assert re.search(rf"mean ± std of 2 .* {sum(errors) / 2:.2f} ± ", outcome.out)
    again = reslab(*words)
    assert "finished: 2, to run: 0" in again.err
    assert again.out == outcome.out


def test_files_are_trained_with_fields_changed(reslab, tmp_path: Path, files: list[str]) -> None:
    """Each file is a trial; given twice it is one; a field is of all of them."""
    runs = tmp_path / "runs"
    outcome = reslab("train", *files, files[0], "recipe.iterations=6", "seed=4", "--runs", str(runs))
    assert outcome.code == 0, outcome.err
    trials = [run.read("trial") for run in list_runs(runs)]
    assert len(trials) == 2
    assert "duplicate trials left out: 1" in outcome.err
    assert all((trial["seed"], trial["recipe"]["iterations"]) == (4, 6) for trial in trials)
    assert {trial["network"]["shortcut"] for trial in trials} == {"A", "none"}
    assert "mean" not in outcome.out
    assert re.search(r"^resnet-8 +4 .*^plain-8 +4 ", outcome.out, re.DOTALL | re.MULTILINE)


def test_what_differs_is_told(reslab, tmp_path: Path, files: list[str]) -> None:
    """Two recipes of one network are rows of different names, each with its mean."""
    slow = tmp_path / "slow.toml"
    slow.write_text(re.sub(r"learning_rate = .*", "learning_rate = 0.001", Path(files[0]).read_text()))
    outcome = reslab("train", files[0], str(slow), "--seeds", "2", "--runs", str(tmp_path / "runs"))
    assert outcome.code == 0, outcome.err
    assert len(re.findall(r"^resnet-8 .*optimizer\.learning_rate=0\.001 +[12] ", outcome.out, re.MULTILINE)) == 2
    assert outcome.out.count("mean ± std of 2") == 2


def test_a_dry_run_says_what_is_there_and_what_is_needed(
    reslab, tmp_path: Path, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And trains nothing, whatever room there is."""
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=1000))
    outcome = reslab("train", *files, "--seeds", "2", "--runs", str(tmp_path / "runs"), "--dry-run")
    assert outcome.code == 0, outcome.err
    assert "trials: 4, finished: 0, to run: 4" in outcome.err
    assert len(re.findall(r"-digits-[0-9a-f]{12} +new", outcome.out)) == 4
    assert not list_runs(tmp_path / "runs")
    refused = reslab("train", *files, "--seeds", "2", "--runs", str(tmp_path / "runs"))
    assert "of disk space, but 1000 B are free" in refused.err.replace("\n", " ")


def test_all_start_from_the_same_weights(reslab, tmp_path: Path) -> None:
    """Fine-tuning over seeds; other weights are refused before anything runs."""
    first = ["train", *SMALL, "seed=9", "--runs", str(tmp_path / "first")]
    assert reslab(*first).code == 0
    (start,) = list_runs(tmp_path / "first")
    words = ["train", *SMALL, "recipe.freeze=conv3", "--seeds", "2", "--runs", str(tmp_path / "tuned")]
    assert reslab(*words, f"weights={start.weights}").code == 0
    starts = {run.read("trial")["start"] for run in list_runs(tmp_path / "tuned")}
    assert len(starts) == 1
    assert starts != {None}
    tuned = tmp_path / "tuned.toml"
    tuned.write_text(reslab("train", *SMALL, f"weights={start.weights}", "--dry-run").out)
    other = next(iter(list_runs(tmp_path / "tuned"))).weights
    wrong = reslab("train", str(tuned), "--seeds", "2", f"weights={other}", "--runs", str(tmp_path / "wrong"))
    assert (wrong.code, wrong.out) == (2, "")
    assert re.search(
        r"cifar-resnet-8-digits-\w{12}: .* is not the weight file that this trial starts from",
        wrong.err.replace("\n", " "),
    )
    scratch = tmp_path / "scratch.toml"
    scratch.write_text(reslab("train", *SMALL, "--dry-run").out)
    mixed = reslab("train", str(tuned), str(scratch), f"weights={start.weights}", "--runs", str(tmp_path / "wrong"))
    assert "these trials start from different weights; train them in separate commands" in mixed.err
    assert not list_runs(tmp_path / "wrong")


def test_one_that_fails_is_told_and_the_others_are_finished(reslab, tmp_path: Path, files: list[str]) -> None:
    """The table has all; the command ends with 2."""
    bad = Path(files[1])
    bad.write_text(re.sub(r"learning_rate = .*", "learning_rate = 1e30", bad.read_text()).replace('"batch"', '"none"'))
    outcome = reslab("train", *files, "--runs", str(tmp_path / "runs"))
    assert outcome.code == 2
    assert "1 of 2 trials failed, the rest are finished: " in outcome.err.replace("\n", " ")
    assert re.search(r"plain-8-digits-\w{12} +diverged at 0", outcome.out)
    states = sorted(run.state for run in list_runs(tmp_path / "runs"))
    assert states == ["diverged", "finished"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--seeds", "0"], "--seeds is 0; give a whole number from 1 to 1,000"),
        (["--seeds", "100000000", "--dry-run"], "--seeds is 100,000,000; give a whole number from 1 to 1,000"),
        (["--processes", "100000"], "--processes is 100000; give 1 to 64"),
        (["--seeds", "2", "seed=3"], "seed= and --seeds both set the seeds"),
        (["--together", "99"], "--together is 99; give a whole number from 1 to 32"),
        (["--seeds", "2", "--processes", "2"], "several processes train only one trial; give one trial"),
    ],
)
def test_what_cannot_be_is_refused(reslab, tmp_path: Path, words: list[str], sentence: str) -> None:
    """In a sentence, with nothing written."""
    outcome = reslab("train", *SMALL, *words, "--runs", str(tmp_path / "runs"))
    assert outcome.code == 2
    assert sentence in outcome.err
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())


def test_one_seed_by_several_processes(reslab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are told which."""
    started: list[list[str]] = []
    monkeypatch.setattr("reslab.cli.train.one_trial.run_in_processes", lambda words, count: started.append(words) or 0)
    assert reslab("train", *SMALL, "--seeds", "1", "--processes", "2", "--runs", str(tmp_path)).code == 0
    assert reslab(*started[0]).code == 0
    (run,) = list_runs(tmp_path)
    assert run.read("trial")["seed"] == 1


def test_a_trial_that_does_not_fit_is_named(reslab, tmp_path: Path, files: list[str]) -> None:
    """Before any is trained."""
    bad = Path(files[1])
    bad.write_text(bad.read_text().replace("classes = 10", "classes = 7"))
    outcome = reslab("train", *files, "--runs", str(tmp_path / "runs"))
    assert outcome.code == 2
    assert re.search(r"plain-8-digits-\w{12}: .* has 7 outputs", outcome.err.replace("\n", " "))
    assert not list_runs(tmp_path / "runs")


def test_average_precision_and_bad_images_are_told(reslab, tmp_path: Path) -> None:
    """What the result of one run says, the table of several says too."""
    labelled = make_labelled(tmp_path / "photos")
    words = [f"data={labelled}", "network=resnet-18", "network.input_size=32", "recipe.iterations=2", "recipe.batch=4"]
    bad = next((tmp_path / "photos").rglob("*.png"))
    bad.write_bytes(b"no picture")
    outcome = reslab("train", *words, "data.on_bad_image=skip", "--seeds", "2", "--runs", str(tmp_path / "runs"))
    assert outcome.code == 0, outcome.err
    assert "mAP %" in outcome.out
    assert outcome.out.count(": without 1 bad ") == 2


def test_files_of_other_data_are_refused(reslab, tmp_path: Path, files: list[str]) -> None:
    """All train on the same images."""
    other = Path(files[1])
    other.write_text(re.sub(r'fingerprint = ".*"', f'fingerprint = "{"0" * 64}"', other.read_text()))
    outcome = reslab("train", *files, "--runs", str(tmp_path / "runs"))
    assert outcome.code == 2
    assert f"digits is not the data that {other} was written for: its images have changed" in outcome.err.replace(
        "\n", ""
    )


def test_what_is_left_is_told_and_trials_that_crowd_each_other(reslab, tmp_path: Path, monkeypatch) -> None:
    """A run that was stopped counts from where it stands; more threads than cores are warned of."""
    stop = "reslab.cli.terminal.progress.StopSignals.wanted"
    words = ["train", *SMALL, "--seeds", "2", "--together", "2", "--runs", str(tmp_path)]
    with monkeypatch.context() as patch:
        patch.setattr(stop, lambda self: True)
        assert reslab("train", *SMALL, "seed=1", "--runs", str(tmp_path)).code == 143
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    outcome = reslab(*words, "--dry-run")
    assert "to run: 2 on cpu, 23 iterations in all" in outcome.err
    assert "interrupted at 1" in outcome.out
    assert "leave out --together, or set OMP_NUM_THREADS=1" in outcome.err.replace("\n", " ")
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    assert "OMP_NUM_THREADS" not in reslab(*words, "--dry-run").err


def test_a_run_is_made_whole_beside_others(reslab, tmp_path: Path) -> None:
    """One whose weights are gone counts as one to run."""
    words = ["train", *SMALL, "--seeds", "2", "--runs", str(tmp_path)]
    first = reslab(*words)
    run = next(iter(list_runs(tmp_path)))
    run.weights.unlink()
    again = reslab(*words)
    assert "finished: 1, to run: 1" in again.err
    assert run.weights.exists()
    assert again.out == first.out
    assert json.loads((run.path / "result.json").read_text())["step"] == 12


def test_a_result_that_was_changed_is_no_part_of_a_mean(reslab, tmp_path: Path) -> None:
    """It is told, of several runs and of the one alone."""
    words = ["train", *SMALL, "--runs", str(tmp_path), "--seeds"]
    reslab(*words, "3")
    run = list_runs(tmp_path)[1]
    run.finish(run.result() | {"test_error_percent": 0.0})
    again = reslab(*words, "3")
    assert f"warning: {run.path.name}: result.json says test_error_percent is 0.0" in again.err
    assert "mean ± std of 2" in again.out
    assert "damaged" in again.out
    alone = reslab("train", *SMALL, f"seed={run.trial().seed}", "--runs", str(tmp_path))
    assert (alone.code, alone.out) == (2, "")
    assert "result.json says test_error_percent is 0.0" in alone.err
