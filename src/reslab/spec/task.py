"""What a network is trained for. A task is a class here, with its own fields, and a folder of `tasks` named after it.

A task needs a target of every image: its class, a row of labels, boxes, a mask; or nothing but the image. Data that
have several of these serve several tasks, the first of which is usual.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from reslab.errors import UserError, choices, suggest
from reslab.spec.codec import decode, encode
from reslab.spec.detection import Detection
from reslab.spec.task_spec import Target, TaskSpec


@dataclass(frozen=True, kw_only=True)
class Classification(TaskSpec):
    """Images of one class each."""

    name: ClassVar[str] = "classification"
    needs: ClassVar[Target] = "class"


@dataclass(frozen=True, kw_only=True)
class MultiLabel(TaskSpec):
    """Images with any number of labels each."""

    name: ClassVar[str] = "multi-label"
    needs: ClassVar[Target] = "labels"


CLASSIFICATION = Classification()
TASKS: dict[str, type[TaskSpec]] = {spec.name: spec for spec in (Classification, MultiLabel, Detection)}


def tasks_for(target: Target) -> tuple[str, ...]:
    """Return the tasks that data with such targets serve: those made for them first."""
    return tuple(name for needs in dict.fromkeys((target, "none")) for name in TASKS if TASKS[name].needs == needs)


def find_task(name: Any, fields: Mapping[str, Any] | None = None) -> TaskSpec:
    """Return a task by its name and fields of it, or by what `encode_task` gives; one that is a task is itself."""
    if isinstance(name, TaskSpec):
        return name
    if isinstance(name, Mapping):
        fields = dict(name)
        name = fields.pop("name", None)
    if not isinstance(name, str) or name.lower() not in TASKS:
        near = suggest(name, TASKS) if isinstance(name, str) else ""
        raise UserError(f"task is {name!r}{near or f'; choose {choices(TASKS)}'}")
    return decode(TASKS[name.lower()], fields or {}, where="task.")


def encode_task(task: TaskSpec, *, sparse: bool) -> str | dict[str, Any]:
    """Return a task as plain data: its name, and where something is said of its fields, these too."""
    fields = encode(task, sparse=sparse)
    return {"name": task.name, **fields} if fields else task.name
