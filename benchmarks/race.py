"""Contenders that take turns on one device, so that its drift touches all alike; what is known so far is kept."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from rich.table import Table

from benchmarks import kernel_times
from reslab.spec import Spec

TRAINING, PEER = "training", "peer, eager"

Advance = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class Contender:
    """Something that is made when its time has come, and then in a turn does `iterations` of so many images."""

    kind: str
    label: str
    make: Callable[[], Advance]
    images: int
    iterations: int

    @property
    def name(self) -> str:
        """What it does and who it is."""
        return f"{self.kind}: {self.label}"


class Race:
    """Contenders that take turns; `record` is all that is known so far."""

    def __init__(self, *, device: str, save: Callable[[dict[str, Any]], None] = lambda record: None) -> None:
        self.device, self.save = device, save
        self.ready: dict[str, tuple[Contender, Advance]] = {}
        self.speeds: dict[str, list[float]] = {}
        self.record: dict[str, Any] = {"preparation_seconds": {}, "failed": {}}

    def join(self, contender: Contender) -> None:
        """Make a contender and warm it up; one that cannot run is recorded as failed, and the others go on."""
        started = time.perf_counter()
        print(f"preparing {contender.name}", file=sys.stderr, flush=True)
        try:
            advance = contender.make()
            advance(3)
            self._wait()
        except Exception as error:  # whatever a compiler or a driver comes up with
            self.record["failed"][contender.name] = f"{type(error).__name__}: {error}"[:1000]
            print(f"failed: {self.record['failed'][contender.name]}", file=sys.stderr, flush=True)
        else:
            self.ready[contender.name] = contender, advance
            self.speeds[contender.name] = []
        self.record["preparation_seconds"][contender.name] = round(time.perf_counter() - started, 1)

    def turn(self) -> None:
        """Let everyone who is ready run once."""
        for name, (contender, advance) in self.ready.items():
            advance(1)
            self._wait()
            started = time.perf_counter()
            advance(contender.iterations)
            self._wait()
            self.speeds[name].append(contender.images * contender.iterations / (time.perf_counter() - started))
        self.record["images_per_second"] = {name: statistics.median(speeds) for name, speeds in self.speeds.items()}
        self.record["turns"] = self.speeds
        self.save(self.record)

    def profile(self, spec: Spec, *, batch: int) -> None:
        """Record where an iteration's time goes, for each who is ready and was not looked at yet."""
        floors = kernel_times.count_floor(spec, batch=batch)
        self.record["floor"] = {kind: vars(floor) for kind, floor in floors.items()}
        profiles = self.record.setdefault("profile", {})
        for name, (_, advance) in self.ready.items():
            if name not in profiles:
                try:
                    kernels = kernel_times.record_kernels(lambda advance=advance: advance(1))
                except RuntimeError as error:
                    self.record["failed"][f"profile of {name}"] = str(error)[:1000]
                    continue
                times, longest = kernel_times.milliseconds(kernels), kernel_times.longest(kernels)
                profiles[name] = {"milliseconds": times, "longest": longest}
        self.save(self.record)

    def _wait(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()


def tabulate(speeds: dict[str, float]) -> Table:
    """Return images a second, and beside them how many times the eager peer's that is."""
    table = Table("", "contender", "images a second", "times eager", box=None, padding=(0, 3, 0, 0))
    for name, speed in sorted(speeds.items(), key=lambda item: item[0].partition(": ")[0] != TRAINING):
        kind, _, label = name.partition(": ")
        peer = speeds.get(f"{kind}: {PEER}")
        table.add_row(kind, label, f"{speed:,.0f}", f"{speed / peer:.2f}" if peer else "")
    return table


def tabulate_profile(record: dict[str, Any]) -> Table:
    """Return milliseconds of a training iteration by class, beside the floor."""
    columns = {name: told["milliseconds"] for name, told in record["profile"].items() if name.startswith(TRAINING)}
    floor = {kind: 1e3 * told["seconds"] for kind, told in record["floor"].items()}
    names = [name.partition(": ")[2] for name in columns]
    table = Table("milliseconds an iteration", *names, "floor", box=None, padding=(0, 3, 0, 0))
    for kind in kernel_times.CLASSES:
        row = [times.get(kind, 0.0) for times in (*columns.values(), floor)]
        table.add_row(kind, *[f"{value:.2f}" for value in row])
    table.add_row("all", *[f"{sum(times.values()):.2f}" for times in (*columns.values(), floor)])
    return table
