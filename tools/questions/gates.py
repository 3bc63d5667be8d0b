"""Are learned gates open? By small runs of a Highway network and of a residual one with gates, on digits."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from typing import Any

from reslab.report.markdown import write_table
from reslab.runs.directory import RunDirectory
from tools.questions.asked import name_in_prose
from tools.questions.digits import error_of, find_runs
from tools.questions.question import Answer, Beside

BIAS = -2.0  # of every gate, initially
HIGHWAY, GATED = "highway-19", "gated-resnet-20"


def _find() -> dict[str, RunDirectory]:
    return {HIGHWAY: find_runs(HIGHWAY, dropout=0.0)[0], GATED: find_runs(GATED)[0]}


def _name(network: str) -> str:
    return name_in_prose(network).replace("highway", "Highway").replace("gated-", "gated ")


def _tell() -> Answer:
    runs = _find()
    found = {network: run.read("analysis/shortcuts") for network, run in runs.items()}
    gates = {network: [row["gate_mean"] for row in one["additions"]] for network, one in found.items()}
    open_ = {network: 100 * statistics.mean(_column(one, "gate_open")) for network, one in found.items()}
    shares = {network: 100 * statistics.median(_column(one, "branch_share")) for network, one in found.items()}
    error = max(row["gate_mean_error"] for one in found.values() for row in one["additions"])
    rows = [
        [
            _name(network),
            str(len(gates[network])),
            f"{error_of(runs[network]):.1f}",
            *(f"{value:.2f}" for value in (statistics.mean(gates[network]), min(gates[network]), max(gates[network]))),
            f"{open_[network]:.1f}",
            f"{shares[network]:.1f}",
        ]
        for network in found
    ]
    heads = ("gates", "wrong %", "gate: mean", "least block", "most", "more open than shut %", "branch %, forward")
    (images,) = {one["images"] for one in found.values()}

    def tell(network: str) -> str:
        values = gates[network]
        return f"{statistics.mean(values):.2f} in the mean, from {min(values):.2f} to {max(values):.2f} by block"

    return Answer(
        found=(
            f"**Hardly, after so short a training.** Gates of Highway-19 are open by {tell(HIGHWAY)}, and those of a "
            f"gated ResNet-20 by {tell(GATED)}. More open than shut are {open_[HIGHWAY]:.1f} and {open_[GATED]:.1f} % "
            "of their values."
        ),
        sure=(
            f"{images} test images; 95 % intervals of the means are at most ± {error:.3f}. One short run each. All "
            f"gates begin with a bias of {BIAS:g}, open by {1 / (1 + math.exp(-BIAS)):.2f}, and these trainings moved "
            "them little: where a long one would take them is not known. Highway-19 had no dropout."
        ),
        table=write_table(("", *heads), rows),
    )


def _column(found: Mapping[str, Any], name: str) -> list[float]:
    return [row[name] for row in found["additions"]]


BESIDE = Beside(
    title="are gates open?",
    tell=_tell,
    runs=lambda: list(_find().values()),
    commands=(
        "reslab train data=digits network=highway-19 network.dropout=0 recipe.precision=fp32 "
        "recipe.optimizer.learning_rate=0.1 recipe.iterations=2400 recipe.evaluate_every=80",
        "reslab train data=digits network=gated-resnet-20",
        "reslab analyze shortcuts RUN",
    ),
)
