"""What the paper claims of ImageNet: Tables 2 to 5 and Fig. 4.

It repeats no training there. A number agrees if it is within two standard deviations of what the errors of two equally
good networks differ by on 50,000 images each, 2·√(2·p·(1 − p)/50,000), rounded up to 0.05: our allowance for the
chance of training. docs/reproducing.md gives the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

from reslab.paper.claim import HIGH_RATE_SCATTER, IMAGENET, IMAGENET_IMAGES, Claim, Setting, round_up
from reslab.paper.figures import FIGURE_4, IMAGENET_READ_TO, Curve
from reslab.paper.measurements import AtTheEnd, ByEnsemble, ByProtocol, Logged, Measurement, SeveralCrops
from reslab.paper.tables import TABLE_2, TABLE_3, TABLE_4, TABLE_5, Published

METRICS = {"top-1": "error_percent", "top-5": "top5_error_percent"}
ITERATIONS, LOG_EVERY, FIRST_DROP = 600_000, 5_000, 150_000
ENDING = (500_000, 540_000)
# The paper names two of its six models, of 152 layers; for the others stand those of Table 4.
SIX = ("resnet-34 shortcut=B", "resnet-34 shortcut=C", "resnet-50", "resnet-101", "resnet-152", "resnet-152")
UNKNOWN = "the paper's other four models, for which those of Table 4 stand, and the test set, for which validation does"


def setting_of(network: str) -> Setting:
    """Return how `network`, a name with fields or without, is trained."""
    return Setting(network=network, recipe="imagenet-paper", data=IMAGENET, images=IMAGENET_IMAGES)


def _tolerance(percent: float, *, read_to: float = 0.0) -> float:
    part = percent / 100
    return round_up(100 * 2 * math.sqrt(2 * part * (1 - part) / IMAGENET_IMAGES[1]) + read_to)


def _table(table: str, rows: tuple[Published, ...], protocol: SeveralCrops) -> Iterator[Claim]:
    """Yield what a table prints: of the networks the paper trained as claims, of others' as numbers."""
    for row in rows:
        own = row.network is not None and row.network.startswith(("plain", "resnet"))
        for top, value in (("top-1", row.top1_error_percent), ("top-5", row.top5_error_percent)):
            if value is not None:
                yield Claim(
                    table=table,
                    row=row.method,
                    quantity=f"{top} error %, {protocol}" if own else f"{top} error %",
                    settings=(setting_of(str(row.network)),) if own else (),
                    measurement=ByProtocol(protocol, METRICS[top]),
                    published=value,
                    tolerance=_tolerance(value),
                    note=row.note,
                )


def _order(
    table: str, relation: Literal["rises", "falls"], *networks: str, quantity: str, measurement: Measurement
) -> Claim:
    """Return the claim that the errors rise, or fall, from network to network; each step must."""
    return Claim(
        table=table,
        row=(" < " if relation == "rises" else " > ").join(networks),
        quantity=quantity,
        settings=tuple(setting_of(network) for network in networks),
        measurement=measurement,
        relation=relation,
    )


def _tested(table: str, relation: Literal["rises", "falls"], *networks: str) -> Claim:
    return _order(
        table,
        relation,
        *networks,
        quantity="top-1 error %, 10-crop",
        measurement=ByProtocol("10-crop", METRICS["top-1"]),
    )


def _trained(images: Literal["train", "test"], relation: Literal["rises", "falls"], *networks: str) -> Claim:
    return _order(
        "fig-4", relation, *networks, quantity=f"{_words(images)} over 500k-540k", measurement=_ending(images)
    )


def _curve(curve: Curve) -> Iterator[Claim]:
    """Yield what one curve of Fig. 4 claims, at each of its readings and at its end."""
    for iteration, value in curve.at.items():
        yield Claim(
            table="fig-4",
            row=curve.network,
            quantity=f"{_words(curve.images)} at {iteration // 1000}k",
            settings=(setting_of(curve.network),),
            measurement=_logged(curve.images, after=iteration - LOG_EVERY, upto=iteration),
            published=value,
            tolerance=HIGH_RATE_SCATTER if iteration < FIRST_DROP else _tolerance(value, read_to=IMAGENET_READ_TO),
            note="read off the figure",
        )
    yield Claim(
        table="fig-4",
        row=curve.network,
        quantity=f"{_words(curve.images)} over 500k-540k",
        settings=(setting_of(curve.network),),
        measurement=_ending(curve.images),
        published=curve.ends,
        tolerance=_tolerance(curve.ends, read_to=IMAGENET_READ_TO),
        note="read off the figure",
    )


def _ending(images: str) -> Logged:
    return _logged(images, after=ENDING[0], upto=ENDING[1])


def _logged(images: str, *, after: int, upto: int) -> Logged:
    metric = f"{images}_error_percent"
    return Logged(metric=metric, after=after, upto=upto, iterations=ITERATIONS, log_every=LOG_EVERY)


def _words(images: str) -> str:
    return "training error %" if images == "train" else "validation error %"


def _ensemble(row: Published) -> Claim:
    own = row.method.startswith("ResNet")
    return Claim(
        table="table-5",
        row=row.method,
        quantity="top-5 error %, test set",
        settings=(setting_of(SIX[0]),) if own else (),
        measurement=ByEnsemble("multi-scale", METRICS["top-5"], SIX) if own else AtTheEnd(METRICS["top-5"]),
        published=row.top5_error_percent,
        note=row.note,
        lacks=UNKNOWN if own else "",
    )


CLAIMS: dict[str, tuple[Claim, ...]] = {
    "table-2": (
        _tested("table-2", "rises", "plain-18", "plain-34"),
        _tested("table-2", "falls", "resnet-18", "resnet-34"),
        _tested("table-2", "falls", "plain-34", "resnet-34"),
        *_table("table-2", TABLE_2, "10-crop"),
    ),
    "table-3": (
        _tested("table-3", "falls", "plain-34", "resnet-34", "resnet-34 shortcut=B", "resnet-34 shortcut=C"),
        _tested("table-3", "falls", "resnet-34 shortcut=B", "resnet-50", "resnet-101", "resnet-152"),
        *_table("table-3", TABLE_3, "10-crop"),
    ),
    "table-4": tuple(_table("table-4", TABLE_4, "multi-scale")),
    "table-5": tuple(_ensemble(row) for row in TABLE_5),
    "fig-4": (
        *[_trained(images, "rises", "plain-18", "plain-34") for images in ("train", "test")],
        *[_trained(images, "falls", "resnet-18", "resnet-34") for images in ("train", "test")],
        *[claim for curve in FIGURE_4 for claim in _curve(curve)],
    ),
}
