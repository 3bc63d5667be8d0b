"""Kill training processes, many times, at planned and at random moments, and compare what they end with.

`make faults` kills fifty, at least fifteen of them inside a checkpoint write; tests kill a few. Every run is a chain:
started, killed, started again ... and at last left alone. Each must end bit-identical to one never killed.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.processes import START
from tests.trials import DIGITS, outcome

from reslab.experiments.run import run_trial
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener
from reslab.spec import find
from reslab.spec.recipe import Recipe, find_recipe
from reslab.spec.trial import DataSpec, Trial

SMALL = {"channels": 1, "input_size": 8, "dropout": 0.1, "stochastic_depth": 0.1}
OPTIONS = {"iterations": 24, "batch": 32, "evaluate_every": 4}
# With all that a checkpoint must know about, and all that happens after the last iteration.
EVERYTHING = OPTIONS | {
    "iterations": 40,
    "average_decay": 0.9,
    "accumulate": 2,
    "exact_norms": True,
    "keep_best": "loss",
    "warmup": {"learning_rate": 0.01, "until_error_percent": 95.0, "window": 5},
}
# Moments inside the write of a checkpoint, in their order.
MOMENTS = ("empty", "half written", "written", "synced", "renamed", "old one removed")
# Moments between writes that belong together: at the beginning of a run, and at its end.
OTHER_MOMENTS = ("trial written", "weights written")
INSIDE = "inside the write"


@dataclass(frozen=True)
class Kill:
    """After `progress` iterations of a sitting: at `moment` of the next checkpoint write, or `seconds` later."""

    progress: int
    moment: str | None
    seconds: float = 0.0


def make_trial(recipe: Recipe | None = None, name: str = "cifar-resnet-8", **network: object) -> Trial:
    """A trial of a second or two, with everything random in it."""
    recipe = recipe or find_recipe("digits", EVERYTHING)
    return Trial(
        data=DataSpec(name="digits", fingerprint=DIGITS.fingerprint, validation=0.1 if recipe.keep_best else 0),
        network=find(name, SMALL | network),
        recipe=recipe,
        seed=3,
    )


def plan_chains(kills: int, *, seed: int) -> list[list[Kill]]:
    """Plan `kills` kills in chains of one to four: two of five inside a checkpoint write, each moment in turn.

    One of five falls at the beginning or the end of a run, the rest at random.
    """
    chance, inside, outside = random.Random(seed), itertools.cycle(MOMENTS), itertools.cycle(OTHER_MOMENTS)
    kinds = itertools.cycle((inside, None, inside, outside, None))
    planned = [
        Kill(chance.randrange(5), None if kind is None else next(kind), chance.random() / 20)
        for kind, _ in zip(kinds, range(kills), strict=False)
    ]
    chance.shuffle(planned)
    chains = []
    while planned:
        length = chance.randrange(1, 5)
        # What falls at the end of a run leaves nothing to kill after it.
        chains.append(sorted(planned[:length], key=lambda kill: kill.moment == "weights written"))
        planned = planned[length:]
    return chains


def suffer(chain: list[Kill], root: Path) -> tuple[int, int]:
    """Run the trial through a chain of kills and to its end; return how many struck, and how many inside a write."""
    struck = inside = 0
    for kill in chain:
        process, told = _start(root, kill)
        if kill.moment is None:
            for _ in range(kill.progress + 1):
                told.recv()
            time.sleep(kill.seconds)
            process.kill()
        said = _hear(told)
        process.join()
        struck += process.exitcode == -signal.SIGKILL
        inside += INSIDE in said
    leave_alone(root)
    return struck, inside


def leave_alone(root: Path) -> None:
    """Run the trial, or what is left of it, to its end."""
    process, told = _start(root, Kill(0, None))
    _hear(told)
    process.join()
    assert process.exitcode == 0


def _start(root: Path, kill: Kill) -> tuple[BaseProcess, Connection]:
    told, tell = START.Pipe(duplex=False)
    process = START.Process(target=_train, args=(root, kill, tell))
    process.start()
    tell.close()  # the child's is the only one, so that its end is the end of what is told
    return process, told


def _hear(told: Connection) -> list[object]:
    """Return all that is told until the end."""
    heard = []
    with contextlib.suppress(EOFError):
        while True:
            heard.append(told.recv())
    return heard


def _train(root: Path, kill: Kill, told: Connection) -> None:
    """Be the process that is killed: report each iteration, and at the planned moment of a write, die."""
    import torch

    torch.set_num_threads(1)
    done = 0

    def tell(step: int, metrics: dict[str, float]) -> None:
        nonlocal done
        done += 1
        told.send(step)

    if kill.moment:
        _arm(kill.moment, lambda: done >= kill.progress, told)
    run_trial(make_trial(), DIGITS, root, listener=Listener(progress=tell))


def _arm(moment: str, ready: Callable[[], bool], told: Connection) -> None:
    """Make the process kill itself at `moment` of the first checkpoint write for which `ready` says yes."""
    from reslab import files
    from reslab.runtime import sealed

    save, sync, replace, unlink = sealed.save_file, files._sync, Path.replace, Path.unlink

    def strike(now: str, path: Path) -> None:
        if now == moment and "step-" in Path(path).name and ready():
            told.send(INSIDE)
            os.kill(os.getpid(), signal.SIGKILL)
        if now == "renamed" and (moment, Path(path).name) in (
            ("trial written", "trial.json"),
            ("weights written", "weights.safetensors"),
        ):
            os.kill(os.getpid(), signal.SIGKILL)

    def save_and_strike(tensors, path, metadata) -> None:
        strike("empty", path)
        save(tensors, path, metadata)
        if moment == "half written" and "step-" in Path(path).name and ready():
            os.truncate(path, Path(path).stat().st_size // 2)
        strike("half written", path)
        strike("written", path)

    def sync_and_strike(path: Path) -> None:
        sync(path)
        strike("synced", path)

    def replace_and_strike(self: Path, target: Path) -> Path:
        replaced = replace(self, target)
        strike("renamed", target)
        return replaced

    def unlink_and_strike(self: Path, missing_ok: bool = False) -> None:
        unlink(self, missing_ok=missing_ok)
        if not self.name.startswith("."):
            strike("old one removed", self)

    sealed.save_file, files._sync = save_and_strike, sync_and_strike
    Path.replace, Path.unlink = replace_and_strike, unlink_and_strike


def main() -> None:
    """Kill as asked and say what came of it; exit with 1 if any run ended otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        leave_alone(root / "whole")
        expected = outcome(RunDirectory.of(make_trial(), root / "whole"))
        chains = plan_chains(given.kills, seed=given.seed)
        roots = [root / str(number) for number in range(len(chains))]
        kills = inside = different = 0
        with ThreadPoolExecutor(2) as pool:
            for chain, place, counted in zip(chains, roots, pool.map(suffer, chains, roots), strict=True):
                same = outcome(RunDirectory.of(make_trial(), place)) == expected
                kills, inside, different = kills + counted[0], inside + counted[1], different + (not same)
                print(f"{len(chain)} kills in a row: {'the same' if same else 'NOT THE SAME'}", flush=True)
    print(f"{kills} kills, {inside} inside a checkpoint write, in {len(chains)} runs: {different} ended otherwise")
    planned_inside = sum(kill.moment in MOMENTS for chain in chains for kill in chain)
    sys.exit(different > 0 or kills < given.kills or inside < planned_inside)


if __name__ == "__main__":
    main()
