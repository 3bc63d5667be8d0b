"""What the paper claims of ImageNet: Tables 2 to 5 and Fig. 4.

It repeats no training there. A number agrees if it is within two standard deviations of what the errors of two equally
good networks differ by on 50,000 images each, 2·√(2·p·(1 − p)/50,000), rounded up to 0.05: our allowance for the
chance of training. docs/paper/claims.md gives the reasons.
"""

import math
from collections.abc import Iterator
from typing import Literal

from reslab.paper.claim import IMAGENET, IMAGENET_IMAGES, Claim, Setting, claim_curve, claim_order, round_up
from reslab.paper.figures import FIGURE_4, IMAGENET_READ_TO, Curve
from reslab.paper.measurements import AtTheEnd, ByEnsemble, ByProtocol, Logged, OtherProtocol
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


def _table(table: str, rows: tuple[Published, ...], protocol: OtherProtocol) -> Iterator[Claim]:
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


def _tested(table: str, relation: Literal["rises", "falls"], *networks: str) -> Claim:
    """Return the claim that the errors of ten crops rise, or fall, from network to network; each step must."""
    settings, measurement = [setting_of(network) for network in networks], ByProtocol("10-crop", METRICS["top-1"])
    return claim_order(table, relation, settings, quantity="top-1 error %, 10-crop", measurement=measurement)


def _trained(images: Literal["train", "test"], relation: Literal["rises", "falls"], *networks: str) -> Claim:
    """Return the same of the errors over the last iterations that Fig. 4 shows."""
    settings, quantity = [setting_of(network) for network in networks], f"{_words(images)} over 500k-540k"
    return claim_order("fig-4", relation, settings, quantity=quantity, measurement=_ending(images))


def _curve(curve: Curve) -> Iterator[Claim]:
    return claim_curve(
        "fig-4",
        curve,
        setting_of(curve.network),
        quantity=_words(curve.images),
        ending=_ending(curve.images),
        at_high_rate=lambda iteration: iteration < FIRST_DROP,
        tolerance=_tolerance,
        read_to=IMAGENET_READ_TO,
    )


def _ending(images: str) -> Logged:
    metric = f"{images}_error_percent"
    return Logged(metric=metric, after=ENDING[0], upto=ENDING[1], iterations=ITERATIONS, log_every=LOG_EVERY)


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
