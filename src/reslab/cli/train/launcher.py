"""`--processes N`: a command run by several processes of this machine at once, which start, stop and end together.

The first has the terminal. What the others say is kept, and shown where one of them was the first to fail.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

from reslab.errors import UserError

SECONDS_TO_END = 10.0  # for those that are left when one has failed: long enough to say what they noticed
SECONDS_BETWEEN_LOOKS = 0.05
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def is_started_by_launcher() -> bool:
    """Whether this process is one of several that share a command, started here or by torchrun."""
    return "WORLD_SIZE" in os.environ


def run_in_processes(words: Sequence[str], count: int) -> int:
    """Run `reslab WORDS` in `count` processes and return the exit code: that of the first to fail, or 0.

    Ctrl-C and SIGTERM are passed on to all. If one fails, the others are ended; if this one is killed, they stop as if
    asked to, because the pipe that is their standard input breaks.
    """
    with tempfile.TemporaryDirectory(prefix="reslab-") as folder:
        children: list[subprocess.Popen[bytes]] = []
        try:
            with _passing_on(children):
                for rank in range(count):
                    children.append(_start(words, rank, count, Path(folder)))
                first = _wait(children)
        finally:
            for child in children:
                if child.poll() is None:
                    child.kill()  # one that was stopped (SIGSTOP) as well
                child.wait()
        code = children[first].returncode
        if first > 0 and children[0].returncode != code:
            sys.stderr.write(_words_of(first, Path(folder)).read_text(errors="replace"))
    if -code in SIGNALS:
        return 128 - code  # asked to stop before it could listen
    if code < 0:
        raise UserError(
            f"process {first} of {count} was ended by {signal.Signals(-code).name}; "
            "run the same command to resume from the last checkpoint"
        )
    return code


def _start(words: Sequence[str], rank: int, count: int, folder: Path) -> subprocess.Popen[bytes]:
    threads = str(max(1, (os.cpu_count() or 1) // count))
    environment = {"OMP_NUM_THREADS": threads} | os.environ
    environment |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
    environment |= {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
    environment["RESLAB_RENDEZVOUS"] = f"file://{folder / 'rendezvous'}"
    with _words_of(rank, folder).open("wb") as kept:
        return subprocess.Popen(
            [sys.executable, "-m", "reslab", *words],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=kept if rank else None,
            stderr=kept if rank else None,
            start_new_session=True,  # a terminal's Ctrl-C comes to us alone, and from us to them
        )


def _words_of(rank: int, folder: Path) -> Path:
    return folder / f"words-{rank}"


def _wait(children: Sequence[subprocess.Popen[bytes]]) -> int:
    """Wait until all have ended, or a while after one has failed; return which was the first to fail, or 0."""
    first, failed_at = 0, None
    while True:
        running = [child for child in children if child.poll() is None]
        failed = [rank for rank, child in enumerate(children) if child.returncode]
        if failed and failed_at is None:
            # Where several have, one that was killed is the cause.
            first, failed_at = min(failed, key=lambda rank: children[rank].returncode), time.monotonic()
        if not running or (failed_at is not None and time.monotonic() - failed_at > SECONDS_TO_END):
            return first
        time.sleep(SECONDS_BETWEEN_LOOKS)


@contextlib.contextmanager
def _passing_on(children: Sequence[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Hand signals on to the children; how they end is how this ends."""

    def hand_on(number: int, frame: FrameType | None) -> None:
        for child in children:
            if child.poll() is None:
                child.send_signal(number)

    before = {number: signal.signal(number, hand_on) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
