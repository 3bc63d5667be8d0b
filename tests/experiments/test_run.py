"""A trial becomes a run; one that was stopped anywhere ends like one never stopped; two processes do what one does."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.experiments.faults import MOMENTS, OPTIONS, Kill, make_trial, plan_chains, suffer
from tests.experiments.shared import make_shared_trial, metrics, train
from tests.photographs import make_photos
from tests.processes import run_in_processes
from tests.trials import DIGITS, make_digits_trial, make_photo_trial, outcome, stop_after
from torch import Tensor

from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.feed import ArrayFeed
from reslab.data.arrays.split import ArraySplit
from reslab.data.photos import feed as of_photos
from reslab.data.photos.folder import PhotoDataset, PhotoSplit, read_folder
from reslab.data.photos.order import PhotoSampler
from reslab.data.photos.reader import read_photos
from reslab.data.photos.shard_writer import write_shards
from reslab.data.words import write_words
from reslab.errors import UserError
from reslab.experiments import run as running
from reslab.experiments.evaluate import evaluate_subject
from reslab.experiments.run import run_trial
from reslab.experiments.trained import choose_inputs, load_file, load_run
from reslab.experiments.trials import read_trial
from reslab.files import leftovers
from reslab.networks import Network, load_model, measure_cost
from reslab.report.records import read_record
from reslab.runs.directory import RunDirectory, list_runs
from reslab.runs.log import StepLog
from reslab.runtime.listener import Listener
from reslab.runtime.processes import ALONE, Processes
from reslab.scores import describe_scores
from reslab.spec.preprocess import PER_PIXEL_MEAN
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import Trial
from reslab.tasks.catalogue import list_shown
from reslab.tasks.trial_task import make_task
from reslab.training.loop import Stopped
from reslab.training.stepping import Stepper, assemble

LABELS = torch.arange(4)
GROWING = {"network__input_size": "64", "recipe__resizing__initial": "0.5", "recipe__resizing__stages": "2"}
SHARED_OPTIONS: list[dict[str, object]] = [
    {},
    {"accumulate": 2, "average_decay": 0.9, "exact_norms": True, "optimizer.clip_norm": 1.0},
    {"warmup": {"learning_rate": 0.01, "until_error_percent": 95.0, "window": 5}},
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """The outcome of the trial, never stopped."""
    torch.set_num_threads(1)
    return outcome(run_trial(make_trial(), DIGITS, tmp_path_factory.mktemp("whole")))


def test_a_run_is_recorded(tmp_path: Path) -> None:
    """Trial, provenance, metrics, timings, weights and result; training lowers the error."""
    run = run_trial(make_trial(find_recipe("digits", OPTIONS | {"iterations": 80}), dropout=0.0), DIGITS, tmp_path)
    assert run.state == "finished"
    assert run.trial().id == run.path.name
    names = {path.name for path in run.path.iterdir()} - {"lock", "checkpoints", "tensorboard"}
    logs, files = {"metrics.jsonl", "timings.jsonl"}, {"trial.json", "provenance.json", "result.json"}
    assert names == logs | files | {"weights.safetensors", "gallery.json"}
    result = run.result()
    for number, one in enumerate(run.read("gallery")["classes"]):
        right = result["confusion"][number][number]
        wrong = sum(result["confusion"][number]) - right
        assert (one["name"], len(one["hits"]), len(one["mistakes"])) == (str(number), min(3, right), min(6, wrong))
        assert {mistake["truth"] for mistake in one["mistakes"]} <= {str(number)}
    assert result["error_percent"] < 60
    assert sum(map(sum, result["confusion"])) == len(DIGITS.test)
    network = load_model(run.weights)
    assert network.class_names == tuple("0123456789")
    assert network.preprocess == PER_PIXEL_MEAN
    mean = torch.from_numpy(DIGITS.train.images.mean(0) / 16).float()
    assert network.mean_image is not None
    assert torch.allclose(network.mean_image, mean)
    cost = measure_cost(run.trial().network)
    for measure in ("params", "multiply_adds", "activation_bytes"):
        assert result[measure] == getattr(cost, measure)
    assert result["class_names"] == list("0123456789")
    assert result["scores"] == json.loads(json.dumps(describe_scores(list_shown()["classification"].scores)))
    sitting = run.read("provenance")["sittings"][0]
    assert sitting["versions"]["torch"]
    timings = [json.loads(line) for line in (run.path / "timings.jsonl").read_text().splitlines()]
    assert all(entry["peak_memory_bytes"] > 0 and entry["images_per_second"] > 0 for entry in timings)


def test_the_fast_recipe_learns(tmp_path: Path) -> None:
    """On digits, which are not flipped: most are right after six epochs."""
    augmentation = {"padding": 1, "edges": "reflect", "flip": False}
    changes = {"iterations": 135, "batch": 64, "optimizer.learning_rate": 0.1, "augmentation": augmentation}
    trial = make_trial(find_recipe("fast", changes), dropout=0.0)
    assert run_trial(trial, DIGITS, tmp_path).result()["error_percent"] < 20


def test_the_same_seed_is_the_same_log(whole: tuple[str, str, str], tmp_path: Path) -> None:
    """Bit for bit."""
    assert outcome(run_trial(make_trial(), DIGITS, tmp_path)) == whole
    other = run_trial(replace(make_trial(), seed=4), DIGITS, tmp_path)
    assert outcome(other)[1] != whole[1]


@pytest.mark.parametrize("average_decay", [0.0, 0.9])
def test_weights_are_kept_along_the_way(average_decay: float, tmp_path: Path) -> None:
    """After the iterations that are wanted, as they are tested there; all else is as without them, over a stop too."""
    trial = make_trial(find_recipe("digits", OPTIONS | {"average_decay": average_decay, "iterations": 16}))
    expected = outcome(run_trial(trial, DIGITS, tmp_path / "whole"))
    wanted = frozenset({4, 7, 12})
    with pytest.raises(Stopped):
        listener = Listener(should_stop=stop_after(8))
        run_trial(trial, DIGITS, tmp_path, snapshots=wanted, listener=listener)
    run = run_trial(trial, DIGITS, tmp_path, snapshots=wanted)
    assert outcome(run) == expected
    assert sorted((run.path / "snapshots").iterdir()) == [run.snapshot(step) for step in sorted(wanted)]
    logged = {entry["step"]: entry["test_loss"] for entry in metrics(trial, tmp_path)}
    for step in wanted:
        trained = load_file(run.snapshot(step))
        assert (trained.provenance["trial"], trained.provenance["step"]) == (trial.id, step)
        if step in logged:
            assert evaluate_subject(choose_inputs(trained, DIGITS))["loss"] == logged[step]


def test_resident_data_is_the_same_run(
    whole: tuple[str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the images lie changes nothing."""
    monkeypatch.setenv("RESLAB_BATCHES", "resident")
    assert outcome(run_trial(make_trial(), DIGITS, tmp_path)) == whole


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"average_decay": 0.9},
        {"accumulate": 2, "label_smoothing": 0.1, "optimizer.clip_norm": 1.0},
        {"precision": "fp32", "channels_last": False, "schedule.kind": "cosine", "exact_norms": True},
        {"warmup": {"learning_rate": 0.01, "until_error_percent": 95.0, "window": 5}},
        {"optimizer.kind": "adamw", "warmup.iterations": 9, "keep_best": "loss", "optimizer.bias_rate": 2.0},
        {
            "schedule.kind": "one-cycle",
            "augmentation": {"padding": 2, "edges": "reflect", "flip": True, "alternating_flips": True, "cutout": 3},
            "average_decay": 0.9,
            "average_from": 0.5,
        },
    ],
    ids=str,
)
def test_a_run_stopped_at_every_step_ends_the_same(options: dict[str, object], tmp_path: Path) -> None:
    """Asked to stop after each iteration, and resumed each time: weights, log and result to the bit."""
    trial = make_trial(find_recipe("digits", OPTIONS | options))
    expected = outcome(run_trial(trial, DIGITS, tmp_path / "whole"))
    sittings = 0
    while RunDirectory.of(trial, tmp_path).state != "finished":
        sittings += 1
        try:
            run_trial(trial, DIGITS, tmp_path, listener=Listener(should_stop=lambda: True))
        except Stopped:
            assert RunDirectory.of(trial, tmp_path).state == "interrupted"
    assert sittings == trial.recipe.iterations
    assert outcome(RunDirectory.of(trial, tmp_path)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("chain", plan_chains(9, seed=5), ids=len)
def test_a_killed_run_ends_the_same(chain: list[Kill], whole: tuple[str, str, str], tmp_path: Path) -> None:
    """Chains of SIGKILLs, at random moments and inside checkpoint writes: the same outcome, and nothing left over."""
    struck, inside = suffer(chain, tmp_path)
    assert struck == len(chain)
    assert inside == sum(kill.moment in MOMENTS for kill in chain)
    run = RunDirectory.of(make_trial(), tmp_path)
    assert outcome(run) == whole
    assert not leftovers(run.path)


def test_a_finished_run_is_not_run_again(tmp_path: Path) -> None:
    """Its files are left alone."""
    run = run_trial(make_trial(), DIGITS, tmp_path)
    before = (run.path / "provenance.json").stat().st_mtime_ns
    run_trial(
        make_trial(), DIGITS, tmp_path, listener=Listener(progress=lambda step, metrics: pytest.fail("it trained"))
    )
    assert (run.path / "provenance.json").stat().st_mtime_ns == before


def test_a_second_trainer_is_refused(tmp_path: Path) -> None:
    """While one holds the run; a dead one's hold is gone."""
    run = RunDirectory.of(make_trial(), tmp_path)
    with run.working(), pytest.raises(UserError, match="another process is working on"):
        run_trial(make_trial(), DIGITS, tmp_path)
    assert run_trial(make_trial(), DIGITS, tmp_path).state == "finished"


def test_a_loss_that_is_not_finite_stops_the_run(tmp_path: Path) -> None:
    """The step and its images are named, and the last good checkpoint stays; so it is each time, unless stopped."""
    recipe = find_recipe("digits", OPTIONS | {"optimizer.learning_rate": 1e30, "precision": "fp32"})
    trial = make_trial(recipe, norm="none")
    run = RunDirectory.of(trial, tmp_path)
    sentence = r"the loss or a gradient of iteration \d+ is not finite, on images \d+, \d+"
    with pytest.raises(UserError, match=sentence) as first:
        run_trial(trial, DIGITS, tmp_path)
    assert run.state == "diverged"
    assert run.read("diverged") == {"sentence": str(first.value)}
    with pytest.raises(Stopped):
        run_trial(trial, DIGITS, tmp_path, listener=Listener(should_stop=lambda: True))
    assert run.state == "interrupted"
    with pytest.raises(UserError) as again:
        run_trial(trial, DIGITS, tmp_path)
    assert (run.state, str(again.value)) == ("diverged", str(first.value))


def test_a_damaged_checkpoint_is_named_and_the_run_ends_the_same(whole: tuple[str, str, str], tmp_path: Path) -> None:
    """The newest one flipped: the previous is used, and nothing else changes."""
    steps: list[int] = []

    def after_twenty() -> bool:
        return bool(steps) and steps[-1] == 20

    with pytest.raises(Stopped):
        run_trial(
            make_trial(),
            DIGITS,
            tmp_path,
            listener=Listener(progress=lambda step, _: steps.append(step), should_stop=after_twenty),
        )
    run = RunDirectory.of(make_trial(), tmp_path)
    newest = sorted(run.checkpoints.iterdir())[-1]
    content = bytearray(newest.read_bytes())
    content[-3] ^= 1
    newest.write_bytes(content)
    warnings: list[str] = []
    assert outcome(run_trial(make_trial(), DIGITS, tmp_path, listener=Listener(warn=warnings.append))) == whole
    assert newest.name in warnings[0]


def statistics_to_come(trial: Trial, network: Network) -> tuple[Tensor, Tensor]:
    """The stem's mean and variance by batch over the epoch that would come after the last, averaged."""
    recipe, task = trial.recipe, make_task(trial, DIGITS, device="cpu")
    steps = range(recipe.iterations, recipe.iterations + -(-len(DIGITS.train) // recipe.batch))
    with torch.no_grad():
        maps = [network.get_submodule("stem.conv")(task.load(step, 1)[0][0]) for step in steps]
    means = torch.stack([response.mean((0, 2, 3)) for response in maps])
    variances = torch.stack([response.transpose(0, 1).flatten(1).var(1) for response in maps])
    return means.mean(0), variances.mean(0)


@pytest.mark.parametrize("changes", [{}, {"average_decay": 0.9}, {"sampling": "balanced"}], ids=str)
def test_exact_norms_are_averages_over_another_epoch(changes: dict[str, object], tmp_path: Path) -> None:
    """Of the images as they are trained on, by the weights that are kept, be they averages themselves."""
    recipe = find_recipe("digits", OPTIONS | {"exact_norms": True, "precision": "fp32"} | changes)
    trial = make_trial(recipe)
    run = run_trial(trial, DIGITS, tmp_path)
    network = load_model(run.weights)
    mean, variance = statistics_to_come(trial, network)
    torch.testing.assert_close(network.get_buffer("stem.norm.running_mean"), mean, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(network.get_buffer("stem.norm.running_var"), variance, rtol=1e-4, atol=1e-6)
    result = run.result()
    assert result["test_error_percent"] == result["error_percent"]
    assert result["test_loss"] == result["loss"]
    logged = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    assert logged[-1]["test_loss"] != result["test_loss"]
    assert logged[-1]["images"] == OPTIONS["iterations"] * OPTIONS["batch"]


def test_exact_norms_are_those_of_all_processes(tmp_path: Path) -> None:
    """Each has its share of the epoch, and the network the average, though each normalizes alone."""
    trial = make_shared_trial(sync_norms=False, iterations=2, exact_norms=True)
    run_in_processes(train, 2, trial, tmp_path)
    network = load_model(RunDirectory.of(trial, tmp_path).weights)
    mean, variance = statistics_to_come(trial, network)
    torch.testing.assert_close(network.get_buffer("stem.norm.running_mean"), mean, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(network.get_buffer("stem.norm.running_var"), variance, rtol=0.05, atol=0)


def test_the_best_weights_by_held_out_images_are_tested(tmp_path: Path) -> None:
    """Its scores are the log's at the best step, it says which, and the record agrees; the test is not looked at."""
    stopping = {"keep_best": "loss", "stop_after": 1, "optimizer.learning_rate": 0.3, "evaluate_every": 1}
    trial = make_trial(find_recipe("digits", OPTIONS | stopping), dropout=0.0)
    run = run_trial(trial, DIGITS, tmp_path)
    result, log = run.result(), run.log()
    losses = [entry["validation_loss"] for entry in log]
    best = log[int(np.argmin(losses))]
    assert result["best_step"] == best["step"] == len(log) - 1 < trial.recipe.iterations
    assert result["train_error_percent"] == best["train_error_percent"]
    assert result["step"] == len(log)
    for name in ("test_error_percent", "test_loss", "validation_loss"):
        assert result[name] == best[name]
    assert sum(map(sum, result["confusion"])) == len(DIGITS.test)
    record, damage = read_record(run)
    assert (record.test_score, damage) == (best["test_error_percent"], [])
    run.weights.unlink()
    told: list[str] = []
    assert outcome(run_trial(trial, DIGITS, tmp_path, listener=Listener(warn=told.append)))[1:] == outcome(run)[1:]
    assert told == [f"{run.path} is finished, but its weights are gone; restoring them from its last checkpoint"]
    (run.path / "metrics.jsonl").write_text((run.path / "metrics.jsonl").read_text().rsplit("\n", 2)[0] + "\n")
    with pytest.raises(UserError, match="its log ends at"):
        read_record(run)


def test_tuning_holds_training_images_back(tmp_path: Path) -> None:
    """The last tenth stands in for the test set, which is not looked at."""
    trial = make_trial(dropout=0.0)
    trial = replace(trial, data=replace(trial.data, split="tuning"))
    blind = replace(DIGITS, test=ArraySplit(DIGITS.test.images[:0], np.empty(0, dtype=np.uint8)))
    assert isinstance(blind, ArrayDataset)
    result = run_trial(trial, blind, tmp_path).result()
    assert sum(map(sum, result["confusion"])) == len(DIGITS.train) // 10


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_run_on_cuda_resumes_to_the_same_bits(tmp_path: Path) -> None:
    """Captured anew after every stop: the outcome of a run never stopped, and of the same seed again."""
    expected = outcome(run_trial(make_trial(), DIGITS, tmp_path / "whole", device="cuda"))
    assert outcome(run_trial(make_trial(), DIGITS, tmp_path / "again", device="cuda")) == expected
    while RunDirectory.of(make_trial(), tmp_path).state != "finished":
        with contextlib.suppress(Stopped):
            run_trial(make_trial(), DIGITS, tmp_path, device="cuda", listener=Listener(should_stop=lambda: True))
    run = RunDirectory.of(make_trial(), tmp_path)
    assert outcome(run) == expected
    assert run.read("provenance")["sittings"][0]["capture"] is True


def test_a_hole_larger_than_the_images_is_refused_before_the_run(tmp_path: Path) -> None:
    """Nothing is left that looks like a run."""
    trial = make_trial(find_recipe("digits", OPTIONS | {"augmentation.cutout": 9}))
    with pytest.raises(UserError, match="cutout is 9, but the images are 8 pixels wide"):
        run_trial(trial, DIGITS, tmp_path)
    assert RunDirectory.of(trial, tmp_path).state == "new"


@pytest.mark.slow
@pytest.mark.parametrize("options", SHARED_OPTIONS, ids=str)
def test_two_processes_are_one(options: dict[str, object], tmp_path: Path) -> None:
    """The same global batch, normalized whole: the loss trace, the errors and the weights, up to rounding."""
    trial = make_shared_trial(**options)
    run_in_processes(train, 2, trial, tmp_path / "two")
    run_trial(trial, DIGITS, tmp_path / "one")
    one, two = metrics(trial, tmp_path / "one"), metrics(trial, tmp_path / "two")
    assert [entry["step"] for entry in two] == list(range(1, 17))
    for name in ("train_loss", "test_loss", "train_error_percent", "learning_rate"):
        np.testing.assert_allclose([entry[name] for entry in two], [entry[name] for entry in one], rtol=1e-4)
    runs = [RunDirectory.of(trial, tmp_path / name) for name in ("one", "two")]
    weights = [load_model(run.weights).state_dict() for run in runs]
    for name, tensor in weights[0].items():
        torch.testing.assert_close(weights[1][name], tensor, rtol=1e-3, atol=1e-4)
    assert [run.read("provenance")["sittings"][0]["processes"] for run in runs] == [1, 2]
    assert sum(map(sum, runs[1].result()["confusion"])) == len(DIGITS.test)
    alone, shared = (
        [len(one["mistakes"]) + len(one["hits"]) for one in run.read("gallery")["classes"]] for run in runs
    )
    assert alone == shared  # which images these are, rounding may decide


def test_norms_of_shares_are_something_else(tmp_path: Path) -> None:
    """Without `sync_norms` each process normalizes its own images, so the losses differ from one process's."""
    trial = make_shared_trial(sync_norms=False, iterations=2)
    run_in_processes(train, 2, trial, tmp_path / "two")
    run_trial(trial, DIGITS, tmp_path / "one")
    one, two = (metrics(trial, tmp_path / name)[-1]["train_loss"] for name in ("one", "two"))
    assert abs(one - two) > 1e-4 * one


@pytest.mark.slow
def test_a_run_stopped_and_resumed_ends_the_same(tmp_path: Path) -> None:
    """Two processes with dropout and statistics of their own; one of them wishes to stop: to the bit."""
    trial = make_trial()
    run_in_processes(train, 2, trial, tmp_path / "whole")
    for stop_at in (11, None):
        assert run_in_processes(train, 2, trial, tmp_path / "stopped", stop_at) == [[], []]
    runs = [RunDirectory.of(trial, tmp_path / name) for name in ("whole", "stopped")]
    assert runs[1].state == "finished"
    assert outcome(runs[1]) == outcome(runs[0])


def test_another_number_of_processes_goes_on_and_is_told(tmp_path: Path) -> None:
    """The batches stay what they are, so the end is the same up to rounding."""
    trial = make_shared_trial()
    run_in_processes(train, 2, trial, tmp_path / "mixed", 7)
    (warning,) = train(ALONE, trial, tmp_path / "mixed")
    assert warning.startswith("the run resumes with processes=1 (2 before): the batches are the same")
    run_trial(trial, DIGITS, tmp_path / "one")
    one, mixed = (metrics(trial, tmp_path / name)[-1]["train_loss"] for name in ("one", "mixed"))
    assert mixed == pytest.approx(one, rel=1e-4)


def diverge(processes: Processes, trial: Trial, root: Path) -> str:
    """What a process is told when the loss of one of them is not finite."""
    with pytest.raises(UserError) as told:
        train(processes, trial, root)
    return str(told.value)


def test_a_loss_that_is_not_finite_stops_all(tmp_path: Path) -> None:
    """At the same iteration, with the same sentence."""
    options = {"optimizer.learning_rate": 1e30, "iterations": 12}
    trial = make_trial(make_shared_trial(**options).recipe, norm="none")
    one, other = run_in_processes(diverge, 2, trial, tmp_path)
    assert "is not finite, on images" in one
    assert one == other


def test_other_trials_are_not_trained_together(tmp_path: Path) -> None:
    """All must be given the same."""
    told = run_in_processes(disagree, 2, tmp_path)
    assert told[1] == "process 1 got another trial than process 0; give every process the same command"


def disagree(processes: Processes, root: Path) -> str:
    """What is told where each has its own trial."""
    try:
        train(processes, make_shared_trial(iterations=processes.rank + 1), root)
    except UserError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("exact_norms", [False, True])
def test_a_test_without_numbers_ends_a_run_and_no_training(
    exact_norms: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the way it is logged, all images being wrong and the loss null; in the end no weights and no result stand."""
    monkeypatch.setattr(
        ArrayFeed, "tests", lambda feed: iter([(torch.full((4, 1, 8, 8), torch.nan), LABELS, torch.arange(4))])
    )
    trial = make_trial(find_recipe("digits", OPTIONS | {"exact_norms": exact_norms}))
    run = RunDirectory.of(trial, tmp_path)
    for _ in range(2):  # trained to its end, it is tested again, and the sentence stays
        with pytest.raises(
            UserError, match=r"the trained network of .* gives logits .* for 4 of 4 test images: .*no weights"
        ):
            run_trial(trial, DIGITS, tmp_path)
        assert run.state == "diverged"
        assert not run.weights.exists()
    lines = (run.path / "metrics.jsonl").read_text().splitlines()
    assert len(lines) > 1
    for line in lines:
        entry = json.loads(line, parse_constant=lambda constant: pytest.fail(constant))
        assert (entry["test_loss"], entry["test_error_percent"], entry["test_top5_error_percent"]) == (None, 100, 100)
        assert entry["train_loss"] > 0


def test_another_runs_checkpoint_is_not_gone_on_from(tmp_path: Path) -> None:
    """Of the same network by another seed: every tensor would fit."""
    trial = make_digits_trial(iterations=8, evaluate_every=2)
    for seed in (1, 2):
        with pytest.raises(Stopped):
            run_trial(replace(trial, seed=seed), DIGITS, tmp_path, listener=Listener(should_stop=stop_after(2)))
    one, other = (RunDirectory.of(replace(trial, seed=seed), tmp_path) for seed in (1, 2))
    shutil.rmtree(one.checkpoints)
    shutil.copytree(other.checkpoints, one.checkpoints)
    with pytest.raises(UserError, match=f"is a checkpoint of {other.path.name}, not of {one.path.name}"):
        run_trial(replace(trial, seed=1), DIGITS, tmp_path)


def train_alone(trial: Trial, photos: PhotoDataset, root: Path, **options: Any) -> dict[str, Any]:
    """Train on photographs and return the result."""
    return run_trial(trial, photos, root, **options).result()


def test_on_photographs_it_learns_and_its_weights_carry_what_they_need(photos: PhotoDataset, tmp_path: Path) -> None:
    """Two colours are told apart; preprocessing and classes are with the weights."""
    trial = make_photo_trial(photos, recipe__iterations="30")
    result = train_alone(trial, photos, tmp_path / "runs")
    assert result["error_percent"] == 0
    network = load_model(list_runs(tmp_path / "runs")[0].weights)
    assert network.class_names == ("blues", "greens")
    assert network.preprocess is not None
    assert (network.preprocess.resize, network.preprocess.crop) == (27, 24)


def test_bad_test_images_are_counted(photos: PhotoDataset, tmp_path: Path) -> None:
    """The result says how many are in no error; where none can be read there is nothing to test on."""
    trial = make_photo_trial(photos, data__on_bad_image="skip", recipe__iterations="1")
    assert train_alone(trial, photos, tmp_path / "whole")["skipped_images"] == 0
    photos.test.path(2).write_bytes(b"")
    result = train_alone(trial, photos, tmp_path / "lacking")
    assert (result["skipped_images"], sum(map(sum, result["confusion"]))) == (1, 7)
    classes = RunDirectory.of(trial, tmp_path / "lacking").read("gallery")["classes"]
    shown = [(one["name"], one["truth"]) for each in classes for one in (*each["mistakes"], *each["hits"])]
    assert 0 < len(shown) <= 7
    for name, truth in shown:
        assert f"/{truth}/" in name
        assert name != photos.test.name(2)
    alone = replace(photos, test=photos.test.take(np.array([2])))
    with pytest.raises(UserError, match="none of the test images can be read"):
        train_alone(trial, alone, tmp_path / "none")


def test_bad_training_images_are_counted_and_recorded(photos: PhotoDataset, tmp_path: Path) -> None:
    """By their paths under the folder, once, with what is wrong; also after a stop, when nobody warns of them again."""
    photos = replace(photos, train=repeat(photos.train, 10))  # many enough for a few to be bad
    trial = make_photo_trial(photos, data__on_bad_image="skip", recipe__iterations="40", recipe__evaluate_every="40")
    photos.train.path(3).write_bytes(b"")
    photos.test.path(2).write_bytes(b"")
    told: list[str] = []
    with pytest.raises(Stopped):
        train_alone(trial, photos, tmp_path / "runs", listener=Listener(should_stop=stop_after(30), warn=told.append))
    (found,) = list_runs(tmp_path / "runs")
    first = {"part": "train", "image": photos.train.files[3], "trouble": "is not an image that can be read; remove it"}
    assert found.read("skipped") == {"images": [first]}
    result = train_alone(trial, photos, tmp_path / "runs", listener=Listener(warn=told.append))
    assert (result["skipped_training_images"], result["skipped_images"]) == (1, 1)
    assert found.read("skipped")["images"] == [first, first | {"part": "test", "image": photos.test.files[2]}]
    assert [sentence.split()[0] for sentence in told] == ["skipped:"] * 2


def test_nothing_skipped_leaves_no_file(photos: PhotoDataset, tmp_path: Path) -> None:
    """And a file that was damaged is named."""
    trial = make_photo_trial(photos, data__on_bad_image="skip", recipe__iterations="1")
    assert train_alone(trial, photos, tmp_path / "runs")["skipped_training_images"] == 0
    (found,) = list_runs(tmp_path / "runs")
    assert not (found.path / "skipped.json").exists()
    (found.path / "result.json").unlink()
    (found.path / "skipped.json").write_text('{"images": [{"part": "somewhere"}]}')
    with pytest.raises(UserError, match=r"skipped\.json is damaged .*; remove this file to resume the run"):
        train_alone(trial, photos, tmp_path / "runs")


def repeat(split: PhotoSplit, times: int) -> PhotoSplit:
    return PhotoSplit(split.root, split.files * times, np.tile(split.targets, times))


def train_skipping(processes: Processes, trial: Trial, photos: PhotoDataset, root: Path) -> int:
    return run_trial(trial, photos, root, processes=processes).result()["skipped_training_images"]


def test_the_first_process_records_what_others_skipped(photos: PhotoDataset, tmp_path: Path) -> None:
    """Each has met one of two bad images."""
    photos = replace(photos, train=repeat(photos.train, 20))
    trial = make_photo_trial(photos, data__on_bad_image="skip", recipe__iterations="1", recipe__evaluate_every="1")
    keys = PhotoSampler(count=len(photos.train), seed=trial.seed).draw(0, 8)
    ours, theirs = ({image % 24 for _, image in half} for half in (keys[:4], keys[4:]))
    ours, theirs = min(ours - theirs), min(theirs - ours)
    for image in (ours, theirs):
        photos.train.path(image).write_bytes(b"")
    assert run_in_processes(train_skipping, 2, trial, photos, tmp_path / "runs") == [2, 2]
    (found,) = list_runs(tmp_path / "runs")
    images = {one["image"] for one in found.read("skipped")["images"]}
    assert images == {photos.train.files[image] for image in (ours, theirs)}


def test_on_photographs_a_run_stopped_and_resumed_ends_the_same(photos: PhotoDataset, tmp_path: Path) -> None:
    """Bit for bit, mixing and colours included."""
    trial = make_photo_trial(photos, recipe__augmentation__mixup="0.4", recipe__augmentation__colour="0.1")
    whole = run_trial(trial, photos, tmp_path / "whole")
    with pytest.raises(Stopped):
        train_alone(trial, photos, tmp_path / "parts", listener=Listener(should_stop=stop_after(5)))
    parts = run_trial(trial, photos, tmp_path / "parts")
    assert outcome(whole) == outcome(parts)


@pytest.mark.parametrize("stop", [4, 6])
def test_crops_that_grow_resume_exactly(photos: PhotoDataset, tmp_path: Path, stop: int) -> None:
    """Stopped before they grow or just as they do: the same bits; tests see the whole size all along."""
    fields = {"recipe__iterations": "12", "recipe__evaluate_every": "12", "recipe__augmentation__cutmix": "1"}
    trial = make_photo_trial(photos, **GROWING, **fields)
    task = make_task(trial, photos, device="cpu")
    assert [len(task.load(step, 7)[0]) for step in (4, 5, 6)] == [2, 1, 7]
    assert [task.load(step, 1)[0].shape[-1] for step in (0, 5, 6, 11)] == [32, 32, 64, 64]
    assert {images.shape[-1] for images, *_ in task.feed.tests()} == {64}
    whole = run_trial(trial, photos, tmp_path / "whole")
    with pytest.raises(Stopped):
        train_alone(trial, photos, tmp_path / "parts", listener=Listener(should_stop=stop_after(stop - 1)))
    parts = run_trial(trial, photos, tmp_path / "parts")
    assert outcome(whole) == outcome(parts)
    assert math.isfinite(whole.result()["train_loss"])


def train_share(processes: Processes, trial: Trial, photos: PhotoDataset, root: Path) -> list[dict[str, float]]:
    return StepLog(run_trial(trial, photos, root, processes=processes).path / "metrics.jsonl").read()


@pytest.mark.slow
def test_crops_grow_in_all_processes(photos: PhotoDataset, tmp_path: Path) -> None:
    """Two that normalize the whole batch have the losses of one."""
    fields = {"recipe__sync_norms": "true", "recipe__iterations": "6", "recipe__evaluate_every": "1"}
    trial = make_photo_trial(photos, **GROWING, **fields)
    one = train_share(ALONE, trial, photos, tmp_path / "one")
    two, _ = run_in_processes(train_share, 2, trial, photos, tmp_path / "two")
    losses = [[entry["train_loss"] for entry in log] for log in (one, two)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert len(losses[0]) == 6


def train_warned(processes: Processes, trial: Trial, photos: PhotoDataset, root: Path) -> list[str]:
    told: list[str] = []
    run_trial(trial, photos, root, processes=processes, listener=Listener(warn=told.append))
    return told


@pytest.mark.slow
def test_bad_images_are_named_whoever_meets_them(photos: PhotoDataset, tmp_path: Path) -> None:
    """The first process, which alone prints, names those of the others' shares too, each once."""
    trial = make_photo_trial(photos, data__on_bad_image="skip", recipe__iterations="2", recipe__evaluate_every="1")
    bad = photos.test.path(len(photos.test) - 1)
    bad.write_bytes(b"")
    told, _ = run_in_processes(train_warned, 2, trial, photos, tmp_path / "runs")
    assert [sentence.split(" is ")[0] for sentence in told] == [f"skipped: {bad}"]


def test_from_shards_it_is_the_same_run(photos: PhotoDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same trial, and the same bits of metrics and weights, a mean image included."""
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "root"))
    write_shards(photos.root, tmp_path / "shards" / "photos", size=8_000)
    shards = read_photos(tmp_path / "shards" / "photos")
    trials = [make_photo_trial(dataset, recipe="imagenet-paper") for dataset in (photos, shards)]
    assert trials[0].id == trials[1].id
    ours = run_trial(trials[0], photos, tmp_path / "from files")
    theirs = run_trial(trials[1], shards, tmp_path / "from shards")
    assert outcome(ours) == outcome(theirs)


def test_the_papers_preset_subtracts_a_mean_image(photos: PhotoDataset, tmp_path: Path) -> None:
    """Which is stored with the weights; the averages of normalizations are exact."""
    trial = make_photo_trial(photos, recipe="imagenet-paper")
    assert trial.recipe.augmentation.crop == "shorter-side"
    assert trial.recipe.exact_norms
    train_alone(trial, photos, tmp_path / "runs")
    network = load_model(list_runs(tmp_path / "runs")[0].weights)
    assert network.preprocess is not None
    assert network.preprocess.per_pixel_mean
    assert network.mean_image is not None
    assert network.mean_image.shape == (3, 24, 24)


def test_the_mean_image_is_computed_once_and_kept(
    photos: PhotoDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that goes on reads it, and refuses one that was damaged."""
    trial = make_photo_trial(photos, recipe="imagenet-paper")
    with pytest.raises(Stopped):
        train_alone(trial, photos, tmp_path / "runs", listener=Listener(should_stop=stop_after(4)))
    (found,) = list_runs(tmp_path / "runs")
    kept = (found.path / "mean.safetensors").read_bytes()
    (found.path / "mean.safetensors").write_bytes(kept[:-4] + b"\0\0\0\1")
    with pytest.raises(UserError, match=r"mean\.safetensors"):
        train_alone(trial, photos, tmp_path / "runs")
    (found.path / "mean.safetensors").write_bytes(kept)
    monkeypatch.setattr(of_photos, "mean_photo", None)
    parts = run_trial(trial, photos, tmp_path / "runs")
    monkeypatch.undo()
    whole = run_trial(trial, photos, tmp_path / "whole")
    assert outcome(whole) == outcome(parts)


def test_the_words_of_classes_go_with_the_weights(photos: PhotoDataset, tmp_path: Path) -> None:
    """Those of its classes; where they cannot be read, that is told before anything is trained."""
    write_words(photos.root, {"blues": "blue things", "mauves": "no class of these"})
    trial = make_photo_trial(photos, recipe__iterations="1")
    trained = run_trial(trial, photos, tmp_path / "runs")
    assert load_model(trained.weights).class_words == {"blues": "blue things"}
    (photos.root / "classes.json").write_text("[")
    with pytest.raises(UserError, match=r"classes\.json cannot be read"):
        run_trial(replace(trial, seed=1), photos, tmp_path / "runs")
    assert not list((tmp_path / "runs").glob("*/metrics.jsonl"))[1:]


def test_balanced_sampling_is_resumed(tmp_path: Path) -> None:
    """Stopped and resumed it ends the same, bit for bit."""
    uneven = read_folder(make_photos(tmp_path / "uneven", train=18, val=4, counts={"greens": 2}))
    trial = make_photo_trial(uneven, recipe__sampling="balanced", recipe__iterations="12", recipe__evaluate_every="6")
    whole = run_trial(trial, uneven, tmp_path / "whole")
    with pytest.raises(Stopped):
        train_alone(trial, uneven, tmp_path / "parts", listener=Listener(should_stop=stop_after(4)))
    parts = run_trial(trial, uneven, tmp_path / "parts")
    assert outcome(whole) == outcome(parts)


@pytest.mark.parametrize("shape", [(24,), (6, 6, 6)])
def test_networks_learn_from_sequences_and_volumes(shape: tuple[int, ...], tmp_path: Path) -> None:
    """The data say how many axes of space there are; a test of the weights gives what the run found."""
    random = np.random.default_rng(0)
    targets = (np.arange(160) % 2).astype(np.uint8)
    values = random.integers(0, 120, (160, 1, *shape), dtype=np.uint8)
    values[targets == 1] += 60
    train, test = (ArraySplit(values[part], targets[part]) for part in (slice(120), slice(120, None)))
    made = ArrayDataset(name="made", class_names=("low", "high"), train=train, test=test, usual_recipe="digits")
    fields = {"network": "cifar-resnet-8", "recipe.iterations": 20, "recipe.evaluate_every": 10, "recipe.batch": 32}
    trial = read_trial(fields | {"recipe.augmentation.padding": 0, "recipe.precision": "fp32"}, made)
    assert trial.network.input_shape == (1, *shape)
    run = run_trial(trial, made, tmp_path)
    result = run.result()
    assert result["error_percent"] < 20
    assert not (run.path / "gallery.json").exists()  # nobody could see it
    assert evaluate_subject(choose_inputs(load_run(run), made))["loss"] == pytest.approx(result["loss"], rel=1e-4)
    with pytest.raises(UserError, match=r"recipe\.augmentation\.padding is 1, which is for images; set it to 0"):
        run_trial(read_trial(fields | {"recipe.augmentation.padding": 1}, made), made, tmp_path)
    with pytest.raises(UserError, match="takes inputs of 1 x"):
        run_trial(read_trial(fields | {"network.dimensions": 2}, made), made, tmp_path)


def test_what_iterations_turn_out_to_run_by_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device with too little memory takes the parts of a batch one after the other, which changes the last bits."""

    def assemble_and_give_up_lanes(*given: Any, **options: Any) -> Stepper:
        stepper = assemble(*given, **options)
        stepper.runtime = replace(stepper.runtime, lanes=2)
        advance = stepper.advance

        def give_up(step: int, **options: Any) -> None:
            stepper.runtime = replace(stepper.runtime, lanes=1)
            advance(step, **options)

        monkeypatch.setattr(stepper, "advance", give_up)
        return stepper

    monkeypatch.setattr(running, "assemble", assemble_and_give_up_lanes)
    run = run_trial(make_trial(), DIGITS, tmp_path)
    (sitting,) = run.read("provenance")["sittings"]
    assert sitting["lanes"] == 1
