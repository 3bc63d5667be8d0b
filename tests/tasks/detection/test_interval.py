"""The bootstrap over images: each draw is what VOC or COCO say of the images drawn, and intervals cover."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.detections import make_tested

from reslab.errors import UserError
from reslab.tasks.detection.coco_rules import CocoPrecision
from reslab.tasks.detection.interval import AT_ONCE, Bootstrap
from reslab.tasks.detection.matching import RIGHT, WRONG
from reslab.tasks.detection.precision import Rule
from reslab.tasks.detection.ranking import Ranking
from reslab.tasks.detection.rows import ImageSet, Rows, join, take
from reslab.tasks.detection.voc_rules import VocPrecision, mean

IMAGES = 12
WHOLE = make_tested(5, images=IMAGES, levels=10**6)


def draw(tested: ImageSet, drawn: list[int]) -> ImageSet:
    """The images of a draw, as many as there are, as images of their own."""
    objects, detections = tested.objects, tested.detections
    return ImageSet.in_order(
        images=len(drawn),
        classes=tested.classes,
        objects=join([_move(objects, image, place) for place, image in enumerate(drawn)]),
        detections=join([_move(detections, image, place) for place, image in enumerate(drawn)]),
    )


def _move(rows: Rows, image: int, place: int) -> Rows:
    here = take(rows, rows.image == image)
    return replace(here, image=np.full(len(here.image), place))


def list_draws(count: int) -> list[list[int]]:
    """The images of the first draws."""
    return np.random.Generator(np.random.PCG64(0)).integers(0, IMAGES, (count, IMAGES)).tolist()


def test_a_draw_is_judged_as_if_its_images_were_the_test() -> None:
    """By both rules; the value itself is that of all images."""
    bootstrap = Bootstrap(images=IMAGES, resamples=10)
    voc, by_area = bootstrap.resample(VocPrecision.measure(WHOLE).rankings, "area")
    coco, by_points = bootstrap.resample(CocoPrecision.measure(WHOLE).rankings, "101 points")
    assert voc == pytest.approx(mean(VocPrecision.measure(WHOLE).area))
    assert coco == pytest.approx(CocoPrecision.measure(WHOLE).numbers["AP"])
    for drawn, area, points in zip(list_draws(10), by_area, by_points, strict=True):
        again = draw(WHOLE, drawn)
        assert area == pytest.approx(mean(VocPrecision.measure(again).area), abs=1e-12)
        assert points == pytest.approx(CocoPrecision.measure(again).numbers["AP"], abs=1e-12)


def test_draws_are_the_same_however_many_follow() -> None:
    """They depend on the seed alone."""
    rankings = VocPrecision.measure(WHOLE).rankings
    few, many, others = (
        Bootstrap(images=IMAGES, resamples=count, seed=seed).resample(rankings, "area")[1]
        for count, seed in ((AT_ONCE, 0), (2 * AT_ONCE + 5, 0), (AT_ONCE, 1))
    )
    assert len(many) == 2 * AT_ONCE + 5
    assert np.array_equal(few, many[:AT_ONCE])
    assert not np.array_equal(few, others)


def make_rankings(random: np.random.Generator, images: int, *, sure: float) -> tuple[Ranking, ...]:
    """Detections of five classes in random images: right ones have higher scores, the more the surer."""
    found = []
    for _ in range(5):
        sought = np.repeat(np.arange(images), random.poisson(0.4, images))
        right = sought[random.random(len(sought)) < 0.75]
        wrong = np.repeat(np.arange(images), random.poisson(1.0, images))
        image = np.concatenate([right, wrong])
        verdict = np.repeat([RIGHT, WRONG], [len(right), len(wrong)]).astype(np.int8)
        order = np.argsort(-random.normal(np.where(verdict == RIGHT, sure, 0.0), 1.0))
        found.append(Ranking(image[order], verdict[order][None], sought))
    return tuple(found)


def test_intervals_cover() -> None:
    """Of 80 tests of one detector, the interval of about 95 % has what it comes to on very many images."""
    random, hits = np.random.default_rng(0), 0
    truth = Bootstrap(images=100_000, resamples=1).resample(make_rankings(random, 100_000, sure=2.0), "area")[0]
    for seed in range(80):
        rankings = make_rankings(random, 250, sure=2.0)
        low, high = Bootstrap(images=250, resamples=200, seed=seed).find_interval(rankings, "area")
        hits += low <= truth <= high
    assert 80 * 0.86 <= hits < 80


@pytest.mark.parametrize("rule", ["area", "101 points"])
def test_two_detectors_are_compared_draw_by_draw(rule: Rule) -> None:
    """What images are hard for both cancels: the interval of a small difference leaves zero out."""
    random = np.random.default_rng(0)
    worse = make_rankings(random, 300, sure=2.0)
    better = tuple(_turn_some_right(ranking) for ranking in worse)
    bootstrap = Bootstrap(images=300, resamples=200)
    found = bootstrap.compare(worse, better, rule)
    assert 0 < found.interval[0] < found.difference < found.interval[1]
    (low, high), (other_low, _) = (bootstrap.find_interval(one, rule) for one in (worse, better))
    assert other_low < high
    assert found.interval[1] - found.interval[0] < high - low
    same = bootstrap.compare(worse, worse, rule)
    assert (same.difference, same.interval) == (0, (0, 0))


def _turn_some_right(ranking: Ranking) -> Ranking:
    """Take out every fourth wrong detection."""
    wrong = np.flatnonzero(ranking.verdict[0] == WRONG)[::4]
    return Ranking(np.delete(ranking.image, wrong), np.delete(ranking.verdict, wrong, axis=1), ranking.sought)


def test_other_images_are_refused() -> None:
    """There is nothing to compare."""
    random = np.random.default_rng(0)
    one, other = (make_rankings(random, 50, sure=1.0) for _ in range(2))
    with pytest.raises(UserError, match="tested on different objects"):
        Bootstrap(images=50).compare(one, other, "area")


def test_draws_without_a_class_leave_it_out() -> None:
    """A class of one image is missing in a third of the draws; of no class at all there is nothing to say."""
    here = np.array([[RIGHT]], np.int8)
    once = Ranking(np.array([0]), here, np.array([0]))
    often = Ranking(np.arange(9), np.full((1, 9), RIGHT, np.int8), np.arange(9))
    bootstrap = Bootstrap(images=9, resamples=50)
    assert bootstrap.find_interval([once, often], "area") == (1, 1)
    assert np.isnan(bootstrap.resample([once], "area")[1]).any()
    assert bootstrap.find_interval([once], "area") == (1, 1)
