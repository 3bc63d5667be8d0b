"""Several processes that train together, on this machine, for tests: quick to start, because torch is imported once."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import tempfile
import traceback
from collections.abc import Callable
from typing import Any

from reslab.runtime.processes import joined

START = multiprocessing.get_context("forkserver")
START.set_forkserver_preload(
    ["tests.experiments.faults", "torch.distributed", "torch.nn.parallel", "torch._dynamo", "tensorboard.compat.proto"]
)
SECONDS = 60.0


def run_in_processes(function: Callable[..., Any], count: int, *arguments: object) -> list[Any]:
    """Call `function(processes, *arguments)` in each of `count` processes and return what each returned, by rank."""
    with tempfile.TemporaryDirectory() as folder:
        answers = START.Queue()
        children = [
            START.Process(target=_be, args=(rank, count, f"file://{folder}/rendezvous", answers, function, arguments))
            for rank in range(count)
        ]
        for child in children:
            child.start()
        try:
            found = [answers.get(timeout=SECONDS) for _ in children]
        finally:
            for child in children:
                child.join(5)
                child.kill()
    wrong = [answer for _, good, answer in found if not good]
    assert not wrong, "\n".join(wrong)
    return [pickle.loads(answer) for _, _, answer in sorted(found, key=lambda answer: answer[0])]


def _be(rank: int, count: int, place: str, answers: Any, function: Callable[..., Any], arguments: Any) -> None:
    import torch

    torch.set_num_threads(1)
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count), "RESLAB_RENDEZVOUS": place}
    os.environ.setdefault("RESLAB_TIMEOUT", "30")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    read, _ = os.pipe()
    os.dup2(read, 0)  # what a launcher would hold open
    try:
        with joined() as processes:
            # As bytes: tensors in queues would be shared with a process that has ended.
            answers.put((rank, True, pickle.dumps(function(processes, *arguments))))
    except Exception:
        answers.put((rank, False, traceback.format_exc()))
