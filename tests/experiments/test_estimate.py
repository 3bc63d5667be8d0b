"""Estimates beside what runs really take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.trials import DIGITS, make_digits_trial, stop_after
from torch import Tensor

from reslab.experiments import estimate as estimating
from reslab.experiments.estimate import (
    Speed,
    estimate_run,
    estimate_set,
    measure_speed,
)
from reslab.experiments.run import run_trial
from reslab.networks import Network, measure_cost
from reslab.runs.directory import RunDirectory
from reslab.runtime.execution import Execution
from reslab.runtime.listener import Listener
from reslab.runtime.timing import Timing
from reslab.spec import find
from reslab.spec.trial import Trial
from reslab.training.loop import Stopped

SPEED = Speed(iteration_seconds=2.0, test_seconds=0.1)


def make_trial(**recipe: object) -> Trial:
    return make_digits_trial(**{"iterations": 20, "batch": 32, "evaluate_every": 8} | recipe)


def test_time_is_iterations_and_evaluations(tmp_path: Path) -> None:
    """Twenty iterations, three evaluations of 355 images, and the test at the end; epochs over all training images."""
    estimate = estimate_run(make_trial(), DIGITS, RunDirectory(tmp_path), speed=SPEED, device="cpu")
    assert (estimate.iterations, estimate.done) == (20, 0)
    assert estimate.seconds == pytest.approx(20 * 2.0 + 4 * len(DIGITS.test) * 0.1)
    assert estimate.epochs == pytest.approx(20 * 32 / len(DIGITS.train))


def test_exact_statistics_take_an_epoch_more(tmp_path: Path) -> None:
    """Of forward passes, over all images that are trained on."""
    run = RunDirectory(tmp_path)
    without, exact = (
        estimate_run(make_trial(exact_norms=exact), DIGITS, run, speed=SPEED, device="cpu") for exact in (False, True)
    )
    assert exact.seconds - without.seconds == pytest.approx(len(DIGITS.train) * 0.1)


def test_what_is_frozen_is_not_timed_backward(monkeypatch: pytest.MonkeyPatch) -> None:
    """The network that is timed trains what the trial trains; trials that freeze differently are timed each."""
    timed: list[int] = []

    def measure(network: Network, images: Tensor, **_: object) -> Timing:
        timed.append(sum(weight.requires_grad for weight in network.parameters()))
        return Timing(forward_seconds=1.0, step_seconds=10.0)

    monkeypatch.setattr(estimating, "measure_usual", measure)
    whole, frozen = make_trial(), make_trial(freeze="body")
    for trial in (whole, frozen):
        measure_speed(trial, device="cpu")
    assert timed[-1] == 2  # the classifier's weight and bias
    assert timed[0] > 2
    timed.clear()
    estimate_set([whole, frozen], DIGITS, Path("nowhere"), together=1, device="cpu")
    assert len(set(timed)) == 2


def test_small_crops_take_less_time(tmp_path: Path) -> None:
    """Ten iterations on a quarter of the pixels and ten on all of them; of a run that is in the last ten, those."""
    trial = replace(
        make_trial(**{"resizing.initial": 0.5, "resizing.stages": 2}),
        network=find("cifar-resnet-8", {"channels": 1, "input_size": 64}),
    )
    run, test = RunDirectory(tmp_path), 4 * len(DIGITS.test) * 0.1
    estimate = estimate_run(trial, DIGITS, run, speed=SPEED, device="cpu")
    assert estimate.seconds == pytest.approx((10 / 4 + 10) * 2.0 + test)
    run.checkpoints.mkdir()
    (run.checkpoints / "step-000014.safetensors").touch()
    estimate = estimate_run(trial, DIGITS, run, speed=SPEED, device="cpu")
    assert estimate.seconds == pytest.approx(6 * 2.0 + test * 3 / 4)


def test_tuning_has_its_own_sizes(tmp_path: Path) -> None:
    """A tenth of the training images is tested instead."""
    trial = make_trial()
    trial = replace(trial, data=replace(trial.data, split="tuning"))
    estimate = estimate_run(trial, DIGITS, RunDirectory(tmp_path), speed=SPEED, device="cpu")
    held_back = len(DIGITS.train) // 10
    assert estimate.seconds == pytest.approx(20 * 2.0 + 4 * held_back * 0.1)
    assert estimate.epochs == pytest.approx(20 * 32 / (len(DIGITS.train) - held_back))


def test_what_is_done_is_not_counted_again(tmp_path: Path) -> None:
    """A run stopped after its twelfth iteration has eight to go, two evaluations and the test."""
    with pytest.raises(Stopped):
        run_trial(make_trial(), DIGITS, tmp_path, listener=Listener(should_stop=stop_after(11)))
    run = RunDirectory.of(make_trial(), tmp_path)
    estimate = estimate_run(make_trial(), DIGITS, run, speed=SPEED, device="cpu")
    assert estimate.done == 12
    assert estimate.seconds == pytest.approx(8 * 2.0 + 3 * 355 * 0.1)


@pytest.mark.parametrize("fields", [{}, {"average_decay": 0.9, "optimizer.kind": "adamw"}, {"freeze": "body"}], ids=str)
def test_disk_is_what_a_run_takes(fields: dict[str, object], tmp_path: Path) -> None:
    """Within a fifth."""
    trial = make_trial(**fields)
    run = run_trial(trial, DIGITS, tmp_path)
    taken = sum(path.stat().st_size for path in run.path.rglob("*") if path.is_file())
    estimate = estimate_run(trial, DIGITS, RunDirectory(tmp_path / "new"), speed=SPEED, device="cpu")
    assert estimate.disk_bytes == pytest.approx(taken, rel=0.2)


def test_memory_grows_with_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an image's activations for each image, less with accumulation, half in bf16; averaging adds a copy."""
    monkeypatch.setattr(estimating, "used_memory", lambda device: 1_000)

    def memory(**recipe: object) -> int:
        return estimate_run(
            make_trial(**recipe), DIGITS, RunDirectory(tmp_path), speed=SPEED, device="cpu"
        ).memory_bytes

    kept = measure_cost(make_trial().network).activation_bytes
    fp32 = {"precision": "fp32"}
    parameters = 4 * measure_cost(make_trial().network).params
    assert memory(**fp32, batch=64) - memory(**fp32) == kept * 32
    assert memory(**fp32, batch=64) - memory(**fp32, batch=64, accumulate=2) == kept * 32
    assert memory(**fp32) - memory() == pytest.approx((kept * 32 - parameters) / 2, rel=0.1)
    assert memory(average_decay=0.9) - memory() == pytest.approx(parameters, rel=0.05)
    assert memory() > 1_000 + 3 * parameters + kept * 16
    resident = memory(**fp32)
    monkeypatch.setenv("RESLAB_BATCHES", "resident")
    assert memory(**fp32) - resident == 1 * 10 * 10 * (len(DIGITS.train) + len(DIGITS.test))


def test_measuring_leaves_no_trace() -> None:
    """Of itself in the random state; times are positive, and an iteration takes longer than testing its images."""
    before = torch.get_rng_state()
    speed = measure_speed(make_trial(precision="fp32"), device="cpu")
    assert torch.equal(torch.get_rng_state(), before)
    assert 0 < speed.test_seconds * 32 < speed.iteration_seconds


def test_testing_is_timed_in_the_precision_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """In float32, whatever the iterations are in."""
    asked: list[tuple[object, object]] = []

    def measure_usual(*_: object, execution: Execution, forward_precision: str, **__: object) -> estimating.Timing:
        asked.append((execution.precision, forward_precision))
        return estimating.Timing(forward_seconds=0.1, step_seconds=0.4)

    monkeypatch.setattr(estimating, "measure_usual", measure_usual)
    measure_speed(make_trial(precision="bf16"), device="cpu")
    assert set(asked) == {("bf16", "fp32")}


def test_measuring_is_scaled_to_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow network is timed on a few images, a fast one on as many as go through at once."""
    timed: list[int] = []

    def measure(seconds_an_image: float):
        def measure_usual(network: object, images: torch.Tensor, **_: object) -> estimating.Timing:
            timed.append(len(images))
            seconds = seconds_an_image * len(images)
            return estimating.Timing(forward_seconds=seconds / 4, step_seconds=seconds)

        return measure_usual

    monkeypatch.setattr(estimating, "SECONDS", 0.02)
    for seconds, size in ((1.0, 4), (1e-5, 16)):
        monkeypatch.setattr(estimating, "measure_usual", measure(seconds))
        speed = measure_speed(make_trial(accumulate=2), device="cpu")
        assert speed.iteration_seconds == pytest.approx(32 * seconds)
        assert speed.test_seconds == pytest.approx(seconds / 4)
        assert timed[-1] == size


def test_an_image_is_cheaper_among_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of 0.6 s and 0.1 s an image, timed on 4 and 8, is reckoned right for 32; noise is kept in bounds."""

    def measure(base: float, image: float):
        return lambda network, images, **_: estimating.Timing(
            forward_seconds=(base + image * len(images)) / 4, step_seconds=base + image * len(images)
        )

    monkeypatch.setattr(estimating, "SECONDS", 2.0)
    monkeypatch.setattr(estimating, "measure_usual", measure(0.6, 0.1))
    speed = measure_speed(make_trial(), device="cpu")
    assert speed.iteration_seconds == pytest.approx(0.6 + 32 * 0.1)
    assert speed.test_seconds == pytest.approx(3.8 / 32 / 4)
    monkeypatch.setattr(estimating, "measure_usual", measure(1.8, 0.0))
    assert measure_speed(make_trial(), device="cpu").iteration_seconds == pytest.approx(1.8 + 24 * 1.8 / 8 / 2)


def test_a_set_is_the_sum_of_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest network is timed; time and disk add up, memory as many times as trials run at once."""
    monkeypatch.setattr(estimating, "used_memory", lambda device: 1_000)
    timed: list[Trial] = []
    monkeypatch.setattr(estimating, "measure_speed", lambda trial, *, device: timed.append(trial) or SPEED)
    small = make_trial()
    large = replace(small, network=find("cifar-resnet-14", {"channels": 1, "input_size": 8}))
    trials = [large, small, replace(small, seed=2)]
    sets = [estimate_set(trials, DIGITS, tmp_path, together=count, device="cpu") for count in (1, 2, 3)]
    assert timed == [small] * 3
    alone = [
        estimate_run(trial, DIGITS, RunDirectory.of(trial, tmp_path), speed=SPEED, device="cpu") for trial in trials
    ]
    slower = measure_cost(large.network).multiply_adds / measure_cost(small.network).multiply_adds
    needs = [estimate.memory_bytes - 1_000 for estimate in alone]
    for count, estimate in enumerate(sets, start=1):
        assert estimate.seconds == pytest.approx((slower + 2) * alone[1].seconds)
        assert estimate.disk_bytes == sum(one.disk_bytes for one in alone)
        assert estimate.memory_bytes == 1_000 + sum(needs[:count])


def test_each_precision_of_a_set_is_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is no guide to the speed of the other."""
    seconds = {"fp32": 8.0, "bf16": 2.0}
    monkeypatch.setattr(
        estimating,
        "measure_speed",
        lambda trial, *, device: Speed(iteration_seconds=seconds[trial.recipe.precision], test_seconds=0.0),
    )
    trials = [make_trial(precision=precision) for precision in ("fp32", "bf16", "fp32")]
    estimate = estimate_set(trials, DIGITS, tmp_path, together=1, device="cpu")
    assert estimate.seconds == pytest.approx(20 * (8.0 + 2.0 + 8.0))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_measuring_on_cuda_leaves_no_trace() -> None:
    """Captured like the run itself; the random states stay."""
    before = torch.get_rng_state(), torch.cuda.get_rng_state()
    speed = measure_speed(make_trial(), device="cuda")
    assert torch.equal(torch.get_rng_state(), before[0])
    assert torch.equal(torch.cuda.get_rng_state(), before[1])
    assert 0 < speed.iteration_seconds < 1
