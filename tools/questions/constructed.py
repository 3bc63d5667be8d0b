"""Does SGD that starts at the constructed deep solution (paper, section 1) stay there? By small runs on digits."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from reslab.analysis.identity.settings import Identity
from reslab.report.markdown import write_table
from reslab.runs.directory import RunDirectory
from reslab.spec import NetworkSpec, find
from tools.questions.asked import name_in_prose
from tools.questions.digits import error_of, find_runs, write_range
from tools.questions.question import Answer, Beside

SETTINGS = Identity(since=0, linear=False)
SHALLOW, DEEP = {"plain": "plain-20", "resnet": "resnet-20"}, {"plain": "plain-56", "resnet": "resnet-56"}
RATES = (0.02, 0.002)
STEPS = (1, 40, 640)


def list_runs() -> list[RunDirectory]:
    """Return all of them: the shallow ones, the constructed ones, and those from random weights."""
    shallow = [run for network in SHALLOW.values() for run in find_runs(network)]
    deep = [run for network in DEEP.values() for rate in RATES for run in _find(network, rate)]
    return shallow + deep + [run for network in DEEP.values() for run in find_runs(network)]


def _find(network: str, rate: float) -> list[RunDirectory]:
    return find_runs(network, started=True, rate=rate)


def _read(runs: Sequence[RunDirectory], step: int) -> list[Mapping[str, Any]]:
    return [run.read(f"analysis/identity-{SETTINGS.digest}@{step}") for run in runs]


def added_change(found: Mapping[str, Any], shallow: str) -> float:
    """Return by how much the median block changes its input, of those that the shallow network does not have.

    Of a block that is given zeros alone, nothing is known.
    """
    spec = find(shallow)
    assert isinstance(spec, NetworkSpec)
    known = {plan.name for plan in spec.layout()}
    changes = [block["change"] for block in found["blocks"] if block["name"] not in known]
    return statistics.median(change for change in changes if change is not None)


def _tell() -> Answer:
    found = {
        (kind, rate): {step: _read(_find(DEEP[kind], rate), step) for step in STEPS} for kind in DEEP for rate in RATES
    }
    wrong = {
        key: {step: [100 * one["since"]["wrong"] for one in those] for step, those in steps.items()}
        for key, steps in found.items()
    }
    began = {kind: 100 * found[kind, RATES[0]][1][0]["since"]["wrong_then"] for kind in DEEP}
    changes = {
        (kind, rate): {step: [added_change(one, SHALLOW[kind]) for one in found[kind, rate][step]] for step in STEPS}
        for kind, rate in found
    }
    random = {kind: write_range([error_of(run) for run in find_runs(DEEP[kind])]) for kind in DEEP}
    moved = {key: [100 * one["since"]["weights"] for one in steps[STEPS[-1]]] for key, steps in found.items()}
    outputs = {key: [100 * one["since"]["outputs"] for one in steps[STEPS[-1]]] for key, steps in found.items()}
    plain, residual, (first, middle, last) = ("plain", RATES[0]), ("resnet", RATES[0]), STEPS
    images = {one["images"] for steps in found.values() for those in steps.values() for one in those}
    (tested,) = images
    heads = ["start, wrong %", *(f"step {step}" for step in STEPS), "weights moved %", "added blocks change", "random"]
    rows = [
        [
            f"{name_in_prose(DEEP[kind])}, rate {rate:g}",
            f"{began[kind]:.1f}",
            *(write_range(wrong[kind, rate][step]) for step in STEPS),
            write_range(moved[kind, rate], ".2g"),
            write_range(changes[kind, rate][last], "#.2g"),
            random[kind] if rate == RATES[0] else "",
        ]
        for kind, rate in found
    ]
    return Answer(
        found=(
            "**A residual net stays near the constructed solution, a plain net leaves it at once; both end at its "
            f"error.** plain-20, deepened to plain-56 by blocks that are exactly the identity, errs on "
            f"{began['plain']:.1f} % of the test images. One iteration at a learning rate of {RATES[0]:g} makes that "
            f"{write_range(wrong[plain][first])} %, {middle} make it {write_range(wrong[plain][middle])} %, and {last} "
            f"bring it down to {write_range(wrong[plain][last])} %. ResNet-56, made likewise, goes from "
            f"{began['resnet']:.1f} % to {write_range(wrong[residual][first])}, {write_range(wrong[residual][middle])} "
            f"and {write_range(wrong[residual][last])} %. By then the outputs have moved by "
            f"{write_range(outputs[plain], '.0f')} % of their length in the plain net and by "
            f"{write_range(outputs[residual], '.0f')} % in the residual one. The added blocks end up changing their "
            f"input by {write_range(changes[plain][last], '#.2g')} of its length in the plain net's median block and "
            f"by {write_range(changes[residual][last], '#.2g')} in the residual net's. From random weights plain-56 "
            f"ends at {random['plain']} %: a solution as good as the shallow one is there, and SGD does not find it "
            "in as many iterations."
        ),
        sure=(
            f"{tested} test images, so that 1 % is {tested / 100:.2f} of them; {last} iterations of 64 images, "
            f"{len(_find(DEEP['plain'], RATES[0]))} seeds of each from one shallow network, ranges over seeds. A "
            "plain net's identity kernels hold in tests alone: in training batch norm normalizes them by each batch, "
            "so the first steps say as much of batch norm as of SGD. An added residual branch begins with a scale of "
            "zero, so its convolutions have no gradient at first. The constructed start has the shallow net's "
            "iterations behind it."
        ),
        table=write_table(("", *heads), rows),
    )


BESIDE = Beside(
    title="does SGD stay at the constructed solution?",
    tell=_tell,
    runs=list_runs,
    commands=(
        "reslab train data=digits network=plain-20",
        '# in Python, saved: deepen(load_model(...), find("plain-56", {"channels": 1, "input_size": 8}))',
        "reslab train data=digits network=plain-56 weights=plain-56-constructed.safetensors "
        "recipe.optimizer.learning_rate=0.02 seed=0 --snapshots 0,1,10,40,160,640",
        "reslab analyze identity RUN@1 RUN@40 RUN@640 since=0 linear=false",
        "reslab train data=digits network=plain-56 --seeds 3",
    ),
)
