"""A finished run whose weights are lost is made whole again."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.experiments.faults import make_trial
from tests.trials import DIGITS, outcome, stop_after

from reslab.errors import UserError
from reslab.experiments.repair import find_loss
from reslab.experiments.run import run_trial
from reslab.networks import load_model, save_model
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener
from reslab.training.loop import Stopped


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run that nothing happened to."""
    torch.set_num_threads(1)
    return run_trial(make_trial(), DIGITS, tmp_path_factory.mktemp("whole"))


@pytest.fixture
def run(whole: RunDirectory, tmp_path: Path) -> RunDirectory:
    """A copy of it."""
    return RunDirectory(shutil.copytree(whole.path, tmp_path / whole.path.name))


@pytest.mark.parametrize("damage", ["gone", "cut", "flipped"])
def test_lost_weights_are_made_again_from_the_last_checkpoint(
    damage: str, whole: RunDirectory, run: RunDirectory
) -> None:
    """Without an iteration, and to the bit: the weights, the log, and the result that was recorded."""
    content = run.weights.read_bytes()
    if damage == "gone":
        run.weights.unlink()
    else:
        run.weights.write_bytes(content[:-5] if damage == "cut" else content[:-1] + bytes([content[-1] ^ 1]))
    told: list[str] = []

    def refuse(step: int, metrics: dict[str, float]) -> None:
        pytest.fail("it trained")

    run_trial(make_trial(), DIGITS, run.path.parent, listener=Listener(progress=refuse, warn=told.append))
    lost = "gone" if damage == "gone" else "damaged"
    assert told == [f"{run.path} is finished, but its weights are {lost}; making them again from its last checkpoint"]
    assert outcome(run) == outcome(whole)
    assert run.weights.read_bytes() == content


def test_lost_weights_are_trained_again_without_checkpoints(whole: RunDirectory, run: RunDirectory) -> None:
    """The result stands until there is a new one, also over a stop; from what that saved the same command goes on."""
    run.weights.unlink()
    shutil.rmtree(run.checkpoints)
    told: list[str] = []
    with pytest.raises(Stopped):
        run_trial(make_trial(), DIGITS, run.path.parent, listener=Listener(should_stop=stop_after(3), warn=told.append))
    assert (run.state, run.result()) == ("finished", whole.result())
    run_trial(make_trial(), DIGITS, run.path.parent, listener=Listener(warn=told.append))
    words = f"{run.path} is finished, but its weights are gone; training it again"
    assert told == [words, f"{words} from iteration 4 on"]
    assert outcome(run) == outcome(whole)


def test_a_run_made_again_that_came_to_something_else_is_told(whole: RunDirectory, run: RunDirectory) -> None:
    """As it may on another device."""
    run.weights.unlink()
    run.finish(run.result() | {"error_percent": 99.5})
    told: list[str] = []
    run_trial(make_trial(), DIGITS, run.path.parent, listener=Listener(warn=told.append))
    found = whole.result()["error_percent"]
    assert f"not quite what it was: error_percent is {found:.6g} and was 99.5" in told[-1]
    assert run.result() == whole.result()


def test_weights_that_may_not_be_read_are_not_lost(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody trains them again for that."""
    assert find_loss(run, make_trial()) == ""

    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UserError, match="cannot be read: Permission denied; check the run's permissions"):
        find_loss(run, make_trial())


def test_another_runs_weights_are_not_written_over(run: RunDirectory) -> None:
    """They may be the only ones it has; moved away, this run's are made again."""
    stranger = load_model(run.weights)
    save_model(stranger, run.weights, provenance={"trial": replace(make_trial(), seed=5).id})
    content = run.weights.read_bytes()
    with pytest.raises(UserError, match="put its own back, or move these away and train it again"):
        run_trial(make_trial(), DIGITS, run.path.parent)
    assert run.weights.read_bytes() == content
    run.weights.unlink()
    run_trial(make_trial(), DIGITS, run.path.parent)
    assert find_loss(run, make_trial()) == ""
