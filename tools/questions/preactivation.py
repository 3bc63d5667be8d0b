"""What are single blocks worth in both orders of activation? By small runs on digits."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from reslab.analysis.lesions.settings import Lesions
from reslab.report.markdown import write_table
from reslab.runs.directory import RunDirectory
from tools.questions.digits import find_runs
from tools.questions.question import Answer, Beside

SETTINGS = Lesions(pairs=0, several=10, draws=5, swaps=0, reset=False, paths=0)
AT_ONCE = 5  # blocks deleted together, in the table
NAMES = {
    "plain-20": ("plain-20", {}),
    "ResNet-20": ("resnet-20", {}),
    "ResNet-20, pre-activation": ("resnet-20", {"order": "pre"}),
    "ResNet-56": ("resnet-56", {}),
    "ResNet-56, pre-activation": ("resnet-56", {"order": "pre"}),
}


def _find() -> dict[str, RunDirectory]:
    return {name: find_runs(network, **fields)[0] for name, (network, fields) in NAMES.items()}


def _tell() -> Answer:
    found = {name: run.read(f"analysis/lesions-{SETTINGS.digest}") for name, run in _find().items()}
    intact = {name: 100 * one["intact"]["wrong"] for name, one in found.items()}
    single = {name: [100 * row["wrong"] for row in one["single"]] for name, one in found.items()}
    medians = {name: statistics.median(values) for name, values in single.items()}
    errors = {name: _median_error(one) for name, one in found.items()}
    rows = [
        [
            name,
            str(one["blocks"]),
            *(f"{value:.1f}" for value in (intact[name], min(single[name]), medians[name], max(single[name]))),
            f"{next(100 * row['wrong'] for row in one['several'] if row['deleted'] == AT_ONCE):.1f}",
        ]
        for name, one in found.items()
    ]

    def say(name: str) -> str:
        return f"{intact[name]:.1f} to {medians[name]:.1f} % in {name.replace(', pre-activation', '')}"

    heads = ("blocks", "intact, wrong %", "without one: least", "median", "most", f"without {AT_ONCE}, mean")
    (images,) = {one["images"] for one in found.values()}
    return Answer(
        found=(
            "**In both orders a block of the deeper net is worth little.** With pre-activation the median error "
            f"without one block goes from {say('ResNet-20, pre-activation')} and from "
            f"{say('ResNet-56, pre-activation')}; in the paper's order from {say('ResNet-20')} and from "
            f"{say('ResNet-56')}."
        ),
        sure=(
            f"{images} test images: the 95 % interval of a block's harm is at most ± {max(errors.values()):.1f} points "
            "in the median. One short run each, so that the orders are not to be ranked by it."
        ),
        table=write_table(("", *heads), rows),
    )


def _median_error(found: Mapping[str, Any]) -> float:
    return 100 * statistics.median(row["wrong_error"] for row in found["single"])


BESIDE = Beside(
    title="lesions in both orders of activation",
    tell=_tell,
    runs=lambda: list(_find().values()),
    commands=(
        "reslab train data=digits network=resnet-56 network.order=pre",
        "reslab analyze lesions RUN pairs=0 several=10 draws=5 swaps=0 reset=false paths=0",
    ),
)
