"""What the paper claims of detection: Tables 7 to 12.

It repeats no training there. The authors' Faster R-CNN reports a standard deviation of 0.39 points of mAP over five
runs; a number agrees if it lies within two standard deviations of the difference of two runs, 2·√2·0.39, rounded up to
0.05. The mean of 20 classes varies at least by a √20th of what a class does, so that one class may differ by √20 times
as much. docs/paper/claims.md gives the reasons.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from reslab.paper.claim import IMAGENET, Claim, Setting, claim_order, round_up
from reslab.paper.detection_tables import (
    COCO_TEST_DEV,
    COCO_VAL,
    DET_TEST,
    DET_VAL2,
    TABLE_7,
    TABLE_8,
    TABLE_9,
    TABLE_10,
    TABLE_11,
    TABLE_12,
    VOC_2007,
    VOC_2012,
    VOC_CLASSES,
    Detected,
)
from reslab.paper.measurements import AtTheEnd, ByEnsemble, ByProtocol, Measurement, OtherProtocol
from reslab.spec.detection import Detection
from reslab.spec.trial import DataSpec

SPREAD = 0.39
TOLERANCE = round_up(2 * math.sqrt(2) * SPREAD)
CLASS_TOLERANCE = round_up(2 * math.sqrt(2) * SPREAD * math.sqrt(len(VOC_CLASSES)))
# What is tested on images whose labels are not public is tested on others here.
NOT_PUBLIC = {
    COCO_TEST_DEV: "COCO's test-dev, whose labels are not public: trained on train and tested on val instead",
    DET_TEST: "DET's test images, whose labels are not public: tested on val2 instead",
}
UNKNOWN = "the paper's three networks, of which it says nothing: three seeds of one instead"
THREE = ("resnet-101",) * 3
SEVERAL_SCALES: OtherProtocol = "refined-several-scales"
BEYOND = "beyond the paper, for the network whose weights the authors released"


@dataclass(frozen=True, kw_only=True)
class ObjectsSet:
    """Data to train and test detectors on, by their numbers: of classes, and of `images` to train and to test on.

    Where nobody wrote down how images are divided, that is how many there are in all. `metrics` are the scores that its
    tables print, by what these call them, and `class_metric` that of one class.
    """

    data: DataSpec
    words: str
    classes: int
    images: tuple[int, ...]
    recipe: str
    metrics: Mapping[str, str]
    class_metric: str = ""

    def is_like(self, classes: int, train: int, test: int) -> bool:
        """Whether data with these numbers are these data."""
        images = (train, test) if len(self.images) == 2 else (train + test,)
        return (classes, images) == (self.classes, self.images)


VOC_07_12 = ObjectsSet(
    data=DataSpec(name="voc-2007", fingerprint=""),
    words="Pascal VOC 2007 with its test images, and VOC 2012, in one folder",
    classes=20,
    images=(16_551, 4_952),
    recipe="voc-paper",
    metrics={"mAP@.5": "map50_11_point_percent"},
    class_metric="class_ap50_11_point_percent",
)
VOC_07_07_12 = ObjectsSet(
    data=DataSpec(name="voc-2012", fingerprint=""),
    words="Pascal VOC 2007 and 2012, each with its annotated test images, in one folder",
    classes=20,
    images=(21_503, 10_991),
    recipe="voc-paper",
    metrics={"mAP@.5": "map50_percent"},
    class_metric="class_ap50_percent",
)
COCO = ObjectsSet(
    data=DataSpec(name="coco-2014", fingerprint=""),
    words="COCO's train2014 and val2014",
    classes=80,
    images=(82_783, 40_504),
    recipe="coco-paper",
    metrics={"mAP@.5": "coco_map50_percent", "mAP@[.5,.95]": "map50_95_percent"},
)
# How many images val1 and val2 have is written down nowhere that we know; together they are all 20,121 of val.
DET = ObjectsSet(
    data=DataSpec(name="imagenet-det", fingerprint=""),
    words="ImageNet's detection data (DET) with the lists val1 and val2",
    classes=200,
    images=(456_567 + 20_121,),
    recipe="coco-paper",
    metrics={"mAP@.5": "map50_percent"},
)
SETS = (VOC_07_12, VOC_07_07_12, COCO, DET)
TESTED_ON = {
    VOC_2007: VOC_07_12,
    VOC_2012: VOC_07_07_12,
    COCO_VAL: COCO,
    COCO_TEST_DEV: COCO,
    DET_VAL2: DET,
    DET_TEST: DET,
}


@dataclass(frozen=True, kw_only=True)
class Step:
    """What a row has beyond the baseline: global context in training, a protocol in tests, networks together."""

    context: bool = False
    protocol: OtherProtocol | None = None
    start: str = IMAGENET.name
    together: bool = False

    def measure(self, metric: str, *, of_class: str = "") -> Measurement:
        """Return how its numbers are measured."""
        if self.together:
            return ByEnsemble(SEVERAL_SCALES, metric, THREE)
        if self.protocol is None:
            return AtTheEnd(metric, of_class)
        return ByProtocol(self.protocol, metric, of_class)


BASELINE = Step()
STEPS = {
    "+ box refinement": Step(protocol="refined"),
    "+ context": Step(context=True, protocol="refined"),
    "+ multi-scale testing": Step(context=True, protocol=SEVERAL_SCALES),
    "ensemble of 3": Step(context=True, together=True),
    "ResNet-101 +++": Step(context=True, protocol=SEVERAL_SCALES, start=COCO.data.name),
    "single ResNet-101": Step(context=True, protocol=SEVERAL_SCALES),
}


def setting_of(network: str, images: ObjectsSet, step: Step = BASELINE) -> Setting:
    """Return how a detector on top of `network` is trained."""
    fields = {"pooled_side": "7"} if network.startswith("vgg") else {}  # which its fully-connected layers take
    if images.recipe == "coco-paper":  # Faster R-CNN has smaller anchors there too
        fields["anchor_sides"] = "[64,128,256,512]"
    if step.context:
        fields["context"] = "true"
    return Setting(
        network=network,
        recipe=images.recipe,
        data=images.data,
        task=" ".join([Detection.name, *[f"{name}={value}" for name, value in fields.items()]]),
        start=step.start,
        images=images.images,
        classes=images.classes,
    )


def _row(table: str, row: Detected) -> Iterator[Claim]:
    """Yield what a row prints: means over classes, then every class."""
    step = STEPS.get(row.system, BASELINE)
    for words, values in (("mAP@.5", row.map50), ("mAP@[.5,.95]", row.map50_95)):
        for tested_on, value in values.items():
            images = TESTED_ON[tested_on]
            lacks = (NOT_PUBLIC.get(tested_on), UNKNOWN if step.together else None)
            yield Claim(
                table=table,
                row=row.system,
                quantity=f"{words} %, {tested_on}",
                settings=(setting_of(row.network, images, step),) if row.network else (),
                measurement=step.measure(images.metrics[words]),
                published=value,
                tolerance=TOLERANCE,
                lacks="; without ".join(filter(None, lacks)) if row.network else "",
            )
    for name, value in zip(VOC_CLASSES, row.by_class, strict=False):
        (tested_on,) = row.map50
        images = TESTED_ON[tested_on]
        yield Claim(
            table=table,
            row=row.system,
            quantity=f"AP of {name} %, {tested_on}",
            settings=(setting_of(str(row.network), images, step),),
            measurement=step.measure(images.class_metric, of_class=name),
            published=value,
            tolerance=CLASS_TOLERANCE,
        )


def _table(table: str, rows: tuple[Detected, ...]) -> Iterator[Claim]:
    for row in rows:
        yield from _row(table, row)


def _gain(table: str, tested_on: str, words: str) -> Claim:
    """Return the claim that the deeper network finds more, all else being equal."""
    images = TESTED_ON[tested_on]
    return claim_order(
        table,
        "rises",
        [setting_of(network, images) for network in ("vgg-16", "resnet-101")],
        quantity=f"{words} %, {tested_on}",
        measurement=AtTheEnd(images.metrics[words]),
        tolerance=TOLERANCE,
    )


def _ask(table: str, rows: tuple[Detected, ...], system: str) -> Iterator[Claim]:
    """Yield the questions what ResNet-50 has where a `system` is printed: nothing was published of it."""
    for claim in _table(table, tuple(row for row in rows if row.system == system)):
        if claim.lacks:
            continue
        yield replace(
            claim,
            row=system.replace("ResNet-101", "ResNet-50") if "ResNet" in system else f"ResNet-50 {system}",
            settings=tuple(replace(setting, network="resnet-50") for setting in claim.settings),
            published=None,
            tolerance=0.0,
            note=BEYOND,
        )


CLAIMS: dict[str, tuple[Claim, ...]] = {
    "table-7": (
        _gain("table-7", VOC_2007, "mAP@.5"),
        _gain("table-7", VOC_2012, "mAP@.5"),
        *_table("table-7", TABLE_7),
        *_ask("table-7", TABLE_7, "ResNet-101"),
    ),
    "table-8": (
        *[_gain("table-8", COCO_VAL, words) for words in COCO.metrics],
        *_table("table-8", TABLE_8),
        *_ask("table-8", TABLE_8, "ResNet-101"),
    ),
    "table-9": (
        *_table("table-9", TABLE_9),
        *[claim for row in TABLE_9[1:-1] for claim in _ask("table-9", TABLE_9, row.system)],
    ),
    "table-10": tuple(_table("table-10", TABLE_10)),
    "table-11": tuple(_table("table-11", TABLE_11)),
    "table-12": tuple(_table("table-12", TABLE_12)),
}
