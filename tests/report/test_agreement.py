"""Records that contradict themselves, and copies that say they are more, are told and count for nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs_by_hand import SITTING, count_error, write_run

from reslab.report.records import RunRecord, read_records
from reslab.runs.directory import RunDirectory
from reslab.runs.log import StepLog
from reslab.spec import find
from reslab.spec.trial import Trial, trial_to_dict


def read_one(root: Path) -> RunRecord:
    (record,), damages = read_records(root)
    assert not damages
    return record


def refused(root: Path) -> str:
    """Return why the one run under a root is left out."""
    records, (damage,) = read_records(root)
    assert not records
    assert damage.state == "damaged"
    return damage.sentence


def change_trial(run: RunDirectory, change: Callable[[Trial], Trial]) -> None:
    run.write("trial", trial_to_dict(change(run.trial())))


def weigh_everything(trial: Trial) -> Trial:
    return replace(trial, recipe=replace(trial.recipe, optimizer=replace(trial.recipe.optimizer, decay="all")))


def test_a_folder_named_after_another_trial_is_told(tmp_path: Path) -> None:
    """Whichever of the two was changed, finished or not, and whatever else stands in the name."""
    for name in ("{}", "{}-copy", "old-{}"):
        for finished in (True, False):
            run = write_run(tmp_path, finished=finished)
            run = RunDirectory(run.path.rename(tmp_path / name.format(run.path.name)))
            assert read_one(tmp_path).id == run.path.name
            change_trial(run, weigh_everything)
            assert f"trial.json describes {run.trial().id}, but the folder has the name of another" in refused(tmp_path)
            shutil.rmtree(run.path)


@pytest.mark.parametrize("name", ["baseline", "seed-2", "0123456789ab", "resnet-20 of 2026-11-15", "exp-202611181200"])
def test_a_folder_may_have_a_name_of_its_own(name: str, tmp_path: Path) -> None:
    """That says nothing of the trial, and contradicts nothing."""
    write_run(tmp_path, name=name)
    assert read_one(tmp_path).id == name


def test_a_record_of_an_earlier_version_has_its_name(tmp_path: Path) -> None:
    """Fields that are new since are as by default, and no part of it."""
    run = write_run(tmp_path)
    data = run.read("trial")
    for field in ("average_from", "sync_norms", "sampling"):
        del data["recipe"][field]
    run.write("trial", data)
    assert read_one(tmp_path).trial.id == run.path.name


def _edited(**fields: Any) -> Callable[[RunDirectory], object]:
    return lambda run: run.finish(run.result() | fields)


def _cut(run: RunDirectory) -> None:
    log = run.path / "metrics.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:4]))


def _relabel(run: RunDirectory) -> None:
    """Move an image from where it was guessed rightly to where it was not."""
    result = run.result()
    result["confusion"][0][0] -= 1
    result["confusion"][0][1] += 1
    run.finish(result)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_edited(error_percent=6.61), "result.json says error_percent is 6.61, but test_error_percent is "),
        (
            _edited(error_percent=6.61, test_error_percent=6.61),
            "test_error_percent is 6.61, but the last line",
        ),
        (_edited(train_error_percent=0.01), "train_error_percent is 0.01, but the last line of metrics.jsonl says "),
        (_edited(step=100), "step is 100, but the last line of metrics.jsonl says 64000"),
        (_edited(loss=0.1), "loss is 0.1, but test_loss is "),
        (_edited(class_error_percent=[0.0] * 10), "class_error_percent of airplane is 0.0, but its classes give "),
        (_edited(balanced_error_percent=1.0), "balanced_error_percent is 1.0, but its classes give "),
        (_relabel, "test_error_percent is "),
        (_edited(params=853_018), "result.json counts 853,018 parameters, but resnet-20 has 269,722"),
        (
            lambda run: (run.path / "metrics.jsonl").unlink(),
            "it is finished, but its metrics.jsonl is missing or empty",
        ),
        (
            lambda run: (run.path / "metrics.jsonl").write_text(""),
            "it is finished, but its metrics.jsonl is missing or",
        ),
        (_cut, "its log ends at 16,000 of 64,000 iterations"),
    ],
)
def test_what_contradicts_itself_is_told(
    change: Callable[[RunDirectory], object], sentence: str, tmp_path: Path
) -> None:
    """With what says what, and what to do."""
    run = write_run(tmp_path)
    read_one(tmp_path)
    change(run)
    assert sentence in refused(tmp_path)
    assert refused(tmp_path).endswith("; restore the changed file, or remove the run and train it again")


@pytest.mark.parametrize("other", ["resnet-20", "resnet-56"])
def test_another_runs_result_is_told(other: str, tmp_path: Path) -> None:
    """By the last line of the log, and with that run's log too by the parameters."""
    run, stranger = write_run(tmp_path / "runs", seed=1), write_run(tmp_path / "others", other, seed=2)
    shutil.copy(stranger.path / "result.json", run.path)
    assert "but the last line of metrics.jsonl says" in refused(tmp_path / "runs")
    shutil.copy(stranger.path / "metrics.jsonl", run.path)
    if other != "resnet-20":
        assert "result.json counts 853,018 parameters, but resnet-20 has 269,722" in refused(tmp_path / "runs")


def test_a_result_of_other_classes_is_told(tmp_path: Path) -> None:
    """The network could not have guessed them."""
    run = write_run(tmp_path, classes=["cat", "dog"])
    trial = replace(run.trial(), network=find("resnet-20"))
    RunDirectory(run.path.rename(tmp_path / trial.id)).write("trial", trial_to_dict(trial))
    assert "result.json has 2 classes, but resnet-20 has 10 outputs" in refused(tmp_path)


def test_exact_statistics_score_again_after_the_log(tmp_path: Path) -> None:
    """The scores are then others than the log's last, and still those of the confusion."""
    run = write_run(tmp_path, exact_norms=True)
    result = run.result()
    result["confusion"][0] = [100, *[0] * 9]
    error = count_error(result["confusion"])
    errors = {"error_percent": error, "test_error_percent": error, "loss": 0.1, "test_loss": 0.1}
    run.finish(result | errors | {"class_error_percent": [0.0, *result["class_error_percent"][1:]]})
    assert read_one(tmp_path).test_score == error
    run.finish(run.result() | {"train_error_percent": 0.0})
    assert "train_error_percent is 0.0, but the last line" in refused(tmp_path)


def test_a_sitting_that_only_tested_may_have_been_on_another_device(tmp_path: Path) -> None:
    """As where weights were made again from the last checkpoint; one that logged the end too may not."""
    run = write_run(tmp_path)
    timings = StepLog(run.path / "timings.jsonl")
    run.finish(run.result() | {"test_loss": 0.25, "loss": 0.25})
    assert "test_loss is 0.25, but the last line" in refused(tmp_path)
    run.begin(run.trial(), SITTING)
    read_one(tmp_path)
    timings.append({"step": 64_000, "seconds": 1.0, "images_per_second": 1.0, "peak_memory_bytes": 1, "sitting": 2})
    assert "test_loss is 0.25, but the last line" in refused(tmp_path)


def test_precisions_of_several_labels_are_compared(tmp_path: Path) -> None:
    """There is no confusion; a label that no image has is left out of the mean."""
    run = write_run(tmp_path, task="multi-label")
    scores = {"class_average_precision_percent": [50.0, *[75.0] * 8, None], "class_positives": [1] * 9 + [0]}
    result = run.result() | {"confusion": [], "class_error_percent": []} | scores
    run.finish(result | {"map_percent": 650 / 9, "test_map_percent": 650 / 9})
    assert read_one(tmp_path).result is not None
    run.finish(result | {"map_percent": 90.0, "test_map_percent": 90.0})
    assert "map_percent is 90.0, but its classes give 72.2" in refused(tmp_path)


def test_what_is_not_finished_is_not_damaged(tmp_path: Path) -> None:
    """Without a log, without the log's end."""
    run = write_run(tmp_path, finished=False)
    assert read_one(tmp_path).state == "interrupted"
    (run.path / "metrics.jsonl").unlink()
    assert read_one(tmp_path).state == "interrupted"


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("renamed", [True, False])
def test_a_copy_with_another_seed_counts_once(renamed: bool, finished: bool, tmp_path: Path) -> None:
    """Under a name of its own or its new trial's: the one that has its trial's name is the original, or the first."""
    run = write_run(tmp_path, seed=1, finished=finished)
    trial = replace(run.trial(), seed=2)
    name = trial.id if renamed else "another"
    copy = RunDirectory(shutil.copytree(run.path, tmp_path / name))
    copy.write("trial", trial_to_dict(trial))
    (record,), (damage,) = read_records(tmp_path)
    original = min(run.path.name, name) if renamed else run.path.name
    assert record.id == original
    assert (damage.id, damage.state) == ({run.path.name: name}.get(original, run.path.name), "copy")
    seeds = (record.trial.seed, 3 - record.trial.seed)
    assert damage.sentence == (
        f"its log is a copy of the log of {original}, but its seed is {seeds[1]}, not {seeds[0]}; remove the copy"
    )


def test_a_copy_as_another_network_counts_once(tmp_path: Path) -> None:
    """A plain network has as many parameters as its residual twin."""
    run = write_run(tmp_path, "resnet-20")
    trial = replace(run.trial(), network=find("plain-20"))
    RunDirectory(shutil.copytree(run.path, tmp_path / trial.id)).write("trial", trial_to_dict(trial))
    _, (damage,) = read_records(tmp_path)
    assert "its network is resnet-20, not plain-20" in damage.sentence


def test_what_changes_no_number_may_log_the_same(tmp_path: Path) -> None:
    """Two runs of one seed, with activations kept or computed again; nor is a plain copy of a folder refused."""
    run = write_run(tmp_path)
    trial = replace(run.trial(), network=find("resnet-20", {"checkpointing": "true"}))
    RunDirectory(shutil.copytree(run.path, tmp_path / trial.id)).write("trial", trial_to_dict(trial))
    shutil.copytree(run.path, tmp_path / "copy")
    records, damages = read_records(tmp_path)
    assert (len(records), damages) == (3, [])


def test_a_log_reads_the_same_after_json(tmp_path: Path) -> None:
    """What is not a number is the same as itself, and as null, which newer versions write."""
    run = write_run(tmp_path)
    log = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    log[-1]["note"] = float("nan")
    (run.path / "metrics.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in log))
    run.finish(run.result() | {"note": float("nan")})
    read_one(tmp_path)
