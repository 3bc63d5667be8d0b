"""The loop itself, on toys: when it evaluates, saves and stops, at which rates it trains, and what it tells of that."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.processes import run_in_processes
from tests.training.toys import (
    BATCH,
    NO_GRADIENT,
    NO_LOSS,
    RECIPE,
    Journal,
    Slope,
    Toy,
    make_learner,
    make_slope,
    put_together,
)
from torch import Tensor

from reslab.errors import UserError
from reslab.networks import Network
from reslab.runtime.processes import Processes
from reslab.spec.optimization import OptimizerSpec, ScheduleSpec, WarmupSpec
from reslab.spec.recipe import Recipe
from reslab.training import loop
from reslab.training.checkpoint import load_newest, save_checkpoint
from reslab.training.loop import Stopped, fit
from reslab.training.stepping import Stepper

LEARNING = replace(RECIPE, optimizer=OptimizerSpec(learning_rate=0.2))
WRONGS = (9, 8, 9, 5, 6, 4, 2, 1)
Weights = dict[str, Tensor]


def sit(task: Toy, journal: Journal, recipe: Recipe = LEARNING, *, network: Network | None = None) -> Weights:
    """Train until the end or a stop, from a new network, and return what it then has."""
    stepper = put_together(task, network or make_learner(), recipe)
    with contextlib.suppress(Stopped):
        fit(stepper, journal.surroundings)
    return {name: tensor.clone() for name, tensor in stepper.state.network.state_dict().items()}


def slide(journal: Journal, recipe: Recipe = RECIPE, *, wrongs: tuple[int, ...] = ()) -> list[float]:
    """Train a slope, and return by how much each iteration changed it: the rates that were used."""
    network = make_slope()
    heights: list[float] = [0.0]
    journal.watch = lambda: heights.append(-network.get_parameter("steps.logits.bias").item())
    sit(Slope(wrongs), journal, recipe, network=network)
    return [after - before for before, after in itertools.pairwise(heights)]


def assert_same(one: Weights, other: Weights) -> None:
    """To the bit."""
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        assert torch.equal(tensor, other[name]), name


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"average_decay": 0.7, "average_from": 0.3},
        {"accumulate": 2, "schedule": ScheduleSpec(kind="one-cycle")},
        {"warmup": WarmupSpec(learning_rate=0.01, until_error_percent=70, window=3)},
        {"optimizer": OptimizerSpec(kind="adamw", decay="weights"), "warmup": WarmupSpec(iterations=5)},
        {"optimizer": OptimizerSpec(bias_rate=2.0, head_decay=10.0, decay="weights")},
        {"keep_best": "loss", "stop_after": 3, "average_decay": 0.7},
    ],
    ids=str,
)
def test_stopped_after_every_iteration_it_ends_the_same(options: dict[str, object], tmp_path: Path) -> None:
    """Weights, statistics and all that was recorded, to the bit, though every sitting begins with other weights."""
    recipe = replace(LEARNING, **options)
    whole, pieces = Journal(tmp_path / "whole"), Journal(tmp_path / "pieces")
    expected = sit(Toy(WRONGS), whole, recipe)
    weights: Weights = {}
    for step in range(1, recipe.iterations + 1):
        pieces.stop_at = step
        task = Toy(WRONGS)
        weights = sit(task, pieces, recipe, network=make_learner(seed=step))
        assert (pieces.step, pieces.checkpoints[-1], len(task.seen)) == (step, step, recipe.accumulate)
    assert_same(weights, expected)
    assert pieces.records == whole.records
    assert pieces.rewinds == [(0, 0), (1, 0), (2, 0), (3, 3), (4, 3), (5, 3), (6, 6), (7, 6)]
    assert whole.rewinds == [(0, 0)]


def test_a_checkpoint_of_versions_before_is_gone_on_from(tmp_path: Path) -> None:
    """Their tally had two counts of wrong images and no names; the run ends the same to the bit, warm-up included."""
    recipe = replace(LEARNING, warmup=WarmupSpec(learning_rate=0.01, until_error_percent=70, window=3))
    whole, parts = Journal(tmp_path / "whole"), Journal(tmp_path / "parts", stop_at=5)
    expected = sit(Toy(WRONGS), whole, recipe)
    sit(Toy(WRONGS), parts, recipe)
    saved = load_newest(parts.folder, parts.surroundings.listener)
    assert saved is not None
    tally = saved.values["tally"]
    old = {"loss": tally["loss"], "wrong": 11, "last_wrong": 6, "failed_at": None}
    assert (tally["sums"], tally["last"]) == ({"wrong": 11}, {"wrong": 6})
    save_checkpoint(parts.folder, replace(saved, values=saved.values | {"tally": old}))
    parts.stop_at = None
    assert_same(sit(Toy(WRONGS), parts, recipe), expected)
    assert parts.records == whole.records


def test_a_stop_is_told_and_its_state_saved(tmp_path: Path) -> None:
    """By an exception; nothing is recorded, for nothing was evaluated."""
    journal = Journal(tmp_path, stop_at=2)
    with pytest.raises(Stopped):
        fit(put_together(Toy(), make_learner()), journal.surroundings)
    assert (journal.step, journal.checkpoints, journal.records) == (2, [2], [])


def test_a_wish_to_stop_at_the_end_stops_nothing(tmp_path: Path) -> None:
    """The run is through; taken up again it trains no more, and is what it was."""
    journal = Journal(tmp_path, stop_at=RECIPE.iterations)
    stepper = put_together(Toy(), make_learner())
    fit(stepper, journal.surroundings)
    assert journal.checkpoints == [6, 8]
    task, records = Toy(), list(journal.records)
    again = sit(task, journal, RECIPE, network=make_learner(seed=2))
    assert_same(again, stepper.network.state_dict())
    assert (task.seen, journal.records) == ([], records)


def test_killed_it_goes_on_from_what_was_saved_last(tmp_path: Path) -> None:
    """From the evaluation before; what was recorded since is told to be taken back, and comes again to the bit."""
    whole, killed = Journal(tmp_path / "whole"), Journal(tmp_path / "killed", die_at=6)
    expected = sit(Toy(WRONGS), whole)
    with pytest.raises(KeyboardInterrupt):
        sit(Toy(WRONGS), killed)
    assert [record["step"] for record in killed.records] == [3, 6]  # the second one is ahead of the checkpoint
    assert killed.checkpoints == [3]
    killed.die_at = None
    assert_same(sit(Toy(WRONGS), killed, network=make_learner(seed=2)), expected)
    assert killed.rewinds == [(0, 0), (3, 3)]
    assert killed.records == whole.records


def test_a_damaged_checkpoint_is_told_and_the_one_before_used(tmp_path: Path) -> None:
    """And what was recorded after that one is taken back."""
    journal = Journal(tmp_path, stop_at=7)
    sit(Toy(), journal)
    (tmp_path / "step-00000007.safetensors").write_bytes(b"")
    journal.stop_at = None
    weights = sit(Toy(), journal)
    assert journal.rewinds[-1] == (6, 6)
    assert ["step-00000007" in warning for warning in journal.warnings] == [True]
    assert_same(weights, sit(Toy(), Journal(tmp_path / "whole")))


def test_long_stretches_are_saved_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute after the last save, whichever that was: here an iteration takes twenty-five seconds."""
    task, journal = Toy(), Journal(tmp_path)
    saved: list[int] = []
    journal.watch = lambda: saved.extend(set(journal.checkpoints) - set(saved))
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: 25.0 * len(task.seen)))
    sit(task, journal, replace(LEARNING, iterations=12, evaluate_every=5))
    assert saved + journal.checkpoints[-1:] == [3, 5, 8, 10, 12]


@pytest.mark.parametrize(("iterations", "every", "steps"), [(8, 3, [3, 6, 8]), (6, 3, [3, 6]), (2, 5, [2])])
def test_it_evaluates_at_regular_steps_and_at_the_last(
    iterations: int, every: int, steps: list[int], tmp_path: Path
) -> None:
    """Once each, after it is said, before it is recorded; then progress has the new scores, up to there the old."""
    journal = Journal(tmp_path)
    sit(Toy(), journal, replace(LEARNING, iterations=iterations, evaluate_every=every))
    moments = []
    for step in range(1, iterations + 1):
        names = ["evaluating", "record", "progress"] if step in steps else ["progress"]
        moments += [(name, step) for name in names]
    assert journal.moments == moments
    for step, shown in enumerate(journal.shown, start=1):
        assert shown == next((record for record in reversed(journal.records) if record["step"] <= step), {})


def test_what_is_recorded_is_what_happened(tmp_path: Path) -> None:
    """Losses and errors are means over the iterations since the last evaluation; the rate is the last one's."""
    task, journal = Toy(WRONGS), Journal(tmp_path)
    sit(task, journal)
    seen = task.seen
    expected = [
        {"step": 3, "images": 30, "learning_rate": 0.2, "train_loss": sum(seen[:3]) / 3},
        {"step": 6, "images": 60, "learning_rate": 0.02, "train_loss": sum(seen[3:6]) / 3},
        {"step": 8, "images": 80, "learning_rate": 0.002, "train_loss": sum(seen[6:]) / 2},
    ]
    errors = [100 * (9 + 8 + 9) / 30, 100 * (5 + 6 + 4) / 30, 100 * (2 + 1) / 20]
    for record, values, error in zip(journal.records, expected, errors, strict=True):
        assert record.pop("test_loss") > 0
        assert record == pytest.approx({**values, "train_error_percent": error}, rel=1e-12)


def test_what_is_evaluated_is_the_network_after_the_iteration(tmp_path: Path) -> None:
    """A slope has then gone down by all rates so far."""
    journal = Journal(tmp_path)
    slide(journal)
    assert [record["test_loss"] for record in journal.records] == pytest.approx([-0.3, -0.42, -0.422])


def test_the_average_is_evaluated_and_left_in_the_end(tmp_path: Path) -> None:
    """It begins as the network is after its first iteration, and goes half of the way at each of the others."""
    recipe = replace(RECIPE, average_decay=0.5, schedule=ScheduleSpec(kind="constant"))
    averages = [-0.1]
    for step in range(2, 9):
        averages.append((averages[-1] - 0.1 * step) / 2)
    journal, network = Journal(tmp_path), make_slope()
    sit(Slope(), journal, recipe, network=network)
    assert [record["test_loss"] for record in journal.records] == pytest.approx([averages[i] for i in (2, 5, 7)])
    assert network.get_parameter("steps.logits.bias").item() == pytest.approx(averages[-1])


@dataclass
class Rated(Toy):
    """Evaluations with these ratings, one an iteration."""

    ratings: tuple[float, ...] = ()

    def rate_choice(self, metrics: Mapping[str, float]) -> float:
        return self.ratings[int(metrics["step"]) - 1]


@pytest.mark.parametrize("average_decay", [0.0, 0.7])
@pytest.mark.parametrize(
    ("ratings", "best", "ends"),
    [
        ((1, 3, 2, 3, 5, 4, 6, 4), 7, 8),
        ((1, 3, 2, 3, 1, 9, 9, 9), 2, 5),  # three evaluations without a better one
        ((math.nan, -1, math.nan, math.inf, -3), 2, 5),  # no number is ever better
        ((math.nan,) * 3, None, 3),
    ],
)
def test_the_best_weights_are_kept_and_it_stops_early(
    ratings: tuple[float, ...], best: int | None, ends: int, average_decay: float, tmp_path: Path
) -> None:
    """What was judged at the best step, or the last where none was; stopped after every iteration, to the bit."""
    plain = replace(LEARNING, evaluate_every=1, average_decay=average_decay)
    recipe = replace(plain, keep_best="loss", stop_after=3)
    until = Journal(tmp_path / "until", snapshot_at=frozenset({best or ends}))
    sit(Toy(), until, plain)
    whole, pieces = Journal(tmp_path / "whole"), Journal(tmp_path / "pieces")
    weights = sit(Rated(ratings=ratings), whole, recipe)
    assert_same(weights, until.snapshots[0][1])
    assert (whole.records[-1]["step"], whole.records[-1].get("best_step")) == (ends, best)
    for step in range(1, ends + 1):
        pieces.stop_at = step
        weights = sit(Rated(ratings=ratings), pieces, recipe, network=make_learner(seed=step))
    assert_same(weights, until.snapshots[0][1])
    assert pieces.records == whole.records


def test_a_stopped_run_keeps_its_own_weights_beside_their_average(tmp_path: Path) -> None:
    """Only the end makes one of the two."""
    network = make_slope()
    sit(Slope(), Journal(tmp_path, stop_at=3), replace(RECIPE, average_decay=0.5), network=network)
    assert network.get_parameter("steps.logits.bias").item() == pytest.approx(-0.3)


def test_the_rate_drops_at_its_iterations(tmp_path: Path) -> None:
    """By what the weights moved: after a half and three quarters of the run, and not one iteration off."""
    assert slide(Journal(tmp_path)) == pytest.approx([0.1] * 4 + [0.01] * 2 + [0.001] * 2, rel=1e-3)


@pytest.mark.parametrize(
    ("window", "wrongs", "warm"),
    [
        (1, (9, 6, 4, 9, 9, 9, 9, 9), 3),  # below at once, and what comes later is nothing to it
        (3, (0, 0, 9, 0, 0, 0, 0, 0), 3),  # not before there are three
        (3, (9, 9, 3, 3, 9, 2, 3, 9), 6),  # 14 of 30
        (3, (5, 5, 5, 5, 5, 4, 5, 5), 6),  # at the bound is not below it
        (3, (9, 9, 9, 9, 9, 9, 0, 0), 8),
        (3, (9,) * 8, 9),  # never
    ],
)
def test_a_warm_up_ends_when_the_error_of_its_window_is_below_the_bound(
    window: int, wrongs: tuple[int, ...], warm: int, tmp_path: Path
) -> None:
    """By what the weights moved: its own rate up to there, then the schedule's, as if there had been no warm-up."""
    warmup = WarmupSpec(learning_rate=0.03, until_error_percent=50, window=window)
    recipe = replace(RECIPE, warmup=warmup)
    scheduled = [0.1] * 4 + [0.01] * 2 + [0.001] * 2
    rates = ([0.03] * warm + scheduled[warm:])[:8]
    assert slide(Journal(tmp_path / "rates"), recipe, wrongs=wrongs) == pytest.approx(rates, rel=1e-3)
    journal = Journal(tmp_path / "records")
    slide(journal, replace(recipe, evaluate_every=1), wrongs=wrongs)
    assert [record["learning_rate"] for record in journal.records] == pytest.approx(rates)
    assert [record["train_error_percent"] for record in journal.records] == [10.0 * wrong for wrong in wrongs]
    told = [record.get("warmed_up_after") for record in journal.records]
    assert told == [warm if step >= warm else None for step in range(1, 9)]


def test_a_warm_up_remembers_its_window_over_a_stop(tmp_path: Path) -> None:
    """Stopped after two of the three iterations it needs, it ends with the first of the next sitting."""
    recipe = replace(RECIPE, warmup=WarmupSpec(learning_rate=0.03, until_error_percent=50, window=3))
    journal = Journal(tmp_path, stop_at=2)
    slide(journal, recipe, wrongs=(1, 1, 1, 9, 9, 9))
    journal.stop_at = None
    sit(Slope((1, 1, 1, 9, 9, 9)), journal, recipe, network=make_slope())
    assert [record["test_loss"] for record in journal.records] == pytest.approx([-0.09, -0.21, -0.212])


@pytest.mark.parametrize("averaged", [False, True])
def test_snapshots_are_of_what_is_judged_and_change_nothing(averaged: bool, tmp_path: Path) -> None:
    """After the iterations that are named, evaluated or not; the last is what the run ends with."""
    recipe = replace(LEARNING, average_decay=0.5 if averaged else 0.0)
    without, journal = Journal(tmp_path / "without"), Journal(tmp_path / "with", snapshot_at=frozenset({2, 3, 8, 99}))
    expected = sit(Toy(WRONGS), without, recipe)
    assert_same(sit(Toy(WRONGS), journal, recipe), expected)
    assert (journal.records, journal.moments) == (without.records, without.moments)
    assert [step for step, _ in journal.snapshots] == [2, 3, 8]
    assert_same(journal.snapshots[-1][1], expected)
    early = Journal(tmp_path / "early", snapshot_at=frozenset({2}), stop_at=2)
    sit(Toy(WRONGS), early, recipe)
    assert_same(early.snapshots[0][1], journal.snapshots[0][1])


def test_the_snapshot_of_step_0_is_what_training_starts_from(tmp_path: Path) -> None:
    """Shown once, by the sitting that starts there."""
    journal, toy = Journal(tmp_path, snapshot_at=frozenset({0, 3}), stop_at=4), Toy(WRONGS)
    begun = {name: tensor.clone() for name, tensor in make_learner().state_dict().items()}
    sit(toy, journal)
    journal.stop_at = None
    sit(Toy(WRONGS), journal)
    assert [step for step, _ in journal.snapshots] == [0, 3]
    assert_same(journal.snapshots[0][1], begun)


def test_a_snapshot_comes_before_the_run_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run killed in between shows it again, the same; one that is saved there does not."""
    monkeypatch.setattr(Stepper, "waiting_is_free", False)
    journal = Journal(tmp_path, snapshot_at=frozenset({3, 5}), stop_at=4)
    sit(Toy(WRONGS), journal)
    journal.stop_at, journal.die_at = None, 6
    with pytest.raises(KeyboardInterrupt):
        sit(Toy(WRONGS), journal)
    journal.die_at = None
    sit(Toy(WRONGS), journal)
    assert [step for step, _ in journal.snapshots] == [3, 5, 5]
    assert_same(journal.snapshots[1][1], journal.snapshots[2][1])


def test_no_snapshot_is_of_an_iteration_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where nobody waits for the device: what it would show is from before it."""
    monkeypatch.setattr(Stepper, "waiting_is_free", False)
    journal = Journal(tmp_path, snapshot_at=frozenset({5}))
    with pytest.raises(UserError, match="iteration 4 is not finite"):
        sit(Toy(troubles={4: NO_LOSS}), journal)
    assert (journal.snapshots, journal.step) == ([], 4)


@pytest.mark.parametrize("trouble", [NO_LOSS, NO_GRADIENT])
@pytest.mark.parametrize("waits", [True, False], ids=["told at once", "told at the next evaluation"])
def test_what_is_not_finite_changes_nothing_and_ends_the_run(
    trouble: int, waits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights, statistics, velocities and average are those from before it; it and its images are named."""
    monkeypatch.setattr(Stepper, "waiting_is_free", waits)
    recipe = replace(LEARNING, average_decay=0.5)
    journal = Journal(tmp_path)
    stepper = put_together(Toy(troubles={4: trouble}), make_learner(), recipe)
    sentence = r"the loss or a gradient of iteration 4 is not finite, on images 4\.1, 4\.2; checkpoints saved before it"
    with pytest.raises(UserError, match=sentence):
        fit(stepper, journal.surroundings)
    before = put_together(Toy(), make_learner(), recipe)
    with pytest.raises(Stopped):
        fit(before, Journal(tmp_path / "before", stop_at=4).surroundings)
    assert_same(stepper.state.tensors(), before.state.tensors())
    assert [record["step"] for record in journal.records] == [3]
    assert journal.checkpoints == [3]
    assert journal.step == (4 if waits else 5)


def test_float16_has_a_remedy_of_its_own(tmp_path: Path) -> None:
    """Where the loss itself is not finite no scale helps, and another precision may."""
    narrow = put_together(Toy(troubles={4: NO_LOSS}), make_learner(), replace(LEARNING, precision="fp16"))
    with pytest.raises(UserError, match=r"try recipe\.precision=bf16, which has a larger range, or a smaller"):
        fit(narrow, Journal(tmp_path).surroundings)


def test_gradients_that_overflow_are_passed_over_in_float16(tmp_path: Path) -> None:
    """That iteration changes nothing but the scale; where each one overflows the run ends, at the smallest scale."""
    recipe = replace(LEARNING, precision="fp16")
    ended, without = (Journal(tmp_path / name) for name in ("ended", "without"))
    stepper = put_together(Toy(troubles={4: NO_GRADIENT}), make_learner(), recipe)
    fit(stepper, ended.surroundings)
    assert stepper.state.scale is not None
    assert stepper.state.scale.factor == 512
    usual = put_together(Toy(), make_learner(), recipe)
    fit(usual, without.surroundings)
    assert not torch.equal(stepper.state.optimizer.weights.flat, usual.state.optimizer.weights.flat)
    assert [record["step"] for record in ended.records] == [record["step"] for record in without.records]
    troubled = Toy(troubles=dict.fromkeys(range(30), NO_GRADIENT))
    always = put_together(troubled, make_learner(), replace(recipe, iterations=30))
    with pytest.raises(UserError, match="a gradient of iteration 24 is not finite"):
        fit(always, Journal(tmp_path / "always").surroundings)


def test_the_scale_is_kept_where_a_run_is_stopped(tmp_path: Path) -> None:
    """Going on gives what a run never stopped gives, after an overflow too."""
    recipe, toy = replace(LEARNING, precision="fp16"), Toy(troubles={1: NO_GRADIENT})
    whole, parts = Journal(tmp_path / "whole"), Journal(tmp_path / "parts", stop_at=3)
    once, first, second = (put_together(toy, make_learner(), recipe) for _ in range(3))
    fit(once, whole.surroundings)
    with pytest.raises(Stopped):
        fit(first, parts.surroundings)
    parts.stop_at = None
    fit(second, parts.surroundings)
    assert once.state.tensors()["loss_scale"][0] == 512
    assert_same(second.state.tensors(), once.state.tensors())
    assert parts.records == whole.records


def test_what_was_saved_before_something_was_not_finite_can_be_gone_on_from(tmp_path: Path) -> None:
    """Where it does not come again, the run ends as if it had never been."""
    journal, whole = Journal(tmp_path), Journal(tmp_path / "whole")
    with pytest.raises(UserError, match="iteration 4 is not finite"):
        sit(Toy(WRONGS, troubles={4: NO_LOSS}), journal)
    assert_same(sit(Toy(WRONGS), journal), sit(Toy(WRONGS), whole))
    assert journal.records == whole.records


@pytest.mark.parametrize(
    ("stop_at", "troubles", "ending"), [(None, {}, None), (2, {}, Stopped), (None, {2: NO_LOSS}, UserError)]
)
def test_what_stood_in_for_the_networks_trunk_is_gone(
    stop_at: int | None,
    troubles: dict[int, int],
    ending: type[Exception] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However the run ends: here a compiled trunk, which every iteration ran."""
    calls: list[int] = []

    def run(forward: Callable[[Tensor], object], inputs: Tensor) -> object:
        calls.append(len(inputs))
        return forward(inputs)

    monkeypatch.setattr(torch, "compile", lambda forward: partial(run, forward))
    stepper = put_together(Toy(troubles=troubles), make_learner(), compile=True)
    assert stepper.network.stand_in is not None
    if ending is None:
        fit(stepper, Journal(tmp_path).surroundings)
    else:
        with pytest.raises(ending):
            fit(stepper, Journal(tmp_path, stop_at=stop_at).surroundings)
    assert calls == [BATCH] * (RECIPE.iterations if ending is None else 2 if stop_at else 3)
    assert stepper.network.stand_in is None


def share_run(processes: Processes, folder: Path) -> dict[str, Any]:
    """Train as one of two until the second wishes to stop, and then to the end; each has a folder of its own."""
    journal = Journal(folder / str(processes.rank), stop_at=None if processes.first else 5)
    sit(Toy(WRONGS, processes=processes), journal, network=make_learner(seed=processes.rank))
    stopped_at, journal.stop_at = journal.step, None
    task = Toy(WRONGS, processes=processes)
    weights = sit(task, journal, network=make_learner(seed=10 + processes.rank))
    return {
        "steps": (stopped_at, len(task.seen)),
        "weights": weights,
        "errors": [record["train_error_percent"] for record in journal.records],
        "rewinds": journal.rewinds,
        "checkpoints": journal.checkpoints,
    }


def test_of_several_processes_the_first_reads_and_writes(tmp_path: Path) -> None:
    """They stop when any wishes to, all at once; the second goes on from the first one's checkpoint, having none."""
    first, second = run_in_processes(share_run, 2, tmp_path)
    assert first["steps"] == second["steps"] == (5, 3)
    assert_same(first["weights"], second["weights"])
    assert first["errors"] == second["errors"] == pytest.approx([100 * 26 / 30, 100 * 15 / 30, 100 * 3 / 20])
    assert (first["rewinds"], second["rewinds"]) == ([(0, 0), (5, 3)], [])
    assert (first["checkpoints"], second["checkpoints"]) == ([6, 8], [])
