"""The state of a run: it changes whole or not at all, adds up what happened, and can be taken back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
import torch
from tests.training.toys import RECIPE, make_learner
from torch import Tensor

from reslab.runtime.processes import ALONE, Processes
from reslab.training import state as states
from reslab.training.state import FIRST_SCALE, LARGEST_SCALE, SMALLEST_SCALE, LossScale, Tally, TrainingState

AVERAGED = replace(RECIPE, average_decay=0.5)
YES, NO = torch.tensor(True), torch.tensor(False)


@dataclass(frozen=True)
class Uneven(Processes):
    """Two processes, told by one: the other's share of every sum is three times its own."""

    count: int = 2

    def sum(self, *tensors: Tensor) -> None:
        for tensor in tensors:
            tensor *= 4

    def take_from_first(self, tensors: Sequence[Tensor]) -> None:
        for tensor in tensors:
            tensor.fill_(7)


def tally(loss: float = 0.0, wrong: int = 0, last: int = 0, failed_at: int | None = None) -> Tally:
    return Tally(loss, {"wrong": wrong}, {"wrong": last}, failed_at)


def make_state(*, averaged: bool = False, processes: Processes = ALONE) -> TrainingState:
    return TrainingState(make_learner(), AVERAGED if averaged else RECIPE, tallied=("wrong",), processes=processes)


def update(
    state: TrainingState,
    step: int = 0,
    *,
    loss: float = 1.5,
    gradient: float = 1.0,
    wrong: int = 2,
    share: float = 0.25,
    move: float = 1.0,
) -> None:
    """Let an iteration happen whose gradients are all alike, at a rate of a half; its forward pass moves statistics."""
    before = state.copy_statistics()
    state.statistics.flat.add_(move)
    state.counters.flat.add_(1)
    state.optimizer.gradients.fill_(gradient)
    controls = torch.tensor([0.5, share, step], dtype=torch.float64)
    state.update(torch.tensor(loss, dtype=torch.float64), torch.tensor([wrong]), before=before, controls=controls)


def copied(state: TrainingState) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in state.tensors().items()}


def assert_same(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    """To the bit."""
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        assert torch.equal(tensor, other[name]), name


def test_an_iteration_moves_everything() -> None:
    """Weights by rate times gradient, statistics as the forward pass left them; the average goes its share there."""
    state = make_state(averaged=True)
    before = copied(state)
    update(state)
    for name in ("steps.hidden.0.weight", "steps.logits.bias"):
        torch.testing.assert_close(state.tensors()[f"network.{name}"], before[f"network.{name}"] - 0.5)
        torch.testing.assert_close(state.tensors()[f"velocity.{name}"], torch.full_like(before[f"network.{name}"], 0.5))
        torch.testing.assert_close(state.tensors()[f"average.{name}"], before[f"network.{name}"] - 0.125)
    means = {part: state.tensors()[f"{part}.steps.hidden.1.running_mean"] for part in ("network", "average")}
    assert means["network"].tolist() == [1.0] * 8
    assert means["average"].tolist() == [0.25] * 8
    counts = {part: state.tensors()[f"{part}.steps.hidden.1.num_batches_tracked"].item() for part in means}
    assert counts == {"network": 1, "average": 1}  # there is no quarter of a batch


def test_the_tally_adds_up_until_it_is_set() -> None:
    """Losses and wrong images, and those of the last iteration alone."""
    state = make_state()
    assert state.read_tally() == tally(0.0, 0, 0, None)
    update(state, loss=0.5, wrong=3)
    update(state, 1, loss=0.25, wrong=1)
    assert state.read_tally() == tally(0.75, 4, 1, None)
    state.set_tally(Tally())
    update(state, 2, loss=2.0, wrong=5)
    assert state.read_tally() == tally(2.0, 5, 5, None)


@pytest.mark.parametrize("told", [tally(), tally(1 / 3, 7, 2), tally(1.5, 7, 2, failed_at=0), tally(failed_at=63_999)])
def test_a_tally_comes_back_as_it_was_set(told: Tally) -> None:
    """Iteration 0 among those that may have failed."""
    state = make_state()
    state.set_tally(told)
    assert state.read_tally() == told


def test_a_tally_of_versions_before_is_read() -> None:
    """Theirs had wrong images alone; ours comes back from what a checkpoint has of it."""
    old = {"loss": 1 / 3, "wrong": 7, "last_wrong": 2, "failed_at": None}
    assert Tally.of(old) == tally(1 / 3, 7, 2) == Tally.of(vars(tally(1 / 3, 7, 2)))


def test_a_task_may_count_several_things_or_none() -> None:
    """Each under its name; what is counted must be what is named."""
    for names, values in (((), []), (("right", "area"), [3, 4])):
        state = TrainingState(make_learner(), RECIPE, tallied=names)
        for _ in range(2):
            before = state.copy_statistics()
            state.optimizer.gradients.fill_(1.0)
            loss, controls = torch.tensor(1.0, dtype=torch.float64), torch.tensor([0.5, 1, 0], dtype=torch.float64)
            state.update(loss, torch.tensor(values), before=before, controls=controls)
        told = state.read_tally()
        assert told.sums == dict(zip(names, [2 * value for value in values], strict=True))
        assert told.last == dict(zip(names, values, strict=True))
        with pytest.raises(AssertionError):
            state.update(loss, torch.tensor([1]), before=before, controls=controls)


@pytest.mark.parametrize("step", [0, 4])
@pytest.mark.parametrize(
    "bad",
    [
        {"loss": math.nan},
        {"loss": math.inf},
        {"loss": -math.inf},
        {"gradient": math.nan},
        {"gradient": -math.inf},
        {"gradient": 1e30},  # finite, but their norm is not
    ],
    ids=str,
)
def test_what_is_not_finite_changes_nothing(bad: dict[str, float], step: int) -> None:
    """Nor does anything that follows; the tally names the first such iteration, and counts none from there on."""
    state = make_state(averaged=True)
    for number in range(step):
        update(state, number)
    before = copied(state)
    update(state, step, **bad)
    update(state, step + 1)
    update(state, step + 2, loss=math.nan, wrong=9)
    assert_same(state.tensors(), before)
    assert state.read_tally() == tally(1.5 * step, 2 * step, 9, failed_at=step)


def test_a_snapshot_takes_back_all_that_happened_since() -> None:
    """Weights, velocities, statistics, counters, average and tally; it may be gone back to more than once."""
    state = make_state(averaged=True)
    update(state)
    before, told, snapshot = copied(state), state.read_tally(), state.snapshot()
    for loss in (1.0, math.nan):
        update(state, 1, wrong=4, gradient=2.0)
        update(state, 2, loss=loss, gradient=3.0)
        assert all(not torch.equal(tensor, before[name]) for name, tensor in state.tensors().items())
        state.restore(snapshot)
        assert_same(state.tensors(), before)
        assert state.read_tally() == told


def test_what_a_checkpoint_has_is_loaded_in_place() -> None:
    """Another state then goes on as this one would: the network that is judged sees it, too."""
    one, other = make_state(averaged=True), TrainingState(make_learner(seed=2), AVERAGED, tallied=("wrong",))
    update(one)
    saved = copied(one)
    other.load(saved)
    assert_same(other.tensors(), saved)
    assert_same(other.judged.state_dict(), one.judged.state_dict())
    update(one, 1)
    update(other, 1)
    assert_same(other.tensors(), one.tensors())


def test_what_is_judged_is_the_network_or_its_average() -> None:
    """As it is at any time, without being told; the average becomes the network's own in the end."""
    plain, averaged = make_state(), make_state(averaged=True)
    for state in (plain, averaged):
        assert state.judged is not state.network
        update(state)
    assert_same(plain.judged.state_dict(), plain.network.state_dict())
    judged = {name: tensor.clone() for name, tensor in averaged.judged.state_dict().items()}
    for name, tensor in judged.items():
        assert torch.equal(tensor, averaged.tensors()[f"average.{name}"]), name
    assert not torch.equal(judged["steps.logits.bias"], averaged.network.get_parameter("steps.logits.bias"))
    plain_weights = {name: tensor.clone() for name, tensor in plain.network.state_dict().items()}
    for state, expected in ((plain, plain_weights), (averaged, judged)):
        state.adopt()
        assert_same(state.network.state_dict(), expected)


def test_frozen_weights_are_kept_and_judged() -> None:
    """They have no velocity and no average of their own, and never move; a checkpoint has them all the same."""
    network = make_learner()
    network.get_parameter("steps.hidden.0.weight").requires_grad_(False)
    state = TrainingState(network, AVERAGED, tallied=("wrong",))
    before = copied(state)
    update(state)
    frozen = [name for name, tensor in state.tensors().items() if torch.equal(tensor, before[name])]
    assert frozen == ["network.steps.hidden.0.weight"]
    assert [name for name in before if name.endswith("hidden.0.weight")] == frozen
    state.load({name: torch.ones_like(tensor) for name, tensor in before.items()})
    assert bool((state.judged.get_parameter("steps.hidden.0.weight") == 1).all())


def test_all_of_the_state_is_the_first_ones() -> None:
    """Frozen weights, average and tally included."""
    network = make_learner()
    network.get_parameter("steps.hidden.0.weight").requires_grad_(False)
    state = TrainingState(network, AVERAGED, tallied=("wrong",), processes=Uneven())
    state.share()
    for name, tensor in state.tensors().items():
        assert bool((tensor == 7).all()), name
    assert state.read_tally() == tally(7.0, 7, 7, 7)


def test_processes_move_by_their_mean() -> None:
    """Gradients, losses and moves of statistics, which here are twice one's own; wrong images are added up."""
    state = make_state(processes=Uneven())
    bias = state.network.get_parameter("steps.logits.bias").clone()
    update(state, wrong=3)
    torch.testing.assert_close(state.network.get_parameter("steps.logits.bias").data, bias.data - 0.5 * 2)
    assert state.network.get_buffer("steps.hidden.1.running_mean").tolist() == [2.0] * 8
    assert state.read_tally() == tally(3.0, 12, 12, None)


def test_statistics_that_did_not_move_stay_what_they_are() -> None:
    """To the bit, in all processes: a mean of the statistics themselves would round."""
    state = make_state(processes=Uneven())
    kept = torch.rand(state.statistics.flat.shape)
    state.statistics.flat.copy_(kept)
    update(state, move=0.0)
    assert torch.equal(state.statistics.flat, kept)


def follow(scale: LossScale, *finite: Tensor) -> list[float]:
    found = []
    for one in finite:
        scale.follow(one)
        found.append(scale.factor.item())
    return found


def test_the_scale_of_the_loss_halves_at_once_and_doubles_in_time(monkeypatch) -> None:
    """Three good iterations in a row count here; an overflow starts their count anew."""
    monkeypatch.setattr(states, "STEADY", 3)
    scale = LossScale(torch.device("cpu"))
    first, half = FIRST_SCALE, FIRST_SCALE / 2
    assert follow(scale, YES, YES, NO, YES, YES, YES, YES) == [first, first, half, half, half, first, first]


def test_the_scale_of_the_loss_has_ends(monkeypatch) -> None:
    """Beyond them nothing is to be gained."""
    monkeypatch.setattr(states, "STEADY", 1)
    scale = LossScale(torch.device("cpu"))
    assert follow(scale, *[YES] * 10)[-1] == LARGEST_SCALE
    helped = [bool(scale.follow(NO)) for _ in range(32)]
    assert scale.factor == SMALLEST_SCALE
    assert helped == [True] * 30 + [False] * 2
