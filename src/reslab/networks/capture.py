"""Device work recorded once as a CUDA graph and replayed: the host then asks for all of it with one launch.

Trials that run side by side each record on their own stream, one at a time, and the others launch nothing meanwhile:
see `alone`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

import torch

REHEARSALS = 3  # libraries choose their algorithms and allocate their workspaces
_launching = threading.Lock()


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Launch many small things, one by one, while no other thread replays a graph.

    It takes a fraction of a second, where others would take Python's lock away at every launch. Recording needs it
    besides: graphs share torch's default generator, which must not be used meanwhile.
    """
    with _launching:
        yield


def capture(
    work: Callable[[], None],
    *,
    device: torch.device,
    generator: torch.Generator | None = None,
    rehearsals: int = REHEARSALS,
) -> Callable[[], None]:
    """Run `work` a few times, record it, and return what replays it on the current stream.

    It must not wait for the device, and works on the same memory each time. What it draws comes from `generator`: as
    that one is seeded when it is replayed.
    """
    outside = torch.cuda.current_stream(device)
    # A stream of the thread's own can record; the default one, which a lone trial runs on, cannot.
    inside = torch.cuda.Stream(device) if outside == torch.cuda.default_stream(device) else outside
    graph = torch.cuda.CUDAGraph()
    if generator is not None:
        graph.register_generator_state(generator)
    with alone(), torch.cuda.device(device):
        inside.wait_stream(outside)
        with torch.cuda.stream(inside):
            for _ in range(rehearsals):
                work()
            inside.synchronize()
            torch.cuda.empty_cache()  # what the rehearsals took: the recording has memory of its own
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                work()
            except BaseException:
                with contextlib.suppress(RuntimeError):  # what broke it off is the error to tell
                    graph.capture_end()
                raise
            graph.capture_end()
        outside.wait_stream(inside)

    def replay() -> None:
        with _launching:
            graph.replay()

    return replay
