"""Scores say what they are called, where they stand and which way is better."""

from __future__ import annotations

import json

from reslab.scores import Score, describe_scores, list_columns, list_spare
from reslab.spec.codec import decode

ANGLE = Score(name="angle_degrees", words="angle", unit="°", logged=("train", "test"), shown="lists")
RIGHT = Score(name="right_percent", words="pictures set right", better="higher", shown="lists")
LOSS = Score(name="loss", words="squares", unit="", decimals=4, shown="evaluation")


def test_a_score_is_written_with_its_unit() -> None:
    """In headings, beside axes, above charts and in sentences; some have none."""
    assert (ANGLE.heading, ANGLE.axis, ANGLE.title, ANGLE.write(1.5)) == ("angle °", "angle (°)", "Angle", "1.50 °")
    assert (LOSS.heading, LOSS.axis, LOSS.write(1.5)) == ("squares", "squares", "1.5000")
    assert (ANGLE.write(None), ANGLE.write(1.54, decimals=1)) == ("", "1.5 °")
    assert Score(name="map_percent", words="mAP").title == "mAP"


def test_lists_show_training_beside_test() -> None:
    """Where the log has both; other scores go by their own names."""
    assert list_columns((ANGLE, RIGHT, LOSS)) == {
        "train_angle_degrees": "training angle °",
        "test_angle_degrees": "test angle °",
        "right_percent": "pictures set right %",
    }


def test_a_narrow_list_keeps_the_test_of_the_headline() -> None:
    """Of every task it shows."""
    assert list_spare([(ANGLE, RIGHT, LOSS)]) == ["training angle °", "pictures set right %"]
    assert list_spare([(ANGLE, RIGHT, LOSS), (RIGHT,)]) == ["training angle °"]


def test_a_description_reads_as_it_was_written() -> None:
    """Through JSON."""
    written = json.loads(json.dumps(describe_scores((ANGLE, RIGHT, LOSS))))
    assert [decode(Score, one) for one in written] == [ANGLE, RIGHT, LOSS]
