"""The claims about detection: every row has its trial and its measurement."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.claims import find_claim

from reslab.networks import build
from reslab.networks.detection.detector import Detector
from reslab.paper.claim import Claim, Setting, Substitute
from reslab.paper.detection import CLAIMS, COCO, DET, SETS, VOC_07_07_12, VOC_07_12
from reslab.paper.detection_tables import TABLE_7, TABLE_8, TABLE_9, TABLE_10, TABLE_11, TABLE_12, Detected
from reslab.paper.measurements import AtTheEnd, ByEnsemble, ByProtocol
from reslab.spec.detection import Detection
from reslab.spec.trial import DataSpec
from reslab.tasks.detection.scores import BY_CLASS, SCORES
from reslab.tasks.detection.testing import PROTOCOLS

EVERY = [claim for claims in CLAIMS.values() for claim in claims]
SETTINGS = list(dict.fromkeys(setting for claim in EVERY for setting in claim.settings))
TABLES = {7: TABLE_7, 8: TABLE_8, 9: TABLE_9, 10: TABLE_10, 11: TABLE_11, 12: TABLE_12}


@pytest.mark.parametrize(
    "setting", SETTINGS, ids=lambda setting: f"{setting.network}-{setting.data.name}-{setting.task}"
)
def test_every_setting_is_a_detector(setting: Setting) -> None:
    """It builds without memory, for the classes of its data, and starts from weights."""
    trial = setting.trial(seed=1)
    detector = build(trial.network, task=trial.task, device="meta")
    assert isinstance(detector, Detector)
    assert detector.outputs.scores.out_features == setting.classes + 1 if setting.classes else False
    assert isinstance(trial.task, Detection)
    assert trial.task.settle().pooled_side == (7 if setting.network == "vgg-16" else 14)
    assert (trial.recipe.batch, setting.start) in [(2, "imagenet"), (2, COCO.data.name)]
    assert (64.0 in trial.task.settle().anchor_sides) == (setting.recipe == "coco-paper")


@pytest.mark.parametrize("number", TABLES)
def test_tables_are_the_tables(number: int) -> None:
    """Every number printed is claimed once, in its row; what the paper's authors did not build is a number only."""

    def count(row: Detected) -> list[tuple[str, float]]:
        values = [*row.map50.values(), *row.map50_95.values(), *row.by_class]
        return [(row.system, value) for value in values]

    printed = sorted(pair for row in TABLES[number] for pair in count(row))
    claims = [claim for claim in CLAIMS[f"table-{number}"] if claim.published is not None]
    assert sorted((claim.row, claim.published) for claim in claims if claim.published is not None) == printed
    assert {claim.row for claim in claims if not claim.settings} == (
        {"GoogLeNet (ILSVRC'14)"} if number == 12 else set()
    )
    asked = [claim for claim in CLAIMS[f"table-{number}"] if claim.published is None and len(claim.settings) == 1]
    assert {claim.settings[0].network for claim in asked} == ({"resnet-50"} if number in (7, 8, 9) else set())
    assert all("beyond the paper" in claim.note for claim in asked)


def test_the_ladder_is_climbed_step_by_step() -> None:
    """Table 9: one trial for the baseline and its refinement, another with context; then protocols."""
    rows = ("baseline ResNet-101", "+ box refinement", "+ context", "+ multi-scale testing")
    baseline, refined, context, several = [find_claim("table-9", row, "mAP@.5 %, COCO val") for row in rows]
    assert baseline.settings == refined.settings != context.settings == several.settings
    assert context.settings[0].task == f"{baseline.settings[0].task} context=true"
    assert baseline.measurement == AtTheEnd("coco_map50_percent")
    assert refined.measurement == context.measurement == ByProtocol("refined", "coco_map50_percent")
    assert several.measurement == ByProtocol("refined-several-scales", "coco_map50_percent")
    ensemble = find_claim("table-9", "ensemble of 3", "mAP@[.5,.95] %, COCO test-dev")
    assert isinstance(ensemble.measurement, ByEnsemble)
    assert [(setting, seed) for setting, seed in ensemble.members(1)] == [
        (context.settings[0], seed) for seed in (1, 2, 3)
    ]
    assert "labels are not public" in ensemble.lacks and "three seeds" in ensemble.lacks


def test_each_rule_is_that_of_its_data() -> None:
    """VOC 2007 counts at eleven points, VOC 2012 and DET the area, COCO at 101 points and over ten overlaps."""
    metrics = {claim.settings[0].data.name: set[str]() for claim in EVERY if claim.settings}
    for claim in EVERY:
        if claim.settings and not claim.of_class:
            metrics[claim.settings[0].data.name].add(_metric(claim))
    assert metrics == {
        "voc-2007": {"map50_11_point_percent"},
        "voc-2012": {"map50_percent"},
        "coco-2014": {"coco_map50_percent", "map50_95_percent"},
        "imagenet-det": {"map50_percent"},
    }
    classes = {(claim.settings[0].data.name, _metric(claim)) for claim in EVERY if claim.of_class}
    assert classes == {("voc-2007", "class_ap50_11_point_percent"), ("voc-2012", "class_ap50_percent")}


def test_what_is_measured_exists() -> None:
    """Metrics are scores of the task, protocols those that detectors are tested by."""
    known = {score.name for score in SCORES} | {*BY_CLASS}
    for claim in EVERY:
        assert _metric(claim) in known
        if isinstance(claim.measurement, ByProtocol | ByEnsemble):
            assert claim.measurement.protocol in PROTOCOLS


def test_data_are_told_by_their_numbers() -> None:
    """VOC by both, DET by all images together."""
    found = [
        [known.data.name for known in SETS if known.is_like(*numbers)]
        for numbers in (
            (20, 16_551, 4_952),
            (20, 21_503, 10_991),
            (80, 82_783, 40_504),
            (200, 466_567, 10_121),
            (20, 16_550, 4_952),
            (1, 160, 40),
        )
    ]
    assert found == [["voc-2007"], ["voc-2012"], ["coco-2014"], ["imagenet-det"], [], []]
    assert VOC_07_12.images[0] == 5_011 + 11_540 and VOC_07_07_12.images[0] == 5_011 + 4_952 + 11_540
    assert DET.images == (476_688,)


def test_tolerances_are_as_told() -> None:
    """Two deviations of a difference of two runs; a class may differ by the root of twenty as much."""
    assert find_claim("table-7", "ResNet-101", "VOC 2007 test").tolerance == pytest.approx(1.15)  # 1.103
    assert find_claim("table-10", "ResNet-101", "AP of cat").tolerance == pytest.approx(4.95)  # 4.933


def test_other_images_stand_in_for_all_of_a_table() -> None:
    """With one setting where the paper has two, and without the classes that they have not."""
    these = Substitute(
        data=DataSpec(name="pets", fingerprint="0" * 64),
        images=(160, 40),
        class_names=("cat", "dog"),
        classes=2,
        task="detection",
    )
    by_row = [claim.settings for claim in these.stand_in(CLAIMS["table-7"]) if claim.row == "ResNet-101"]
    assert by_row[0] == by_row[1]
    setting = by_row[0][0]
    assert (setting.data.name, setting.classes, setting.images) == ("pets", 2, None)
    assert setting.lacks == "the paper's images: 160 and 40 images of pets instead"
    classes = {claim.of_class for claim in these.stand_in(CLAIMS["table-10"])}
    assert classes == {"", "cat", "dog"}
    assert replace(these, task="classification").stand_in(CLAIMS["table-10"]) == CLAIMS["table-10"]


def _metric(claim: Claim) -> str:
    return getattr(claim.measurement, "metric", "")
