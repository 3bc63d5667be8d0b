"""The tasks by name, as far as they are shown: their scores, panels and printed tables. No torch.

They stand in a task's folder, in modules `scores`, `panel`, `printed` and `gallery`. All but the scores a task may do
without: these are shown then, and nothing more.
"""

import functools
import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any

from reslab.scores import Score
from reslab.spec.task import TASKS, find_task
from reslab.spec.task_spec import TaskSpec
from reslab.tasks.display import Panel, Printed
from reslab.tasks.gallery import Gallery


@dataclass(frozen=True)
class ShownTask:
    """A task as far as it is shown: its scores, the headline first, and what there is beyond them."""

    scores: tuple[Score, ...]
    panel: type[Panel] = Panel
    printed: type[Printed] = Printed
    gallery: type[Gallery] | None = None


def find_shown(owner: Any) -> ShownTask:
    """Return how the task of a trial or a network is shown."""
    return _load(owner.task.name if isinstance(owner.task, TaskSpec) else find_task(owner.task).name)


def list_shown() -> dict[str, ShownTask]:
    """Return how all tasks are shown, by name."""
    return {name: _load(name) for name in TASKS}


@functools.cache
def _load(name: str) -> ShownTask:
    folder = f"reslab.tasks.{name.replace('-', '')}"
    there = [part for part in ("panel", "printed", "gallery") if importlib.util.find_spec(f"{folder}.{part}")]
    shown = {part: getattr(importlib.import_module(f"{folder}.{part}"), part.upper()) for part in there}
    return ShownTask(importlib.import_module(f"{folder}.scores").SCORES, **shown)
