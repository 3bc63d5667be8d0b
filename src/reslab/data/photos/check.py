"""A folder of photographs looked through: every image is read once, and what is found is judged.

What `read_photos` would stop at, one thing at a time, is here found all at once.
"""

import os
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from reslab.data.objects.dataset import read_objects
from reslab.data.objects.layouts import find_layout
from reslab.data.photos.editions import CURRENT, sort_classes
from reslab.data.photos.findings import KINDS, Finding
from reslab.data.photos.folder import PhotoDataset, PhotoSplit
from reslab.data.photos.image_files import find_photos, is_image
from reslab.data.photos.label_list import find_list, read_labelled
from reslab.data.photos.members import Stored
from reslab.data.photos.oddities import Look, look_at
from reslab.data.photos.shards import has_shards, read_shards
from reslab.errors import UserError
from reslab.files import list_folder

MOST_WORKERS = 8
UNEVEN = 10  # images of the largest class to one of a rare one
IMAGES_AHEAD = 32  # for each worker


@dataclass(frozen=True)
class Photo:
    """An image by its path under the root, the split it is in ("" where there are none), its labels and its place."""

    path: str
    split: str
    labels: tuple[str, ...]
    place: Stored


@dataclass(frozen=True)
class Scan:
    """Where the photographs of a folder lie: its splits, classes and images, and what is wrong with the places.

    `refusal` is the sentence that `read_photos` stops with. `of_one_class` says that each image has one class.
    """

    splits: tuple[str, ...]
    classes: tuple[str, ...]
    photos: tuple[Photo, ...]
    findings: tuple[Finding, ...] = ()
    refusal: str | None = None
    of_one_class: bool = True


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A folder's splits, the number of images in each of them, in all and a class, and all that was found.

    Where there are no splits there is one without a name. `refusal` is as of the scan.
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
    scan = scan_photos(root)
    if not scan.classes:
        raise UserError(scan.refusal)
    findings, looks = list(scan.findings), list[Look]()
    watch(0, len(scan.photos))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's, about what becomes a finding here
        for look in _look_at_all(scan.photos, workers or min(MOST_WORKERS, os.cpu_count() or 1)):
            findings += [Finding(kind, scan.photos[len(looks)].path, detail) for kind, detail in look.oddities]
            looks.append(look)
            watch(len(looks), len(scan.photos))
    findings += _compare(scan.photos, looks)
    counts = Counter((label, photo.split) for photo in scan.photos for label in photo.labels)
    if scan.of_one_class:
        findings += _weigh({label: counts[label, scan.splits[0]] for label in scan.classes})
    images = Counter(photo.split for photo in scan.photos)
    order = list(KINDS)
    return Checked(
        root=root,
        splits=scan.splits,
        images=tuple(images[split] for split in scan.splits),
        counts={label: tuple(counts[label, split] for split in scan.splits) for label in scan.classes},
        findings=tuple(sorted(findings, key=lambda finding: (order.index(finding.kind), finding.path))),
        refusal=scan.refusal,
    )


def scan_photos(root: Path) -> Scan:
    """Find the photographs under `root` as `read_photos` does; what cannot be taken is left out."""
    findings: list[Finding] = []
    refusals: list[str] = []

    def tell(finding: Finding | None, refusal: str | None) -> None:
        findings.extend([finding] if finding else [])
        refusals.extend([refusal] if refusal else [])

    try:
        if find_layout(root):
            scan = _scan_dataset(read_objects(root, tell=tell))
            findings += _find_ignored(root, {photo.path for photo in scan.photos})
        elif find_list(root):
            scan = _scan_dataset(read_labelled(root, tell=tell))
            listed = {photo.path for photo in scan.photos}
            found = (path.relative_to(root).as_posix() for path in sorted(root.rglob("*")) if is_image(path))
            findings += [Finding("ignored", path, "not on a list") for path in found if path not in listed]
        elif has_shards(root):
            scan = _scan_dataset(read_shards(root, tell=tell))
        else:
            scan = _scan_files(root, find_photos(root, tell=tell))
    except UserError as error:
        raise UserError(refusals[0] if refusals else str(error)) from error
    return replace(scan, findings=(*scan.findings, *findings), refusal=refusals[0] if refusals else None)


def _scan_files(root: Path, found: Mapping[str, Mapping[str, Sequence[Path]]]) -> Scan:
    photos = (
        Photo(path.relative_to(root).as_posix(), split, (label,), path)
        for split, classes in found.items()
        for label, images in classes.items()
        for path in images
    )
    classes = sort_classes({label for classes in found.values() for label in classes}, CURRENT)
    return Scan(tuple(found), tuple(classes), tuple(photos))


def _scan_dataset(dataset: PhotoDataset) -> Scan:
    splits = ("",) if dataset.held_out else ("train", "val")
    train = _list_photos(dataset, dataset.train, splits[0])
    test = _list_photos(dataset, dataset.test, splits[-1])
    tested = {label for photo in test for label in photo.labels}
    untested = tuple(Finding("class not in val", name) for name in dataset.class_names if name not in tested)
    photos, of_one_class = (*train, *test), dataset.target == "class"
    return Scan(splits, dataset.class_names, photos, untested, of_one_class=of_one_class)


def _find_ignored(root: Path, known: Collection[str]) -> Iterator[Finding]:
    """Find images that lie beside those with annotations, but have none."""
    for folder in sorted({(root / path).parent for path in known}):
        for path in list_folder(folder):
            if is_image(path) and (inside := path.relative_to(root).as_posix()) not in known:
                yield Finding("ignored", inside, "not annotated, or not on a list")


def _list_photos(dataset: PhotoDataset, part: PhotoSplit, split: str) -> list[Photo]:
    photos = []
    for index in range(len(part)):
        labels = tuple(dataset.class_names[number] for number in part.classes_of(index))
        place = part.path(index)
        photos.append(Photo(str(place).removeprefix(f"{dataset.root}/"), split, labels, place))
    return photos


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
            yield Finding("uneven classes", label, f"{number:,} images; {largest} has {counts[largest]:,}")


def _compare(photos: Sequence[Photo], looks: Sequence[Look]) -> Iterator[Finding]:
    """Find pictures that are the same to the last pixel."""
    alike = defaultdict[bytes, list[Photo]](list)
    for photo, look in zip(photos, looks, strict=True):
        if look.digest is not None:
            alike[look.digest].append(photo)
    for first, *others in alike.values():
        places = {(first.split, first.labels)}
        for photo in others:
            word = f"same as {first.path}"
            if photo.split != first.split:
                yield Finding("in train and val", photo.path, word)
            if photo.labels != first.labels:
                yield Finding("two labels", photo.path, word)
            if (photo.split, photo.labels) in places:
                yield Finding("duplicate", photo.path, word)
            places.add((photo.split, photo.labels))
