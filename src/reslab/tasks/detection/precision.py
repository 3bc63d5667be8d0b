"""Average precision: what share of detections is right, averaged over how much has been found so far.

Detections come by falling score. At each right one, precision is the share of right ones among those that count so
far, and recall the share of objects found. All rules raise precision to the greatest at that recall or a higher one,
so only right detections matter; the rules differ in how much of the average each stands for:

- VOC to 2009: the precision at the eleven recalls 0, 0.1, … 1;
- VOC from 2010: the area, to each what recall rises by;
- COCO: the precision at 101 recalls.

An image that counts several times, or not at all, has a weight (interval.py): each array may have a second axis.
"""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Rule: TypeAlias = Literal["area", "11 points", "101 points"]

# 3 * 0.1 is a little more than 0.3, in the devkit's 0:0.1:1 too: of ten objects, three do not reach it.
ELEVEN = np.array([0, 0.1, 0.2, 3 * 0.1, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1])
HUNDRED_AND_ONE = np.linspace(0, 1, 101)
POINTS = {"11 points": ELEVEN, "101 points": HUNDRED_AND_ONE}

Numbers: TypeAlias = NDArray[np.float64]


def raise_precision(found: Numbers, told: Numbers) -> Numbers:
    """Return at each right detection the greatest precision at its recall or a higher one.

    `found` are the right ones so far, itself included; `told` are those that count so far.
    """
    precision = np.divide(found, told, out=np.zeros(np.shape(found)), where=told > 0)
    return np.maximum.accumulate(precision[::-1], axis=0)[::-1]


def average(found: Numbers, told: Numbers, objects: Numbers | int, rule: Rule) -> Numbers:
    """Return the average precision of a class of which there are `objects`, of which there must be some."""
    shares = np.diff(reach(found, objects, rule), axis=0, prepend=0.0)
    return (shares * raise_precision(found, told)).sum(axis=0)


def reach(found: Numbers, objects: Numbers | int, rule: Rule) -> Numbers:
    """Return how much of the average is reached with so many objects found; with none, nothing is."""
    if rule == "area":
        return found / objects
    points = POINTS[rule]
    return np.where(found > 0, np.searchsorted(points, found / objects, side="right"), 0) / len(points)


def draw_curve(found: Numbers, told: Numbers, objects: int) -> Numbers:
    """Return the raised precision at COCO's 101 recalls, none where recall does not get."""
    places = np.searchsorted(found / objects, HUNDRED_AND_ONE)
    return np.append(raise_precision(found, told), 0.0)[places]
