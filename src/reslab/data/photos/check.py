"""A folder of photographs looked through: every image is read once, and what is found is an error, a warning or a note.

An error stops a training, a warning may spoil what it measures, a note is dealt with by decoding. What `read_photos`
would stop at, one thing at a time, is here found all at once.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from reslab.data.photos.label_list import find_list
from reslab.data.photos.oddities import LEAST_SIDE, Look, look_at
from reslab.data.photos.reader import read_photos
from reslab.data.photos.scan import Photo, scan_photos
from reslab.errors import UserError

MOST_WORKERS = 8
UNEVEN = 10  # images of the largest class to one of a rare one
IMAGES_AHEAD = 32  # for each worker


@dataclass(frozen=True)
class Kind:
    """How much a finding matters, and what it means."""

    severity: str
    meaning: str


KINDS = {
    "unreadable": Kind("error", "cannot be decoded; correct it or remove it"),
    "wrong shard": Kind("error", "cannot be taken; mend it, fetch it or write it again"),
    "wrong line": Kind("error", "of a list; correct it or remove it"),
    "closed folder": Kind("error", "cannot be entered; check its permissions"),
    "empty class": Kind("error", "has no images; fill it or remove it"),
    "too few classes": Kind("error", "two are needed at least; give each a folder"),
    "single image": Kind("error", "two are needed to hold one out; add some, or make a val folder"),
    "class only in val": Kind("error", "nothing is trained on it"),
    "in train and val": Kind("warning", "tested on pixels that are trained on"),
    "two labels": Kind("warning", "the same pixels with other labels"),
    "class not in val": Kind("warning", "has no images to be tested on"),
    "animated": Kind("warning", "only its first frame is used"),
    "transparent": Kind("warning", "transparency is dropped"),
    "tiny": Kind("warning", f"its shorter side is less than {LEAST_SIDE} pixels"),
    "passed over": Kind("warning", "not used: no image, in no class or on no list"),
    "linked again": Kind("warning", "a folder that is read already, by another path; it is read once"),
    "uneven classes": Kind("note", "recipe.class_weights=balanced makes the rare ones count more"),
    "repeated": Kind("note", "the same pixels again, and the same label"),
    "misnamed": Kind("note", "its content counts, not its name"),
    "CMYK": Kind("note", "converted to RGB"),
    "grey": Kind("note", "repeated in three channels"),
    "16 bits": Kind("note", "their upper eight are used"),
    "broken EXIF": Kind("note", "counts as none where it cannot be read"),
    "turned by EXIF": Kind("note", "decoded upright"),
}


@dataclass(frozen=True)
class Finding:
    """Something found at a path, relative to the folder."""

    kind: str
    path: str
    detail: str = ""

    @property
    def severity(self) -> str:
        """How much it matters."""
        return KINDS[self.kind].severity


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A folder's splits, the number of images in each of them, in all and a class, and all that was found.

    Where there are no splits there is one without a name. `refusal` is the sentence that `read_photos` stops with.
    """

    root: Path
    splits: tuple[str, ...]
    images: tuple[int, ...]
    counts: dict[str, tuple[int, ...]]
    findings: tuple[Finding, ...]
    refusal: str | None

    @property
    def passed(self) -> bool:
        """Whether a training would not stop."""
        return self.refusal is None and not self.of("error")

    def of(self, severity: str) -> list[Finding]:
        """Return the findings of one severity."""
        return [finding for finding in self.findings if finding.severity == severity]


def check_folder(
    root: Path, *, workers: int | None = None, watch: Callable[[int, int], None] = lambda done, total: None
) -> Checked:
    """Look at every image under `root`; `watch` is told how many are done, and of how many."""
    refusal = _read_refusal(root)
    try:
        scan = scan_photos(root)
    except UserError as error:
        raise UserError(refusal or str(error)) from error
    if not scan.classes:
        raise UserError(
            refusal or f"{root} has no folders of images, and two classes are needed at least; give each a folder"
        )
    looks: list[Look] = []
    watch(0, len(scan.photos))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's, about what becomes a finding here
        for look in _look_at_all(scan.photos, workers or min(MOST_WORKERS, os.cpu_count() or 1)):
            looks.append(look)
            watch(len(looks), len(scan.photos))
    findings = [Finding(*trouble) for trouble in scan.troubles]
    for photo, look in zip(scan.photos, looks, strict=True):
        findings += [Finding(kind, photo.path, detail) for kind, detail in look.oddities]
    findings += _compare(scan.photos, looks)
    order = list(KINDS)
    counts = Counter((label, photo.split) for photo in scan.photos for label in photo.labels)
    if not find_list(root):
        findings += _weigh({label: counts[label, scan.splits[0]] for label in scan.classes})
    images = Counter(photo.split for photo in scan.photos)
    return Checked(
        root=root,
        splits=scan.splits,
        images=tuple(images[split] for split in scan.splits),
        counts={label: tuple(counts[label, split] for split in scan.splits) for label in scan.classes},
        findings=tuple(sorted(findings, key=lambda finding: (order.index(finding.kind), finding.path))),
        refusal=refusal,
    )


def _read_refusal(root: Path) -> str | None:
    try:
        read_photos(root)
    except UserError as error:
        return str(error)
    return None


def _look_at_all(photos: Sequence[Photo], workers: int) -> Iterator[Look]:
    """Look at images in threads, which Pillow lets run while it decodes; no more at once than a stop can wait for."""
    ahead = IMAGES_AHEAD * workers
    with ThreadPoolExecutor(workers) as pool:
        for start in range(0, len(photos), ahead):
            yield from pool.map(lambda photo: look_at(photo.place), photos[start : start + ahead])


def _weigh(counts: Mapping[str, int]) -> Iterator[Finding]:
    """Find classes that have far fewer images to train on than the largest."""
    largest = max(counts, key=lambda label: counts[label])
    for label, number in counts.items():
        if 0 < number * UNEVEN <= counts[largest]:
            yield Finding("uneven classes", label, f"{number:,} to {counts[largest]:,} of {largest}")


def _compare(photos: Sequence[Photo], looks: Sequence[Look]) -> Iterator[Finding]:
    """Find pictures that are the same to the last pixel."""
    alike = defaultdict[bytes, list[Photo]](list)
    for photo, look in zip(photos, looks, strict=True):
        if look.digest is not None:
            alike[look.digest].append(photo)
    for first, *others in alike.values():
        places = {(first.split, first.labels)}
        for photo in others:
            word = f"as {first.path}"
            if photo.split != first.split:
                yield Finding("in train and val", photo.path, word)
            if photo.labels != first.labels:
                yield Finding("two labels", photo.path, word)
            if (photo.split, photo.labels) in places:
                yield Finding("repeated", photo.path, word)
            places.add((photo.split, photo.labels))
