"""A small Tiny-ImageNet in its publisher's form: three classes, grey images among them, texts in no order."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import numpy as np
from PIL import Image

from reslab.data.arrays.dataset import ArrayDataset
from reslab.data.arrays.split import ArraySplit, Bytes
from reslab.data.arrays.store import digest
from reslab.data.arrays.tiny_imagenet import FOLDER, TinyImageNet

WORDS = {"n01440764": "tench, Tinca tinca", "n02012849": "crane", "n03126707": "crane"}
CLASSES = ("n01440764", "n02012849", "n03126707")
EACH, TRUTH, SIDE = 4, (2, 0, 1, 2, 0), 16
GREY = ("n02012849_2", "val_3")


def publish(folder: Path) -> tuple[TinyImageNet, dict[str, Bytes]]:
    """Write the publisher's folder into `folder`; return what is known of it, and the arrays it holds."""
    root, generator = folder / FOLDER, np.random.default_rng(0)
    train = [f"{wnid}_{number}" for wnid in CLASSES for number in range(EACH)]
    test = [f"val_{number}" for number in range(len(TRUTH))]
    boxes = {name: _draw_box(generator) for name in (*train, *test)}
    lines = {name: "\t".join(map(str, box)) for name, box in boxes.items()}
    write(root / "wnids.txt", "".join(f"{wnid}\n" for wnid in reversed(CLASSES)))
    write(root / "words.txt", "".join(f"{wnid}\t{words}\n" for wnid, words in [*WORDS.items(), ("n00000001", "x")]))
    for wnid in CLASSES:
        own = [f"{name}.JPEG\t{lines[name]}\n" for name in train if name.startswith(wnid)]
        write(root / f"train/{wnid}/{wnid}_boxes.txt", "".join(reversed(own)))
    rows = [f"{name}.JPEG\t{CLASSES[label]}\t{lines[name]}\n" for name, label in zip(test, TRUTH, strict=True)]
    write(root / "val/val_annotations.txt", "".join(reversed(rows)))
    places = {name: root / f"train/{name[:9]}/images/{name}.JPEG" for name in train}
    places |= {name: root / f"val/images/{name}.JPEG" for name in test}
    for name, place in places.items():
        write(place, jpeg(generator, grey=name in GREY))
    arrays = {
        "train_images": np.stack([_read(places[name]) for name in train]),
        "train_labels": np.array([0] * EACH + [1] * EACH + [2] * EACH, np.uint8),
        "train_boxes": np.array([boxes[name] for name in train], np.uint8),
        "test_images": np.stack([_read(places[name]) for name in test]),
        "test_labels": np.array(TRUTH, np.uint8),
        "test_boxes": np.array([boxes[name] for name in test], np.uint8),
    }
    first, second = (ArraySplit(arrays[f"{part}_images"], arrays[f"{part}_labels"]) for part in ("train", "test"))
    known = TinyImageNet(
        name="tiny-imagenet",
        class_names=CLASSES,
        image_shape=(SIDE, SIDE, 3),
        num_train=len(train),
        num_test=len(test),
        digests={name: digest(array) for name, array in arrays.items() if "images" not in name},
        fingerprint=ArrayDataset(name="any", class_names=CLASSES, train=first, test=second).fingerprint,
    )
    return known, arrays


def pack(folder: Path) -> Path:
    """Write the publisher's zip beside the folder in `folder`, and remove the folder."""
    archive = Path(shutil.make_archive(str(folder / FOLDER), "zip", folder, FOLDER))
    shutil.rmtree(folder / FOLDER)
    return archive


def write(path: Path, content: str | bytes) -> None:
    """Write a file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def jpeg(generator: np.random.Generator, *, grey: bool = False, width: int = SIDE) -> bytes:
    """Make a file of noise."""
    buffer = io.BytesIO()
    shape = (SIDE, width) if grey else (SIDE, width, 3)
    Image.fromarray(generator.integers(0, 256, shape, dtype=np.uint8)).save(buffer, "JPEG")
    return buffer.getvalue()


def _draw_box(generator: np.random.Generator) -> list[int]:
    (left, right), (top, bottom) = np.sort(generator.integers(0, SIDE, (2, 2))).tolist()
    return [left, top, right, bottom]


def _read(path: Path) -> Bytes:
    with Image.open(path) as image:
        return np.array(image.convert("RGB")).transpose(2, 0, 1)
