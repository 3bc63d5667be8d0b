"""What commands give is what they gave when it was recorded: verdicts, ids, logs, tests, and runs of before."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from tests.recorded import LEFT, LEFT_COMMANDS, RESULTS, SCENES, machine, measure, measure_verdicts, read_golden

from reslab.spec.trial import trial_from_dict, trial_to_dict

TRIALS = sorted([*RESULTS.glob("*/*/trial.json"), *LEFT.glob("*/*/trial.json")])
TO_THE_BIT = ("id", "metrics", "result", "1-crop", "skipped", "timed", "runs", "show", "report")
BATCHED_ANYHOW = 1e-4  # how images are batched is free where many views are tested, or layers looked into
ELSEWHERE = 1e-2  # of losses, on another processor or with other libraries
# What may be another on another machine: ids of photographs, encoded otherwise there, and the order of guesses.
OPEN_ELSEWHERE = {"id", "subject", "guesses", "labels", "name"}


def list_differences(golden: Any, now: Any, tolerance: float, where: str = "") -> list[str]:
    """Return where two pieces of plain data differ, numbers by more than this fraction."""
    if isinstance(golden, dict) and isinstance(now, dict):
        told = [f"{where}: lacks {key}" for key in golden.keys() - now.keys()]
        told += [f"{where}: has {key} besides" for key in now.keys() - golden.keys()]
        shared = [key for key in golden if key in now]
        return told + [
            line for key in shared for line in list_differences(golden[key], now[key], tolerance, f"{where}.{key}")
        ]
    if isinstance(golden, list) and isinstance(now, list) and len(golden) == len(now):
        pairs = enumerate(zip(golden, now, strict=True))
        return [line for index, pair in pairs for line in list_differences(*pair, tolerance, f"{where}[{index}]")]
    if isinstance(golden, float) and isinstance(now, float):
        same = math.isclose(golden, now, rel_tol=tolerance, abs_tol=tolerance / 100)
    else:
        same = type(golden) is type(now) and golden == now
    return [] if same else [f"{where}: was {golden!r}, is {now!r}"]


def list_differences_elsewhere(golden: Any, now: Any, where: str = "") -> list[str]:
    """Return where keys or kinds differ, and losses by more than another machine explains."""
    if isinstance(golden, dict) and isinstance(now, dict):
        told = [f"{where}: lacks {key}" for key in golden.keys() - now.keys()]
        told += [f"{where}: has {key} besides" for key in now.keys() - golden.keys()]
        for key in (golden.keys() & now.keys()) - OPEN_ELSEWHERE:
            compare = list_losses_that_differ if "loss" in key else list_differences_elsewhere
            told += compare(golden[key], now[key], f"{where}.{key}")
        return told
    if isinstance(golden, list) and isinstance(now, list) and len(golden) == len(now):
        pairs = enumerate(zip(golden, now, strict=True))
        return [line for index, pair in pairs for line in list_differences_elsewhere(*pair, f"{where}[{index}]")]
    free = isinstance(golden, int | float) and not isinstance(golden, bool)
    same = type(golden) is type(now) and (free or golden == now)
    return [] if same else [f"{where}: was {golden!r}, is {now!r}"]


def list_losses_that_differ(golden: Any, now: Any, where: str) -> list[str]:
    """Return where losses differ by more than another machine explains."""
    return list_differences(golden, now, ELSEWHERE, where)


def compare_scene(golden: dict[str, Any], now: dict[str, Any], *, here: bool) -> list[str]:
    """Return where a scene differs from what was recorded: to the bit on a machine of the same kind."""
    told = [f"{name}: only once measured" for name in golden.keys() ^ now.keys()]
    for name in golden.keys() & now.keys():
        part = name.rpartition(": ")[2]
        if here:
            tolerance = 0.0 if part in TO_THE_BIT else BATCHED_ANYHOW
            told += list_differences(golden[name], now[name], tolerance, name)
        elif part == "timed":
            told += list_differences(golden[name], now[name], 0.0, name)
        elif part not in OPEN_ELSEWHERE:
            told += list_differences_elsewhere(golden[name], now[name], name)
    return sorted(told)


@pytest.mark.slow
def test_verdicts(tmp_path: Path) -> None:
    """Every table and figure is judged as before by the records there were then, but for the wording of remarks.

    What is said of a setting since then may stand beside it.
    """
    golden = read_golden("verdicts")["values"]
    now = json.loads(json.dumps(measure_verdicts(tmp_path, golden["runs"])))
    assert not [line for line in list_differences(golden, now, 1e-12) if " besides" not in line]


@pytest.mark.parametrize("path", TRIALS, ids=lambda path: f"{path.parent.parent.name}/{path.parent.name}")
def test_ids(path: Path) -> None:
    """A committed run's folder is named by its trial's id, and its trial is written again as it stands."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    trial = trial_from_dict(stored)
    assert trial.id == path.parent.name
    written = json.loads(json.dumps(trial_to_dict(trial)))
    assert not [line for line in list_differences(stored, written, 0.0) if " besides" not in line]


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES)
def test_numbers(scene: str, tmp_path: Path) -> None:
    """Short trainings, and tests of what came of them, end as they did; so do runs that a version before left."""
    golden, now = read_golden(scene), measure(scene, tmp_path)
    told = compare_scene(golden["values"], now, here=golden["machine"] == machine())
    assert not told, "\n".join(told)


def test_a_run_gone_on_with_ends_as_one_never_stopped() -> None:
    """What is recorded of interrupted runs is what their twins ended with, and they were not begun again."""
    values = read_golden("left")["values"]
    for name in LEFT_COMMANDS:
        steps = [point["step"] for point in values[f"{name} resumed: metrics"]]
        assert values[f"{name} resumed: timed"] == steps
        for part in ("id", "metrics", "result"):
            assert values[f"{name} resumed: {part}"] == values[f"{name} finished: {part}"]


def test_a_difference_is_seen() -> None:
    """In the last bit where bits count, in losses and keys elsewhere."""
    golden = {"a: metrics": [{"loss": 0.5, "error": 10.0}], "a: analyze": {"std": 1.0}, "a: id": "one"}

    def change(name: str, value: Any, *, here: bool) -> int:
        return len(compare_scene(golden, golden | {name: value}, here=here))

    for here in (True, False):
        assert not compare_scene(golden, golden, here=here)
        assert change("a: metrics", [{"loss": 0.52, "error": 10.0}], here=here) == 1
        assert change("a: metrics", [{"loss": None, "error": 10.0}], here=here) == 1
        assert change("a: metrics", [{"error": 10.0}], here=here) == 1
        assert change("a: metrics", [], here=here) == 1
        assert change("b: metrics", [], here=here) == 1
    assert change("a: metrics", [{"loss": math.nextafter(0.5, 1), "error": 10.0}], here=True) == 1
    assert change("a: metrics", [{"loss": 0.501, "error": 11.0}], here=False) == 0
    assert change("a: analyze", {"std": 1.00001}, here=True) == 0
    assert change("a: analyze", {"std": 1.001}, here=True) == 1
    assert change("a: id", "other", here=True) == 1
    assert change("a: id", "other", here=False) == 0
