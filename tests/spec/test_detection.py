"""Detection as data: usual values by head, and refusals that name the field."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from reslab.errors import UserError
from reslab.spec.codec import decode, encode
from reslab.spec.detection import FPN, Detection, SettledDetection
from reslab.spec.task import encode_task


def test_defaults_are_the_papers() -> None:
    """Joint training on the last map but one, as Faster R-CNN has it."""
    settled = Detection().settle()
    assert (settled.head, settled.norm, settled.freeze, settled.pooling) == ("c4", "frozen", "conv2", "max")
    assert settled.anchor_sides == (128, 256, 512) and settled.anchor_ratios == (0.5, 1, 2)
    assert (settled.candidates_train, settled.proposals_train) == (12000, 2000)
    assert (settled.candidates_test, settled.proposals_test) == (6000, 300)
    assert (settled.regions, settled.region_positive_share, settled.pooled_side) == (64, 0.25, 14)
    assert (settled.detection_score, settled.detection_overlap, settled.detections) == (0.05, 0.3, 100)
    assert encode_task(Detection(), sparse=True) == "detection"


def test_a_pyramid_has_values_of_its_own() -> None:
    """Where none is given; what is given stays."""
    settled = Detection(head="fpn", regions=128).settle()
    assert settled.anchor_sides == (32, 64, 128, 256, 512)
    assert (settled.regions, settled.pooled_side, settled.detection_overlap) == (128, 7, 0.5)
    assert settled.settle() is settled
    assert encode_task(Detection(head="fpn", regions=128), sparse=True) == {
        "name": "detection",
        "head": "fpn",
        "regions": 128,
    }


def test_what_is_trained_is_part_of_a_trial_where_it_is_said() -> None:
    """Both parts on one trunk is what trials meant before there was a choice, so their ids stay what they were."""
    assert encode_task(Detection(trains="both", trunks="shared"), sparse=True) == "detection"
    step = Detection(trains="regions", trunks="separate")
    assert encode_task(step, sparse=True) == {"name": "detection", "trains": "regions", "trunks": "separate"}
    assert set(Detection.about_training) <= {field.name for field in fields(Detection)}


@pytest.mark.parametrize(
    ("values", "needs"),
    [
        ({}, ""),
        ({"trains": "proposals"}, ""),
        ({"trains": "regions", "trunks": "separate"}, "task.trains=regions"),
        ({"trains": "proposals", "freeze": "shared"}, "task.freeze=shared"),
    ],
)
def test_some_steps_go_on_from_others(values: dict[str, Any], needs: str) -> None:
    """What they leave alone has to be trained already."""
    assert Detection(**values).needs_start == needs


@pytest.mark.parametrize("head", ["c4", "fpn"])
def test_every_open_field_is_settled(head: str) -> None:
    """Both heads settle the same ones, and nothing else."""
    open_fields = {field.name for field in fields(Detection) if field.default is None}
    assert set(FPN) == open_fields
    settled = decode(Detection, {"head": head}).settle()
    assert isinstance(settled, SettledDetection)
    assert None not in encode(settled).values()


def test_text_of_a_command_line_is_read() -> None:
    """Lists too."""
    read = decode(Detection, {"anchor_sides": "[64,128]", "regions": "32", "crossing_anchors": "true"}, where="task.")
    assert read == Detection(anchor_sides=(64, 128), regions=32, crossing_anchors=True)
    assert decode(Detection, {"regions": "none"}) == Detection()


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"trunks": "separate"}, r"task\.trunks is separate, which does not go with trains=both; set trains=regions"),
        (
            {"trains": "regions"},
            r"task\.trains is regions with freeze=conv2, which .*; set freeze=shared or trunks=sep",
        ),
        ({"trains": "boxes"}, r"task\.trains is 'boxes'; choose both, proposals or regions"),
        ({"head": "c5"}, r"task\.head is 'c5'; choose c4 or fpn"),
        ({"pooling": "average"}, r"task\.pooling is 'average'; choose max, align, align-unshifted or None"),
        ({"regions": 0}, r"task\.regions is 0; it must be at least 1"),
        ({"proposal_overlap": 1.5}, r"task\.proposal_overlap is 1\.5; it must be from 0 to 1"),
        ({"rpn_beta": 0}, r"task\.rpn_beta is 0\.0; it must be more than 0"),
        ({"proposal_side": -1}, r"task\.proposal_side is -1\.0; it must be at least 0"),
        ({"anchor_sides": []}, r"task\.anchor_sides is \[\]; give numbers more than 0"),
        ({"anchor_ratios": [1, 0]}, r"task\.anchor_ratios is \[1\.0, 0\.0\]; give numbers more than 0"),
        ({"box_weights": [1, 1]}, r"task\.box_weights has 2 numbers; give four"),
        ({"region_negative_overlaps": [0.1]}, r"task\.region_negative_overlaps is \[0\.1\]; give a lower and an upper"),
        ({"region_negative_overlaps": [0.1, 0.6]}, "of at most region_positive_overlap"),
        ({"rpn_negative_overlap": 0.8}, r"task\.rpn_negative_overlap is 0\.8; it must be at most"),
        ({"head": "fpn", "pooling": "max"}, r"task\.pooling is max, which only head=c4 has; choose align"),
    ],
)
def test_what_makes_no_sense_is_refused(values: dict[str, Any], sentence: str) -> None:
    """With the field's whole name and what is allowed."""
    with pytest.raises(UserError, match=sentence):
        Detection(**values)
