"""The detection tables of the paper as printed (arXiv 1512.03385, appendices A and B): average precision in percent.

The values of a row stand by what they were tested on. Those of single classes are in VOC's order of its classes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

VOC_2007, VOC_2012, COCO_VAL, COCO_TEST_DEV = "VOC 2007 test", "VOC 2012 test", "COCO val", "COCO test-dev"
DET_VAL2, DET_TEST = "DET val2", "DET test"
VOC_CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *("diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"),
)


@dataclass(frozen=True)
class Detected:
    """One row: a system, the network we build for it, and its mean average precision by test images."""

    system: str
    network: str | None
    map50: Mapping[str, float]
    map50_95: Mapping[str, float] = field(default_factory=dict)
    by_class: tuple[float, ...] = ()


# Trained on VOC 2007 and 2012 (07+12), or these and the test images of 2007 (07++12).
TABLE_7 = (
    Detected("VGG-16", "vgg-16", {VOC_2007: 73.2, VOC_2012: 70.4}),
    Detected("ResNet-101", "resnet-101", {VOC_2007: 76.4, VOC_2012: 73.8}),
)

TABLE_8 = (
    Detected("VGG-16", "vgg-16", {COCO_VAL: 41.5}, {COCO_VAL: 21.2}),
    Detected("ResNet-101", "resnet-101", {COCO_VAL: 48.4}, {COCO_VAL: 27.2}),
)

# Each row is in addition to those above it. What is tested on test-dev was trained on train and val.
TABLE_9 = (
    Detected("baseline VGG-16", "vgg-16", {COCO_VAL: 41.5}, {COCO_VAL: 21.2}),
    Detected("baseline ResNet-101", "resnet-101", {COCO_VAL: 48.4}, {COCO_VAL: 27.2}),
    Detected("+ box refinement", "resnet-101", {COCO_VAL: 49.9}, {COCO_VAL: 29.9}),
    Detected("+ context", "resnet-101", {COCO_VAL: 51.1, COCO_TEST_DEV: 53.3}, {COCO_VAL: 30.0, COCO_TEST_DEV: 32.2}),
    Detected(
        "+ multi-scale testing",
        "resnet-101",
        {COCO_VAL: 53.8, COCO_TEST_DEV: 55.7},
        {COCO_VAL: 32.5, COCO_TEST_DEV: 34.9},
    ),
    Detected("ensemble of 3", "resnet-101", {COCO_TEST_DEV: 59.0}, {COCO_TEST_DEV: 37.4}),
)

# "+++" has all improvements of Table 9 and starts from its single model on COCO.
TABLE_10 = (
    Detected(
        "VGG-16",
        "vgg-16",
        {VOC_2007: 73.2},
        by_class=(
            *(76.5, 79.0, 70.9, 65.5, 52.1, 83.1, 84.7, 86.4, 52.0, 81.9),
            *(65.7, 84.8, 84.6, 77.5, 76.7, 38.8, 73.6, 73.9, 83.0, 72.6),
        ),
    ),
    Detected(
        "ResNet-101",
        "resnet-101",
        {VOC_2007: 76.4},
        by_class=(
            *(79.8, 80.7, 76.2, 68.3, 55.9, 85.1, 85.3, 89.8, 56.7, 87.8),
            *(69.4, 88.3, 88.9, 80.9, 78.4, 41.7, 78.6, 79.8, 85.3, 72.0),
        ),
    ),
    Detected(
        "ResNet-101 +++",
        "resnet-101",
        {VOC_2007: 85.6},
        by_class=(
            *(90.0, 89.6, 87.8, 80.8, 76.1, 89.9, 89.9, 89.6, 75.5, 90.0),
            *(80.7, 89.6, 90.3, 89.1, 88.7, 65.4, 88.1, 85.6, 89.0, 86.8),
        ),
    ),
)

TABLE_11 = (
    Detected(
        "VGG-16",
        "vgg-16",
        {VOC_2012: 70.4},
        by_class=(
            *(84.9, 79.8, 74.3, 53.9, 49.8, 77.5, 75.9, 88.5, 45.6, 77.1),
            *(55.3, 86.9, 81.7, 80.9, 79.6, 40.1, 72.6, 60.9, 81.2, 61.5),
        ),
    ),
    Detected(
        "ResNet-101",
        "resnet-101",
        {VOC_2012: 73.8},
        by_class=(
            *(86.5, 81.6, 77.2, 58.0, 51.0, 78.6, 76.6, 93.2, 48.6, 80.4),
            *(59.0, 92.1, 85.3, 84.8, 80.7, 48.1, 77.3, 66.5, 84.7, 65.6),
        ),
    ),
    Detected(
        "ResNet-101 +++",
        "resnet-101",
        {VOC_2012: 83.8},
        by_class=(
            *(92.1, 88.4, 84.8, 75.9, 71.4, 86.3, 87.8, 94.2, 66.8, 89.4),
            *(69.2, 93.9, 91.9, 90.9, 89.6, 67.9, 88.2, 76.8, 90.3, 80.0),
        ),
    ),
)

TABLE_12 = (
    Detected("GoogLeNet (ILSVRC'14)", None, {DET_TEST: 43.9}),
    Detected("single ResNet-101", "resnet-101", {DET_VAL2: 60.5, DET_TEST: 58.8}),
    Detected("ensemble of 3", "resnet-101", {DET_VAL2: 63.6, DET_TEST: 62.1}),
)
