"""Tasks by name: what targets they need, and how a trial writes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from reslab.errors import UserError
from reslab.spec import task as tasks
from reslab.spec.task import (
    CLASSIFICATION,
    TASKS,
    Classification,
    MultiLabel,
    Target,
    TaskSpec,
    encode_task,
    find_task,
    tasks_for,
)


@dataclass(frozen=True, kw_only=True)
class Turns(TaskSpec):
    """A task that needs no target, with a field."""

    name: ClassVar[str] = "turns"
    angles: int = 4

    def name_outputs(self, class_names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"{360 * turn // self.angles}" for turn in range(self.angles))


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """One task more."""
    monkeypatch.setattr(tasks, "TASKS", {"turns": Turns, **TASKS})


def test_a_task_is_found_by_its_name() -> None:
    """However it is written; the first is what a trial has by default."""
    assert find_task("classification") == CLASSIFICATION == Classification()
    assert find_task("Multi-Label") == MultiLabel()
    assert all(spec.name == name for name, spec in TASKS.items())


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("tracking", "task is 'tracking'; choose classification, multi-label or detection"),
        ("multilabel", "task is 'multilabel'; did you mean 'multi-label'?"),
        (3, "task is 3; choose classification, multi-label or detection"),
        (["classification"], r"task is \['classification'\]; choose classification, multi-label or detection"),
        (None, "task is None; choose classification, multi-label or detection"),
    ],
)
def test_other_names_are_refused(name: object, sentence: str) -> None:
    """With what there is, or what is near."""
    with pytest.raises(UserError, match=sentence):
        find_task(name)


def test_fields_are_the_tasks_own(turns: None) -> None:
    """Typed, and refused by their whole name."""
    assert find_task("turns", {"angles": "8"}) == Turns(angles=8)
    with pytest.raises(UserError, match=r"there is no field 'task\.angle'; did you mean 'task\.angles'\?"):
        find_task("turns", {"angle": 8})
    with pytest.raises(UserError, match=r"there is no field 'task\.angles'"):
        find_task("classification", {"angles": 8})


@pytest.mark.parametrize(
    ("target", "names"),
    [("class", ("classification", "turns")), ("labels", ("multi-label", "turns")), ("none", ("turns",))],
)
def test_data_serve_tasks_by_their_targets(target: Target, names: tuple[str, ...], turns: None) -> None:
    """Those made for them first, then those that need none."""
    assert tasks_for(target) == names


def test_outputs_are_called_after_the_classes_unless_the_task_knows_better() -> None:
    """One output for each."""
    assert MultiLabel().name_outputs(("dog", "cat")) == ("dog", "cat")
    assert Turns(angles=3).name_outputs(("dog", "cat")) == ("0", "120", "240")


@pytest.mark.parametrize(
    ("task", "sparse", "data"),
    [
        (CLASSIFICATION, False, "classification"),
        (MultiLabel(), True, "multi-label"),
        (Turns(), True, "turns"),
        (Turns(), False, {"name": "turns", "angles": 4}),
        (Turns(angles=8), True, {"name": "turns", "angles": 8}),
    ],
)
def test_a_task_is_written_by_its_name_and_what_is_said_of_it(
    task: TaskSpec, sparse: bool, data: object, turns: None
) -> None:
    """And read back as it was."""
    assert encode_task(task, sparse=sparse) == data
    assert find_task(data) == find_task(task) == task


def test_a_table_without_a_name_is_refused() -> None:
    """Nothing is guessed."""
    with pytest.raises(UserError, match="task is None; choose"):
        find_task({"angles": 4})
