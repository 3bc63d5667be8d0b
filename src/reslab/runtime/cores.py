"""How long the threads of this process wait for a core: what other programs take from them.

Linux counts, for each thread, how long it was ready to run and did not. Elsewhere nothing is known, and nobody waits.
"""

import contextlib
import time
from pathlib import Path

import torch

THREADS = Path("/proc/self/task")
BURST_SECONDS = 0.1  # a core changes hands every few milliseconds


class Waiting:
    """Counts from now on how long threads wait for a core."""

    def __init__(self) -> None:
        self.began, self.before = time.monotonic(), _read_waits()

    @property
    def share(self) -> float:
        """Return which part of the time since then the thread waited that waited longest: all wait for that one."""
        elapsed = time.monotonic() - self.began
        waits = [after - self.before.get(thread, 0) for thread, after in _read_waits().items()]
        return max(waits, default=0) / 1e9 / elapsed if elapsed else 0.0


def measure_waiting(seconds: float = BURST_SECONDS) -> float:
    """Keep all threads of torch busy for a moment; return which part of it the one waited that waited longest."""
    numbers = torch.zeros(2**18)
    numbers.add_(1)  # threads start
    waiting, ends = Waiting(), time.monotonic() + seconds
    while time.monotonic() < ends:
        numbers.add_(1)
    return waiting.share


def _read_waits() -> dict[str, int]:
    """Return the nanoseconds that each thread has waited so far."""
    waits = {}
    with contextlib.suppress(OSError):  # no Linux
        for thread in THREADS.iterdir():
            with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended, or the kernel does not count
                waits[thread.name] = int((thread / "schedstat").read_text().split()[1])
    return waits
