"""The detection tables, against the paper typed a second time and against themselves."""

from __future__ import annotations

import statistics

import pytest

from reslab.paper.detection_tables import (
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

# The mean, then aero, bike, bird, boat, bottle, bus, car, cat, chair, cow, table, dog, horse, mbike, person, plant,
# sheep, sofa, train, tv.
CLASSES_10 = """
73.2 76.5 79.0 70.9 65.5 52.1 83.1 84.7 86.4 52.0 81.9 65.7 84.8 84.6 77.5 76.7 38.8 73.6 73.9 83.0 72.6
76.4 79.8 80.7 76.2 68.3 55.9 85.1 85.3 89.8 56.7 87.8 69.4 88.3 88.9 80.9 78.4 41.7 78.6 79.8 85.3 72.0
85.6 90.0 89.6 87.8 80.8 76.1 89.9 89.9 89.6 75.5 90.0 80.7 89.6 90.3 89.1 88.7 65.4 88.1 85.6 89.0 86.8
"""
CLASSES_11 = """
70.4 84.9 79.8 74.3 53.9 49.8 77.5 75.9 88.5 45.6 77.1 55.3 86.9 81.7 80.9 79.6 40.1 72.6 60.9 81.2 61.5
73.8 86.5 81.6 77.2 58.0 51.0 78.6 76.6 93.2 48.6 80.4 59.0 92.1 85.3 84.8 80.7 48.1 77.3 66.5 84.7 65.6
83.8 92.1 88.4 84.8 75.9 71.4 86.3 87.8 94.2 66.8 89.4 69.2 93.9 91.9 90.9 89.6 67.9 88.2 76.8 90.3 80.0
"""
PRINTED = {
    7: ["VGG-16 | 73.2 70.4 |", "ResNet-101 | 76.4 73.8 |"],
    8: ["VGG-16 | 41.5 | 21.2", "ResNet-101 | 48.4 | 27.2"],
    9: [
        "baseline VGG-16 | 41.5 | 21.2",
        "baseline ResNet-101 | 48.4 | 27.2",
        "+ box refinement | 49.9 | 29.9",
        "+ context | 51.1 53.3 | 30 32.2",
        "+ multi-scale testing | 53.8 55.7 | 32.5 34.9",
        "ensemble of 3 | 59 | 37.4",
    ],
    12: ["GoogLeNet (ILSVRC'14) | 43.9 |", "single ResNet-101 | 60.5 58.8 |", "ensemble of 3 | 63.6 62.1 |"],
}
TABLES = {7: TABLE_7, 8: TABLE_8, 9: TABLE_9, 12: TABLE_12}


@pytest.mark.parametrize("number", PRINTED)
def test_every_number_is_the_printed_one(number: int) -> None:
    """System by system: at an overlap of a half, then the mean over overlaps, from left to right."""

    def write(row: Detected) -> str:
        columns = [" ".join(f"{value:g}" for value in values.values()) for values in (row.map50, row.map50_95)]
        return " | ".join([row.system, *columns]).strip()

    assert [write(row) for row in TABLES[number]] == PRINTED[number]


@pytest.mark.parametrize(
    ("table", "text", "test", "means"),
    [
        (TABLE_10, CLASSES_10, VOC_2007, (73.16, 76.44, 85.62)),
        (TABLE_11, CLASSES_11, VOC_2012, (70.40, 73.79, 83.79)),
    ],
)
def test_means_are_those_of_the_classes(
    table: tuple[Detected, ...], text: str, test: str, means: tuple[float, ...]
) -> None:
    """Recomputed, and rounded as printed; so no number is in another class's place unseen."""
    printed = [[float(word) for word in line.split()] for line in text.strip().splitlines()]
    assert [[row.map50[test], *row.by_class] for row in table] == printed
    for row, mean in zip(table, means, strict=True):
        assert len(row.by_class) == len(VOC_CLASSES) == 20
        assert statistics.fmean(row.by_class) == pytest.approx(mean, abs=0.0051)
        assert row.map50[test] == pytest.approx(mean, abs=0.0501)


def test_tables_share_their_cells() -> None:
    """Table 7 is the first rows of Tables 10 and 11, and Table 8 of Table 9; gains are those of the text."""
    assert [row.map50[VOC_2007] for row in TABLE_7] == [row.map50[VOC_2007] for row in TABLE_10[:2]]
    assert [row.map50[VOC_2012] for row in TABLE_7] == [row.map50[VOC_2012] for row in TABLE_11[:2]]
    assert [(row.map50, row.map50_95) for row in TABLE_8] == [(row.map50, row.map50_95) for row in TABLE_9[:2]]
    vgg, deep = TABLE_8
    (loose,), (strict,) = (
        zip(one.values(), other.values(), strict=True)
        for one, other in [(vgg.map50, deep.map50), (vgg.map50_95, deep.map50_95)]
    )
    assert loose[1] - loose[0] == pytest.approx(6.9)
    assert strict[1] - strict[0] == pytest.approx(6.0)
    assert 100 * (strict[1] - strict[0]) / strict[0] == pytest.approx(28, abs=0.5)
