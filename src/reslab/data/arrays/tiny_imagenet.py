"""Tiny-ImageNet from its publisher's files: 200 of ImageNet's classes, made smaller for Stanford's course CS231n.

The zip is read as it is, or the folder that it holds. Each file is asked for by the name it must have, so no name in an
archive is trusted. Images become arrays as they lie in memory later, (count, channels, height, width), and are mapped
from there: a gigabyte is neither read into memory nor copied. The boxes are kept for localization.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from PIL import Image

from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.sources import Known
from reslab.data.arrays.split import ArraySplit, Bytes
from reslab.data.arrays.store import ARRAYS, FINGERPRINT, check_array, digest, find_digest, read_array, save_arrays
from reslab.data.words import read_words
from reslab.errors import UserError
from reslab.files import Watch, data_root, exists, is_file, refuse_closed_place, refuse_full_disk

FOLDER = "tiny-imagenet-200"
ARCHIVE, ADDRESS = f"{FOLDER}.zip", "http://cs231n.stanford.edu"
AGAIN = f"download {ARCHIVE} from {ADDRESS} again"
BOXES = ("train_boxes", "test_boxes")
DECODED_AT_ONCE = 500
ROW = re.compile(r"(\S+)(?:\t(\S+))?" + r"\t([0-9]{1,3})" * 4)
DAMAGE = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True, kw_only=True)
class TinyImageNet(Known):
    """What is known of Tiny-ImageNet; `fingerprint` is that of the images as libjpeg-turbo decodes them."""

    verb: ClassVar[str] = "prepare"

    fingerprint: str = ""

    @property
    def command(self) -> str:
        """What brings it here."""
        return f"{super().command} SOURCE"

    @property
    def side(self) -> int:
        """The width and the height of every image."""
        return self.image_shape[0]


WNIDS = """
n01443537 n01629819 n01641577 n01644900 n01698640 n01742172 n01768244 n01770393 n01774384 n01774750 n01784675 n01855672
n01882714 n01910747 n01917289 n01944390 n01945685 n01950731 n01983481 n01984695 n02002724 n02056570 n02058221 n02074367
n02085620 n02094433 n02099601 n02099712 n02106662 n02113799 n02123045 n02123394 n02124075 n02125311 n02129165 n02132136
n02165456 n02190166 n02206856 n02226429 n02231487 n02233338 n02236044 n02268443 n02279972 n02281406 n02321529 n02364673
n02395406 n02403003 n02410509 n02415577 n02423022 n02437312 n02480495 n02481823 n02486410 n02504458 n02509815 n02666196
n02669723 n02699494 n02730930 n02769748 n02788148 n02791270 n02793495 n02795169 n02802426 n02808440 n02814533 n02814860
n02815834 n02823428 n02837789 n02841315 n02843684 n02883205 n02892201 n02906734 n02909870 n02917067 n02927161 n02948072
n02950826 n02963159 n02977058 n02988304 n02999410 n03014705 n03026506 n03042490 n03085013 n03089624 n03100240 n03126707
n03160309 n03179701 n03201208 n03250847 n03255030 n03355925 n03388043 n03393912 n03400231 n03404251 n03424325 n03444034
n03447447 n03544143 n03584254 n03599486 n03617480 n03637318 n03649909 n03662601 n03670208 n03706229 n03733131 n03763968
n03770439 n03796401 n03804744 n03814639 n03837869 n03838899 n03854065 n03891332 n03902125 n03930313 n03937543 n03970156
n03976657 n03977966 n03980874 n03983396 n03992509 n04008634 n04023962 n04067472 n04070727 n04074963 n04099969 n04118538
n04133789 n04146614 n04149813 n04179913 n04251144 n04254777 n04259630 n04265275 n04275548 n04285008 n04311004 n04328186
n04356056 n04366367 n04371430 n04376876 n04398044 n04399382 n04417672 n04456115 n04465501 n04486054 n04487081 n04501370
n04507155 n04532106 n04532670 n04540053 n04560804 n04562935 n04596742 n04597913 n06596364 n07579787 n07583066 n07614500
n07615774 n07695742 n07711569 n07715103 n07720875 n07734744 n07747607 n07749582 n07753592 n07768694 n07871810 n07873807
n07875152 n07920052 n09193705 n09246464 n09256479 n09332890 n09428293 n12267677
"""
TINY_IMAGENET = TinyImageNet(
    name="tiny-imagenet",
    class_names=tuple(WNIDS.split()),
    image_shape=(64, 64, 3),
    num_train=100_000,
    num_test=10_000,
    digests={
        "train_labels": "ea210d0631a1703a399d3ce6b0385a74205edbc55b873e2ad7d7fff6dd1bd8e3",
        "train_boxes": "0b2dcea41b87c33ba42a4da10ebe9c0e387fe70e23ac3b29c8032f2426a14ad4",
        "test_labels": "a6d0aa8d4df540f2af8c5506c471ed46dafa4e874e00f46cc8000022336ccfd4",
        "test_boxes": "6613b762f76b239512e8794a0d7be95caca4477d3e4395efc17ecfcf4cba56e3",
    },
    fingerprint="f220c5d4d693d45362e97a500f7300b22335deee3546ee3382b8661507aae248",
)


@dataclass(frozen=True)
class Prepared:
    """Where the arrays lie, whether to the bit as libjpeg-turbo decodes them, and whether it was so before."""

    folder: Path
    as_known: bool = True
    as_found: bool = False


@dataclass(frozen=True)
class Files:
    """The publisher's files, in a folder or in an archive."""

    root: Path
    archive: zipfile.ZipFile | None = None

    def read(self, name: str) -> bytes:
        """Return a file's content."""
        try:
            if self.archive is None:
                return (self.root / name).read_bytes()
            return self.archive.read(f"{FOLDER}/{name}")
        except (FileNotFoundError, KeyError):
            raise UserError(f"{self.root / name} does not exist; {AGAIN}") from None
        except DAMAGE as error:
            raise UserError(f"{self.root / name} cannot be read ({error}); {AGAIN}") from error

    def read_lines(self, name: str) -> list[str]:
        """Return the lines of a text."""
        try:
            return self.read(name).decode("utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise UserError(f"{self.root / name} is not text; {AGAIN}") from error


@dataclass(frozen=True)
class Part:
    """The training or test images by the names of their files, with their classes and boxes, in order.

    A box is left, top, right and bottom, each a pixel of the object: the whole image is 0, 0, 63, 63.
    """

    files: tuple[str, ...]
    labels: Bytes
    boxes: Bytes


def plan_tiny_imagenet(source: Path, known: TinyImageNet) -> int:
    """Return the bytes of the images to decode, for which there is room; none where they are here already."""
    with _open_files(source) as files:
        words = _read_words(files, known)
    if _is_here(known, words):
        return 0
    refuse_full_disk(data_root() / known.name, known.num_bytes, remedy="set RESLAB_DATA to another place")
    refuse_closed_place(data_root(), folder=True)
    return known.num_bytes


def prepare_tiny_imagenet(
    source: Path, known: TinyImageNet, *, watch: Watch = lambda what, done, total: None
) -> Prepared:
    """Decode what lies in `source` and store it under the data root; it appears whole or not at all."""
    if not plan_tiny_imagenet(source, known):
        return Prepared(data_root() / known.name, as_found=True)
    with _open_files(source) as files:
        words = _read_words(files, known)
        parts = {"train": _list_train(files, known), "test": _list_test(files, known)}
        arrays = {f"{name}_labels": part.labels for name, part in parts.items()}
        arrays |= {f"{name}_boxes": part.boxes for name, part in parts.items()}
        for name, expected in known.digests.items():
            if digest(arrays[name]) != expected:
                raise UserError(f"the {name.replace('_', ' ')} in {source} are not those of Tiny-ImageNet; {AGAIN}")
        for name, words_of in {"train": "training images", "test": "test images"}.items():
            arrays[f"{name}_images"] = _decode_all(files, parts[name].files, known.side, words_of, watch)
    fingerprint = _make_dataset(known, arrays, words).fingerprint
    folder = save_arrays(known.name, arrays, fingerprint=fingerprint, words=words)
    return Prepared(folder, as_known=fingerprint == known.fingerprint)


def load_tiny_imagenet(known: TinyImageNet) -> ArrayDataset:
    """Map the prepared arrays. Their fingerprint, which every trial needs, is their check: they are read once."""
    arrays = {name: read_array(known, name, mapped=True) for name in (*ARRAYS, *BOXES)}
    dataset = _make_dataset(known, arrays, read_words(data_root() / known.name))
    whole = dataset.fingerprint == find_digest(known, FINGERPRINT)
    for name in BOXES if whole else arrays:
        check_array(known, name, arrays[name])
    return dataset


def _is_here(known: TinyImageNet, words: dict[str, str]) -> bool:
    """Whether undamaged arrays are here, as libjpeg-turbo decodes them, with these words."""
    try:
        dataset = load_tiny_imagenet(known)
    except UserError:
        return False
    return dataset.fingerprint == known.fingerprint and dataset.words == words


def _make_dataset(known: TinyImageNet, arrays: dict[str, Bytes], words: dict[str, str]) -> ArrayDataset:
    train, test = (ArraySplit(arrays[f"{part}_images"], arrays[f"{part}_labels"]) for part in ("train", "test"))
    return ArrayDataset(
        name=known.name,
        class_names=known.class_names,
        train=train,
        test=test,
        usual_recipe=known.recipe,
        words=words,
    )


@contextmanager
def _open_files(source: Path) -> Iterator[Files]:
    """Open the archive, the folder it holds, or a folder with that folder."""
    if is_file(source):
        try:
            archive = zipfile.ZipFile(source)
        except DAMAGE as error:
            raise UserError(f"{source} is not a zip archive, or damaged ({error}); {AGAIN}") from error
        with archive:
            yield Files(source / FOLDER, archive)
        return
    roots = [root for root in (source, source / FOLDER) if is_file(root / "wnids.txt")]
    if not roots:
        trouble = "has no wnids.txt" if exists(source) else "does not exist"
        raise UserError(f"{source} {trouble}; give {ARCHIVE} from {ADDRESS}, or the folder {FOLDER} in it")
    yield Files(roots[0])


def _read_words(files: Files, known: TinyImageNet) -> dict[str, str]:
    """Return the words of the classes, which must be Tiny-ImageNet's."""
    found, place = files.read_lines("wnids.txt"), files.root / "wnids.txt"
    if strangers := sorted(set(found) - set(known.class_names)):
        raise UserError(f"{place} lists {strangers[0]!r}, which is not a class of Tiny-ImageNet; {AGAIN}")
    if sorted(found) != list(known.class_names):
        classes = len(known.class_names)
        raise UserError(f"{place} lists {len(found)} classes, but Tiny-ImageNet has {classes}; {AGAIN}")
    words = {wnid: text for wnid, _, text in (line.partition("\t") for line in files.read_lines("words.txt"))}
    for name in known.class_names:
        if not words.get(name):
            raise UserError(f"{files.root / 'words.txt'} has no words for {name}; {AGAIN}")
    return {name: words[name] for name in known.class_names}


def _list_train(files: Files, known: TinyImageNet) -> Part:
    """List the training images: class by class, and those of a class by their number."""
    each, names, boxes = known.num_train // len(known.class_names), [], []
    for wnid in known.class_names:
        own = [f"{wnid}_{number}.JPEG" for number in range(each)]
        rows = _read_rows(files, f"train/{wnid}/{wnid}_boxes.txt", own, known.side, classes=(None,))
        names += [f"train/{wnid}/images/{name}" for name in own]
        boxes += [box for _, box in rows]
    labels = np.repeat(np.arange(len(known.class_names), dtype=np.uint8), each)
    return Part(tuple(names), labels, np.array(boxes, np.uint8))


def _list_test(files: Files, known: TinyImageNet) -> Part:
    """List the images to test on, the publisher's val, by their number."""
    names = [f"val_{number}.JPEG" for number in range(known.num_test)]
    rows = _read_rows(files, "val/val_annotations.txt", names, known.side, classes=known.class_names)
    numbers: dict[str | None, int] = {name: number for number, name in enumerate(known.class_names)}
    labels = np.array([numbers[wnid] for wnid, _ in rows], np.uint8)
    return Part(tuple(f"val/images/{name}" for name in names), labels, np.array([box for _, box in rows], np.uint8))


def _read_rows(
    files: Files, path: str, names: Sequence[str], side: int, *, classes: Collection[str | None]
) -> list[tuple[str | None, list[int]]]:
    """Return the class and the box of each image in `names`, from a text that has a line for each, in any order.

    Where all are of one class, lines do not say it: it is None.
    """
    wanted, rows = set(names), {}
    for number, line in enumerate(files.read_lines(path), 1):
        if (row := ROW.fullmatch(line)) is None:
            trouble = "does not fit"
        elif row[1] not in wanted or row[1] in rows:
            trouble = "names no image that should be here, or one again"
        elif row[2] not in classes:
            trouble = "gives no class that belongs here"
        elif not _is_inside(box := [int(text) for text in row.groups()[2:]], side):
            trouble = "has a box that is not in the image"
        else:
            rows[row[1]] = row[2], box
            continue
        raise UserError(f"line {number} of {files.root / path} {trouble}: {line!r}; {AGAIN}")
    if len(rows) < len(names):
        raise UserError(
            f"{files.root / path} has {len(rows):,} images, but Tiny-ImageNet has {len(names):,} there; {AGAIN}"
        )
    return [rows[name] for name in names]


def _is_inside(box: list[int], side: int) -> bool:
    left, top, right, bottom = box
    return left <= right < side and top <= bottom < side


def _decode_all(files: Files, names: Sequence[str], side: int, what: str, watch: Watch) -> Bytes:
    """Decode images; decoders let Python's lock go."""
    images = np.empty((len(names), 3, side, side), np.uint8)

    def decode(index: int) -> None:
        images[index] = _decode(files, names[index], side).transpose(2, 0, 1)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for first in range(0, len(names), DECODED_AT_ONCE):  # an interrupt waits for these alone
            last = min(first + DECODED_AT_ONCE, len(names))
            list(pool.map(decode, range(first, last)))
            watch(what, images[:last].nbytes, images.nbytes)
    return images


def _decode(files: Files, name: str, side: int) -> Bytes:
    """Return an image's pixels in RGB; grey is repeated."""
    content = files.read(name)
    try:
        with Image.open(io.BytesIO(content), formats=["JPEG"]) as image:
            size = image.size
            pixels = np.asarray(image.convert("RGB")) if size == (side, side) else None
    except Exception as error:  # decoders meet bytes that nobody foresaw
        raise UserError(f"{files.root / name} cannot be decoded ({error}); {AGAIN}") from error
    if pixels is None:
        raise UserError(f"{files.root / name} is {size[0]}x{size[1]}, but should be {side}x{side}; {AGAIN}")
    return pixels
