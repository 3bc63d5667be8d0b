"""Which detections are right: those of one image and class are matched to its objects, as VOC does and as COCO does.

Both go through detections by falling score, and an object is found once. VOC looks at the object that a detection
overlaps most, whatever that is: one that is difficult makes it neither right nor wrong, one that is found already makes
it wrong. (VOC has no crowds; here they make what lies in them, and is near no object, neither right nor wrong.)

COCO looks at the objects that are still free, those that count first, at ten thresholds and for objects of each size; a
crowd is never found up, and overlaps a detection by its share of the detection alone. Objects that do not count, as
those of other sizes, make a detection neither right nor wrong; so does a size of its own that is not asked for, if it
matches nothing. Of equal overlaps VOC takes the first, COCO the last.

Whatever the number of boxes, pairs are looked at so many at a time.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reslab.spec.boxes import CROWD
from reslab.tasks.detection.rows import Detections, ImageSet, Objects, measure_areas

WRONG, RIGHT, NEITHER = range(3)  # verdicts on detections
MOST_PAIRS = 2**18  # of a detection and an object, looked at together

VOC_THRESHOLD = 0.5
THRESHOLDS = np.linspace(0.5, 0.95, 10)  # COCO's
SIZES = {"all": (0.0, 1e10), "small": (0.0, 32.0**2), "medium": (32.0**2, 96.0**2), "large": (96.0**2, 1e10)}
MOST_DETECTIONS = 100  # that COCO looks at, of one class in one image

Verdicts = NDArray[np.int8]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """Detections with objects of their image and class that they overlap; those of one detection stand together."""

    detection: Places
    object: Places
    overlap: NDArray[np.float64]


def judge_voc(tested: ImageSet, threshold: float = VOC_THRESHOLD) -> Verdicts:
    """Return the verdict on each detection."""
    objects, detections = tested.objects, tested.detections
    verdict = np.full(len(detections.score), WRONG, np.int8)
    nearest = np.full(len(verdict), -1)
    order = sort_by_score(detections, tested)
    for pairs in pair_up(tested, order, least=threshold):
        starts = find_starts(pairs.detection)
        rank = pairs.overlap + (objects.mark[pairs.object] != CROWD)
        most = np.maximum.reduceat(rank, starts)
        likely = np.flatnonzero(rank == np.repeat(most, np.diff(starts, append=len(pairs.detection))))
        first = likely[find_starts(pairs.detection[likely])]
        nearest[pairs.detection[first]] = pairs.object[first]
    matched = order[nearest[order] >= 0]
    plain = objects.plain[nearest[matched]]
    verdict[matched[~plain]] = NEITHER
    counting = matched[plain]
    _, first = np.unique(nearest[counting], return_index=True)
    verdict[counting[first]] = RIGHT
    return verdict


def judge_coco(tested: ImageSet) -> tuple[Verdicts, Places]:
    """Return the verdict on each detection, at each size and threshold, and its place in its image and class."""
    objects, detections = tested.objects, tested.detections
    order = sort_by_score(detections, tested)
    place = np.empty(len(order), np.int64)
    place[order] = place_within(find_groups(detections, tested)[order])
    order = order[place[order] < MOST_DETECTIONS]
    ignored = ~objects.plain | _outside(objects.area)
    verdict = np.full((len(SIZES), len(THRESHOLDS), len(place)), NEITHER, np.int8)
    verdict[:, :, order] = np.where(_outside(detections.area[order]), NEITHER, WRONG)[:, None]
    found = np.zeros((len(SIZES), len(THRESHOLDS), len(objects.mark)), bool)
    for pairs in pair_up(tested, order, least=THRESHOLDS[0]):
        _match(pairs, tested, ignored=ignored, found=found, verdict=verdict)
    return verdict, place


def _match(
    pairs: Pairs, tested: ImageSet, *, ignored: NDArray[np.bool_], found: NDArray[np.bool_], verdict: Verdicts
) -> None:
    """Match detections that come by falling score, those first at once that are the first of their image and class.

    Writes down verdicts and which objects are found.
    """
    starts = find_starts(pairs.detection)
    turn = place_within(find_groups(tested.detections, tested)[pairs.detection[starts]])
    turn = np.repeat(turn, np.diff(starts, append=len(pairs.detection)))
    by_turn = np.argsort(turn, kind="stable")
    turn, overlap = turn[by_turn], pairs.overlap[by_turn]
    detection, here = pairs.detection[by_turn], pairs.object[by_turn]
    # From worst to best of each detection, at each size: any that counts is better than any that does not.
    ranked = np.stack([np.lexsort((overlap, ~one[here], _number(detection))) for one in ignored])
    rank = np.empty_like(ranked)
    np.put_along_axis(rank, ranked, np.arange(len(detection))[None], axis=1)
    crowd = tested.objects.mark == CROWD
    enough = overlap >= np.minimum(THRESHOLDS, 1 - 1e-10)[:, None]
    bounds = np.append(find_starts(turn), len(turn))
    for begin, end in itertools.pairwise(bounds):
        able = enough[:, begin:end] & ~found[:, :, here[begin:end]]
        starts = find_starts(detection[begin:end])
        best = np.maximum.reduceat(np.where(able, rank[:, None, begin:end], -1), starts, axis=2)
        size, threshold, which = np.nonzero(best >= 0)
        matched = here[ranked[size, best[size, threshold, which]]]
        found[size, threshold, matched] = ~crowd[matched]
        verdict[size, threshold, detection[begin:end][starts][which]] = np.where(ignored[size, matched], NEITHER, RIGHT)


def pair_up(tested: ImageSet, order: Places, *, least: float) -> Iterator[Pairs]:
    """Yield all pairs that overlap by `least`, detections in this order, a part of them at a time."""
    objects, detections = tested.objects, tested.detections
    groups = find_groups(objects, tested)
    by_group = np.argsort(groups, kind="stable")
    asked = find_groups(detections, tested)[order]
    first = np.searchsorted(groups[by_group], asked, side="left")
    count = np.searchsorted(groups[by_group], asked, side="right") - first
    order, first, count = (part[count > 0] for part in (order, first, count))
    sums = np.cumsum(count)
    begin = 0
    while begin < len(order):
        end = int(np.searchsorted(sums, sums[begin] - count[begin] + MOST_PAIRS, side="right"))
        here = slice(begin, max(end, begin + 1))
        begin = here.stop
        detection = np.repeat(order[here], count[here])
        step = np.arange(len(detection)) - np.repeat(np.cumsum(count[here]) - count[here], count[here])
        partner = by_group[np.repeat(first[here], count[here]) + step]
        overlap = measure_overlap(detections.box[detection], objects.box[partner], objects.mark[partner] == CROWD)
        near = overlap >= least
        if near.any():
            yield Pairs(detection[near], partner[near], overlap[near])


def measure_overlap(
    one: NDArray[np.float64], other: NDArray[np.float64], crowd: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the intersection of boxes over their union, or over the one where the other is a crowd."""
    sides = np.minimum(one[:, 2:], other[:, 2:]) - np.maximum(one[:, :2], other[:, :2])
    shared = np.where((sides > 0).all(1), sides[:, 0] * sides[:, 1], 0.0)
    area = measure_areas(one)
    whole = np.where(crowd, area, area + measure_areas(other) - shared)
    return np.divide(shared, whole, out=np.zeros_like(shared), where=shared > 0)


def sort_by_score(detections: Detections, tested: ImageSet) -> Places:
    """Return the places of detections image by image, class by class, the highest score first."""
    return np.lexsort((-detections.score, find_groups(detections, tested)))


def find_groups(rows: Objects | Detections, tested: ImageSet) -> Places:
    """Return a number for each image and class."""
    return rows.label * tested.images + rows.image


def find_starts(values: NDArray[np.generic]) -> Places:
    """Return where a new value begins."""
    begins = np.ones(len(values), bool)
    begins[1:] = values[1:] != values[:-1]
    return np.flatnonzero(begins)


def place_within(values: NDArray[np.generic]) -> Places:
    """Return which place each has among its like, which stand together."""
    return np.arange(len(values)) - np.repeat(starts := find_starts(values), np.diff(starts, append=len(values)))


def _number(values: Places) -> Places:
    """Return the same number for values alike that stand together, one more for the next."""
    return np.repeat(np.arange(len(starts := find_starts(values))), np.diff(starts, append=len(values)))


def _outside(area: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return of which size each is not."""
    return np.stack([(area < least) | (area > most) for least, most in SIZES.values()])
