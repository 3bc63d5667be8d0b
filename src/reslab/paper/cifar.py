"""What the paper claims of CIFAR-10: Table 6, Figs. 1, 6 and 7; and what we ask beyond it.

The paper repeats one network: ResNet-110, 6.61±0.16 over 5 runs. We take the spread of every error to be in that
proportion to it. A number agrees if it lies within two standard deviations of the difference between one run of ours
and the paper's mean of n runs, 2·0.0242·value·√(1 + 1/n), plus what the figure can be read to, rounded up to 0.05.
docs/paper/claims.md gives the reasons.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from reslab.paper.claim import Claim, Setting, claim_curve, claim_order, round_up
from reslab.paper.figures import ERROR_READ_TO, FIGURE_1, FIGURE_6, FIGURE_7, RESPONSE_READ_TO, Curve
from reslab.paper.measurements import ITERATIONS, AtTheEnd, Logged, ResponseStd
from reslab.paper.tables import TABLE_6, Published

RECIPES = {
    "resnet-110": "cifar-paper-110",
    "resnet-1202": "cifar-paper-110",
    "highway-19": "highway",
    "highway-32": "highway",
}
# What of its authors' way no recipe of ours can say: such a run is a reduced setting, whatever its length.
LACKS = {"highway-19": "global contrast normalization", "highway-32": "global contrast normalization"}
ENDING = 50_000
RELATIVE_SPREAD = next(
    row.std_error_percent / row.mean_error_percent
    for row in TABLE_6
    if row.runs and row.std_error_percent and row.mean_error_percent
)
# The paper repeats no measurement of responses and does not say on which images they were taken: our allowance.
RESPONSE_SPREAD = 0.1
ALL_PROJECTIONS = "He et al. (2016) print 12.22 for 1x1 convolutions on every shortcut, close to option C"
PRE_ACTIVATION = "He et al. (2016) print 6.37, the median of five runs"


def setting_of(network: str) -> Setting:
    """Return how `network`, a name with fields or without, is trained."""
    name = network.split()[0]
    return Setting(network=network, recipe=RECIPES.get(name, "cifar-paper"), lacks=LACKS.get(name, ""))


def ask_error(network: str, *, table: str, row: str, note: str = "") -> Claim:
    """Return the question what a network's test error is, of which nothing was published."""
    return Claim(
        table=table,
        row=row,
        quantity="test error %",
        settings=(setting_of(network),),
        measurement=AtTheEnd("error_percent"),
        note=note,
    )


def _tolerance(value: float, *, runs: int = 1, read_to: float = 0.0) -> float:
    return round_up(2 * RELATIVE_SPREAD * value * math.sqrt(1 + 1 / runs) + read_to)


def _table_6(row: Published) -> Claim:
    best, mean = row.error_percent, row.mean_error_percent
    assert best is not None
    value = best if mean is None else mean
    return Claim(
        table="table-6",
        row=row.method,
        quantity="test error %",
        settings=(setting_of(row.network),) if row.network else (),
        measurement=AtTheEnd("error_percent"),
        published=value,
        published_std=row.std_error_percent,
        published_n=row.runs,
        tolerance=_tolerance(value, runs=row.runs or 1),
        note="" if mean is None else f"published as a mean; the best run: {best:g}",
    )


def _shortcuts(depth: int) -> Iterator[Claim]:
    """Yield options A, B and C of one ResNet: of A Table 6 has the error, of B and C nothing was published."""
    network = f"resnet-{depth}"
    (published,) = [row for row in TABLE_6 if row.network == network]
    yield replace(_table_6(published), table="shortcuts", row=f"ResNet-{depth} A")
    for option in "BC":
        yield ask_error(
            f"{network} shortcut={option}",
            table="shortcuts",
            row=f"ResNet-{depth} {option}",
            note=ALL_PROJECTIONS if (depth, option) == (110, "C") else "",
        )


def _curve(table: str, curve: Curve) -> Iterator[Claim]:
    return claim_curve(
        table,
        curve,
        setting_of(curve.network),
        quantity=_words(curve.images),
        ending=_ending(curve.images),
        at_high_rate=lambda iteration: curve.images == "test" and iteration <= ITERATIONS // 2,
        tolerance=_tolerance,
        read_to=0.0 if curve.in_text else ERROR_READ_TO,
    )


def _order(table: str, images: str, relation: Literal["rises", "falls"], networks: tuple[str, ...]) -> Claim:
    """Return the claim that the errors at the end rise, or fall, from network to network."""
    curves = {curve.network: curve.ends for curve in FIGURE_6 if curve.images == images}
    return claim_order(
        table,
        relation,
        [setting_of(network) for network in networks],
        quantity=f"{_words(images)} over 50k-64k",
        measurement=_ending(images),
        # Two runs of networks that are equally good differ by as much.
        tolerance=_tolerance(min(curves[network] for network in networks)),
    )


def _ending(images: str) -> Logged:
    return Logged(metric=f"{images}_error_percent", after=ENDING, upto=ITERATIONS)


def _words(images: str) -> str:
    return "training error %" if images == "train" else "test error %"


def _response(network: str, rank: int, value: float) -> Claim:
    return Claim(
        table="fig-7",
        row=network,
        quantity=f"response std, rank {rank}",
        settings=(setting_of(network),),
        measurement=ResponseStd(rank),
        published=value,
        tolerance=round_up(RESPONSE_SPREAD * value + RESPONSE_READ_TO),
        note="read off the figure",
    )


def _response_order(*networks: str) -> Claim:
    settings = [setting_of(network) for network in networks]
    return claim_order("fig-7", "falls", settings, quantity="median response std", measurement=ResponseStd())


PLAIN = tuple(f"plain-{depth}" for depth in (20, 32, 44, 56))
RESIDUAL = tuple(f"resnet-{depth}" for depth in (20, 32, 44, 56))

CLAIMS: dict[str, tuple[Claim, ...]] = {
    "table-6": tuple(_table_6(row) for row in TABLE_6),
    "fig-1": (
        _order("fig-1", "train", "rises", ("plain-20", "plain-56")),
        _order("fig-1", "test", "rises", ("plain-20", "plain-56")),
        *[claim for curve in FIGURE_1 for claim in _curve("fig-1", curve)],
    ),
    "fig-6": (
        _order("fig-6", "train", "rises", PLAIN),
        _order("fig-6", "test", "rises", PLAIN),
        _order("fig-6", "train", "falls", RESIDUAL),
        _order("fig-6", "test", "falls", (*RESIDUAL, "resnet-110")),
        _order("fig-6", "test", "rises", ("resnet-110", "resnet-1202")),
        *[claim for curve in FIGURE_6 for claim in _curve("fig-6", curve)],
    ),
    "fig-7": (
        _response_order("plain-20", "resnet-20"),
        _response_order("plain-56", "resnet-56"),
        _response_order("resnet-20", "resnet-56", "resnet-110"),
        *[_response(network, rank, value) for network, read in FIGURE_7.items() for rank, value in read.items()],
    ),
    "shortcuts": (
        *[claim for depth in (20, 56, 110) for claim in _shortcuts(depth)],
        ask_error(
            "resnet-110 order=pre",
            table="shortcuts",
            row="ResNet-110 A, pre-activation",
            note=PRE_ACTIVATION,
        ),
    ),
}
