"""Device work recorded once as a CUDA graph and replayed: the host then asks for all of it with one launch.

Trials that run side by side each record on their own stream, one at a time, and the others launch nothing meanwhile:
see `alone`.
"""

import contextlib
import threading
from collections.abc import Callable
from weakref import WeakSet

import torch

REHEARSALS = 3  # libraries choose their algorithms and allocate their workspaces
_launching = threading.Lock()


def alone() -> contextlib.AbstractContextManager[object]:
    """Return the context to launch many small things in, one by one, while no other thread replays a graph.

    It takes a fraction of a second, where others would take Python's lock away at every launch. Recording needs it
    besides: graphs share torch's default generator, which must not be used meanwhile.
    """
    return _launching


class Room:
    """Memory that graphs share which never run at once, and the stream they are recorded on, for memory is a stream's.

    A graph finds nothing there of what it left: all it needs it computes, or reads from memory outside.
    """

    def __init__(self, device: torch.device) -> None:
        self.stream, self.pool = torch.cuda.Stream(device), torch.cuda.graph_pool_handle()
        self.replays: WeakSet[Callable[[], None]] = WeakSet()


def capture(
    work: Callable[[], None],
    *,
    device: torch.device,
    generator: torch.Generator | None = None,
    rehearsals: int = REHEARSALS,
    room: Room | None = None,
) -> Callable[[], None]:
    """Run `work` a few times, record it, and return what replays it on the current stream.

    It must not wait for the device, and works on the same memory each time. What it draws comes from `generator`: as
    that one is seeded when it is replayed. Between replays `room`, if given, belongs to the other graphs in it.
    """
    outside = torch.cuda.current_stream(device)
    room = room or Room(device)
    # A stream of the thread's own can record; the default one, which a lone trial runs on, cannot.
    inside = room.stream if outside == torch.cuda.default_stream(device) else outside
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
            if not room.replays:  # torch forgets a pool with the last graph in it
                room.pool = torch.cuda.graph_pool_handle()
            graph.capture_begin(room.pool, capture_error_mode="thread_local")
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

    room.replays.add(replay)
    return replay
