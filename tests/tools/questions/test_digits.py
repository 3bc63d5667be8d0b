"""What the page tells of small runs on digits, read off the records another way."""

from __future__ import annotations

import json
import re
from statistics import median
from typing import Any

import pytest
from tools.questions.digits import FOLDER, find_runs, write_range
from tools.questions.question import Beside

from tools import REPOSITORY, measurements
from tools.questions import constructed, gates, preactivation

PAGE = measurements.PAGE.read_text(encoding="utf-8")
PARTS = {part.partition("\n")[0]: " ".join(part.split()) for part in re.split("\n###? ", PAGE)}
BESIDES = (constructed.BESIDE, gates.BESIDE, preactivation.BESIDE)


def part_of(beside: Beside) -> str:
    return PARTS[f"Small runs on digits: {beside.title}"]


def read(**wanted: Any) -> list[tuple[dict[str, Any], dict[int, dict[str, Any]]]]:
    """Return trials that started from weights, by kind of shortcut and rate, with what identity found at each step."""
    found = []
    for path in sorted(FOLDER.glob("*/trial.json")):
        trial = json.loads(path.read_text(encoding="utf-8"))
        known = {"shortcut": trial["network"].get("shortcut"), "rate": trial["recipe"]["optimizer"]["learning_rate"]}
        if trial.get("start") and known == wanted:
            records = path.parent.glob("analysis/identity*.json")
            steps = {int(one.stem.partition("@")[2]): json.loads(one.read_text(encoding="utf-8")) for one in records}
            found.append((trial, steps))
    return found


@pytest.mark.parametrize("beside", BESIDES, ids=lambda beside: beside.title)
def test_the_page_has_them_with_their_records(beside: Beside) -> None:
    """Below the question, each record where its link says."""
    links = re.findall(r"\]\(\.\./\.\./(results/digits/[^)]*)\)", part_of(beside))
    assert links == [run.path.relative_to(REPOSITORY).as_posix() for run in beside.runs()]
    assert len(set(links)) == len(links) and all((REPOSITORY / link / "result.json").exists() for link in links)


def test_a_residual_net_stays_near_where_a_plain_one_leaves() -> None:
    """Error along the training, and how far added blocks end up from the identity, by every seed."""
    plain, residual = (read(shortcut=shortcut, rate=0.02) for shortcut in ("none", "A"))
    assert [trial["seed"] for trial, _ in sorted(plain, key=lambda one: one[0]["seed"])] == [0, 1, 2]
    assert len({trial["start"] for trial, _ in plain}) == 1
    errors = {
        kind: {step: [100 * steps[step]["since"]["wrong"] for _, steps in runs] for step in (1, 40, 640)}
        for kind, runs in (("plain", plain), ("residual", residual))
    }
    assert min(errors["plain"][1]) > 3 * max(errors["residual"][1])
    assert min(errors["plain"][40]) > 5 * max(errors["residual"][40])
    assert all(steps[640]["since"]["wrong"] <= steps[640]["since"]["wrong_then"] for _, steps in plain)
    began = {100 * steps[640]["since"]["wrong_then"] for _, steps in residual}
    assert max(began) == min(began) and min(errors["residual"][40]) >= 2 * max(began)
    assert max(abs(error - max(began)) for error in errors["residual"][640]) < 100 / 355 + 1e-9
    for runs in (plain, residual):
        gone = [100 * steps[640]["since"]["outputs"] for _, steps in runs]
        assert f"{min(gone):.0f} to {max(gone):.0f} %" in part_of(constructed.BESIDE)
    for values in (errors["plain"][1], errors["plain"][40], errors["plain"][640], errors["residual"][40]):
        assert f"{min(values):.1f} to {max(values):.1f}" in part_of(constructed.BESIDE)
    added = [
        [
            median(row["change"] for row in steps[640]["blocks"] if int(row["name"].partition("_")[2]) > 3)
            for _, steps in runs
        ]
        for runs in (plain, residual)
    ]
    assert min(added[0]) > 30 * max(added[1])
    assert f"{min(added[1]):.2g} to {max(added[1]):.2g}" in part_of(constructed.BESIDE)
    assert f"{min(added[0]):.2f} to {max(added[0]):.2f}" in part_of(constructed.BESIDE)


def test_blocks_of_which_nothing_is_known_are_not_counted() -> None:
    """Among those that were added."""
    rows = [("conv2_1", 9.0), ("conv2_4", 0.5), ("conv2_5", None), ("conv2_6", 0.7)]
    found = {"blocks": [{"name": name, "change": change} for name, change in rows]}
    assert constructed.added_change(found, "plain-20") == pytest.approx(0.6)


def test_a_deep_plain_net_from_random_weights_does_not_find_it() -> None:
    """By any seed."""
    random = [run.result()["test_error_percent"] for run in find_runs("plain-56")]
    started = [run.result()["test_error_percent"] for run in find_runs("plain-56", started=True)]
    assert (len(random), len(started)) == (3, 6) and min(random) > 10 * max(started)
    assert f"ends at {min(random):.1f} to {max(random):.1f} %" in part_of(constructed.BESIDE)


def test_gates_are_hardly_more_open_than_they_began() -> None:
    """Of both networks."""
    for (run,) in (find_runs("highway-19", dropout=0.0), find_runs("gated-resnet-20")):
        means = [row["gate_mean"] for row in run.read("analysis/shortcuts")["additions"]]
        assert min(means) > 0.119 and max(means) < 0.2
        assert f"from {min(means):.2f} to {max(means):.2f} by block" in part_of(gates.BESIDE)


def test_lesions_cost_the_deeper_net_less_in_both_orders() -> None:
    """In the median block."""
    costs = {}
    for network, order in (("resnet-20", "post"), ("resnet-56", "post"), ("resnet-20", "pre"), ("resnet-56", "pre")):
        found = find_runs(network, order=order)[0].read(f"analysis/lesions-{preactivation.SETTINGS.digest}")
        wrong = median(row["wrong"] for row in found["single"])
        costs[network, order] = wrong - found["intact"]["wrong"]
        assert f"{100 * found['intact']['wrong']:.1f} to {100 * wrong:.1f} %" in part_of(preactivation.BESIDE)
    for order in ("pre", "post"):
        assert costs["resnet-20", order] > 5 * costs["resnet-56", order]


def test_seeds_are_a_range() -> None:
    """Or one number, where they agree as far as is written."""
    assert (write_range([2.34, 1.0]), write_range([0.13, 0.1304], ".2g")) == ("1.0 to 2.3", "0.13")
    with pytest.raises(AssertionError, match="has no run of plain-110"):
        find_runs("plain-110")
