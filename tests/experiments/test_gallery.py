"""The gallery of a run: thumbnails of what it was most sure of, of photographs and of arrays."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import numpy as np
from PIL import Image
from tests.photographs import make_photos
from tests.trials import DIGITS

from reslab.data.photos.reader import read_photos
from reslab.experiments.gallery import SIDE, write_gallery
from reslab.runs.directory import RunDirectory
from reslab.tasks.gallery import FILE, MOST_HITS, MOST_MISTAKES, NEITHER, Gallery, Opinions, form_opinions

NOISE = np.random.default_rng(0).integers(0, 255, (SIDE, SIDE, 3), dtype=np.uint8)


def make_opinions(truths: list[int], guesses: list[int]) -> Opinions:
    """Return opinions about the first images."""
    truth, guess = np.array(truths), np.array(guesses)
    sure = np.linspace(0.9, 0.5, len(truth))
    return form_opinions(
        about=truth, right=truth == guess, sure=sure, index=np.arange(len(truth)), truth=truth, guess=guess
    )


def decode(jpeg: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(jpeg)))


def test_photographs_are_made_small(tmp_path: Path) -> None:
    """With their names; one that cannot be read any more is left out."""
    photos = read_photos(make_photos(tmp_path / "photos", size=(300, 200)))
    Image.new("RGB", (10, 10)).save(photos.test.path(0))
    photos.test.path(1).write_bytes(b"")
    run = RunDirectory(tmp_path / "run")
    write_gallery(run, make_opinions([0, 0, 0, 1], [0, 0, 1, 1]), photos, photos.test, class_names=photos.class_names)
    blues, greens = Gallery.read(run.read(FILE)).classes
    assert [(one.name, one.guess, one.probability) for one in blues.hits] == [("val/blues/000.jpg", "blues", 0.9)]
    (mistake,) = blues.mistakes
    assert (mistake.name, mistake.truth, mistake.guess) == ("val/blues/002.jpg", "blues", "greens")
    picture = decode(mistake.picture.jpeg)
    assert (picture.format, picture.size, max(picture.size)) == (
        "JPEG",
        (mistake.picture.width, mistake.picture.height),
        SIDE,
    )
    red, _, blue = np.asarray(picture).mean((0, 1))
    assert blue > 2 * red
    assert (greens.name, len(greens.hits), blues.hits[0].picture.width) == ("greens", 1, 10)
    first = (run.path / f"{FILE}.json").read_bytes()
    write_gallery(run, make_opinions([0, 0, 0, 1], [0, 0, 1, 1]), photos, photos.test, class_names=photos.class_names)
    assert (run.path / f"{FILE}.json").read_bytes() == first


def test_arrays_keep_their_size_and_brightness(tmp_path: Path) -> None:
    """Digits are 8 pixels wide, and white is 16 there."""
    run = RunDirectory(tmp_path)
    write_gallery(run, make_opinions([3], [5]), DIGITS, DIGITS.test, class_names=DIGITS.class_names)
    ((mistake,),) = (one.mistakes for one in Gallery.read(run.read(FILE)).classes)
    assert (mistake.name, mistake.truth, mistake.guess) == ("image 0", "3", "5")
    stored = DIGITS.test.images[0, 0].astype(float) * (255 / DIGITS.brightest)
    assert np.abs(np.asarray(decode(mistake.picture.jpeg)) - stored).mean() < 12


def test_what_is_not_the_label_is_told_so(tmp_path: Path) -> None:
    """A label that was missed, and one that is not there."""
    opinions = make_opinions([2, 2], [2, 2])
    opinions["right"], opinions["truth"][0], opinions["guess"][1] = False, NEITHER, NEITHER
    run = RunDirectory(tmp_path)
    write_gallery(run, opinions, DIGITS, DIGITS.test, class_names=DIGITS.class_names)
    ((extra, missed),) = (one.mistakes for one in Gallery.read(run.read(FILE)).classes)
    assert ((extra.truth, extra.guess), (missed.truth, missed.guess)) == (("not 2", "2"), ("2", "not 2"))


def test_without_opinions_there_is_no_gallery(tmp_path: Path) -> None:
    """As of a task that shows none."""
    write_gallery(RunDirectory(tmp_path), form_opinions(index=np.empty(0)), DIGITS, DIGITS.test, class_names=())
    assert not list(tmp_path.iterdir())


def test_the_largest_gallery_is_small(tmp_path: Path) -> None:
    """Of noise, which compresses worst, and as many classes as there may be: below 2 MiB."""
    photos = read_photos(make_photos(tmp_path / "photos"))
    count = MOST_MISTAKES + MOST_HITS
    Image.fromarray(NOISE).save(photos.test.path(0), quality=95)
    split = photos.test.take(np.zeros(count, np.int64))
    truths = np.arange(count).tolist()
    guesses = [truth + (truth < MOST_MISTAKES) for truth in truths]
    names = [f"class {number}" for number in range(count + 1)]
    run = RunDirectory(tmp_path / "run")
    write_gallery(run, make_opinions(truths, guesses), photos, split, class_names=names)
    path = run.path / f"{FILE}.json"
    kept = json.loads(path.read_text())["classes"]
    assert (sum(len(one["mistakes"]) for one in kept), sum(len(one["hits"]) for one in kept)) == (
        MOST_MISTAKES,
        MOST_HITS,
    )
    assert path.stat().st_size < 2 << 20
