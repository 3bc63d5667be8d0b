"""ImageNet's detection data: ``Annotations/DET`` and ``Data/DET``, with the classes by their synsets.

Trained on ``train``, tested on ``val``; or, with lists ``val1.txt`` and ``val2.txt`` in ``ImageSets/DET``, as the paper
does: trained on train and val1, tested on val2.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from reslab.data.objects.annotations import TEST, TRAIN, Annotations, Folders, Teller
from reslab.data.objects.kept_files import keep_files
from reslab.data.objects.listed import Listed, find_names, read_listed, read_names
from reslab.data.objects.xml_files import write_pixels

XML, IMAGES, LISTS = "Annotations/DET", "Data/DET", "ImageSets/DET"


def find_imagenet_detection(root: Path) -> str | None:
    """Return by what a folder is ImageNet's detection data; None where it is not."""
    above = _find_above(root)
    return None if above is None else f"{above}{XML}"


def read_imagenet_detection(root: Path, teller: Teller) -> Annotations:
    """Read the images and objects."""
    above = _find_above(root) or ""
    train, val = (_find_list(root, above, name, name) for name in ("train", "val"))
    parts = {name: _find_list(root, above, "val", name) for name in ("val1", "val2") if _has_list(root, above, name)}
    lists = {TRAIN: [train], TEST: [val]}
    if len(parts) == 2:
        lists = {TRAIN: [train, parts["val1"]], TEST: [parts["val2"]]}
    folders = Folders(root)
    with keep_files(root) as kept:
        found = {split: read_listed(folders, each, kept=kept, teller=teller) for split, each in lists.items()}
    return Annotations(found, write_pixels)


def _find_above(root: Path) -> str | None:
    with contextlib.suppress(OSError):
        for above in ("", "ILSVRC/"):
            if (root / f"{above}{XML}").is_dir() and (root / f"{above}{IMAGES}").is_dir():
                return above
    return None


def _has_list(root: Path, above: str, name: str) -> bool:
    return (root / f"{above}{LISTS}/{name}.txt").is_file()


def _find_list(root: Path, above: str, folder: str, name: str) -> Listed:
    """Return a list of images in a folder, or, where there is none of this name, all that are annotated there."""
    place, annotations = f"{above}{LISTS}/{name}.txt", f"{above}{XML}/{folder}"
    names = read_names(root / place) if _has_list(root, above, name) else find_names(root, annotations)
    return Listed(place, names, f"{above}{IMAGES}/{folder}", annotations)
