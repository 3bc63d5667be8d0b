"""COCO: a JSON file for each split, in a folder of its own or beside the images.

That is ``annotations/instances_train2017.json`` beside ``train2017/``, say; or ``train/_annotations.coco.json``, as
Roboflow writes it. Boxes are left, top, width and height between edges of pixels. Numbers of categories may have gaps;
the classes are the categories in the order of their numbers, whether they have objects or not.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from reslab.data.objects.annotations import TEST, TRAIN, Annotated, Annotations, Teller, Thing, Trouble, refuse_large
from reslab.data.objects.kept_files import KeptFiles, keep_files
from reslab.data.photos.image_files import VAL_NAMES
from reslab.errors import UserError
from reslab.spec.boxes import CROWD, PLAIN

MOST_BYTES = 2**31  # COCO's own have less than a quarter of it
USED = {
    "images": ("id", "file_name", "width", "height"),
    "annotations": ("id", "image_id", "category_id", "bbox", "area", "iscrowd"),
    "categories": ("id", "name", "supercategory"),
}
BESIDE_IMAGES = "_annotations.coco.json"
IN_FOLDER = re.compile(rf"(?:instances_)?(train|{'|'.join(VAL_NAMES)})(\d*)\.json")


@dataclass(frozen=True)
class _File:
    """What is read of a JSON file, by its path under the root: the images by their number, and lists of objects."""

    place: str
    images: dict[Any, dict[str, Any]]
    annotations: list[dict[str, Any]]
    categories: dict[Any, str]
    parents: frozenset[str]  # of categories


def find_coco(root: Path) -> str | None:
    """Return by what a folder is COCO's; None where it is not."""
    found = _find_files(root)
    return next(iter(found.values()))[0] if found else None


@dataclass(frozen=True)
class CocoIds:
    """The numbers of COCO's images, by where they lie, and of its categories, by their names."""

    root: Path
    images: Mapping[Path, int | str]
    categories: Mapping[str, int]


def read_ids(root: Path) -> CocoIds:
    """Read the numbers of the images of all splits and of the categories."""
    images: dict[Path, int | str] = {}
    categories: dict[str, int] = {}
    with keep_files(root) as kept:
        files = [_read_file(place, kept) for places in _find_files(root).values() for place in places]
    for file in files:
        folders = _list_folders(file.place)
        for number, image in file.images.items():
            if (path := _find_image(root, image, folders)) is not None:
                images[(root / path).resolve()] = number
        categories |= {name: number for number, name in file.categories.items()}
    if not categories:
        raise UserError(
            f"{root} has no annotations of COCO's, so no ids; give another folder, or leave out data={root}"
        )
    return CocoIds(root, images, categories)


def read_coco(root: Path, teller: Teller) -> Annotations:
    """Read the images and objects of all splits."""
    places = _find_files(root)
    for several in places.values():
        if len(several) > 1:
            raise UserError(f"{root} has both {several[0]} and {several[1]}; keep one of them")
    with keep_files(root) as kept:
        files = {split: _read_file(place, kept) for split, (place,) in places.items()}
    first = next(iter(files.values()))
    used = {note["category_id"] for file in files.values() for note in file.annotations if _is_named(note)}
    classes = tuple(
        name
        for number, name in first.categories.items()
        if number in used or name not in first.parents  # Roboflow begins with one that is only the others' parent
    )
    splits = {split: list(_read_images(root, file, teller)) for split, file in files.items()}
    return Annotations(splits, _write_box, classes)


def _find_files(root: Path) -> dict[str, list[str]]:
    """Return the files of each split, by what it is here; the first of the names that splits to test on may have."""
    found: dict[str, list[str]] = {}
    with contextlib.suppress(OSError):
        for path in sorted((root / "annotations").glob("*.json")):
            if match := IN_FOLDER.fullmatch(path.name):
                found.setdefault(match[1], []).append(f"annotations/{path.name}")
        for folder in ("train", *VAL_NAMES, ""):
            place = PurePosixPath(folder) / BESIDE_IMAGES
            if (root / place).is_file():
                found.setdefault(folder, []).append(place.as_posix())
    tested = next((name for name in VAL_NAMES if name in found), None)
    splits = {TRAIN: found["train"]} if "train" in found else {}
    splits |= {} if tested is None else {TEST: found[tested]}
    if len(splits) == 1 and TRAIN in splits:
        return {"": splits[TRAIN]}
    return splits or ({"": found[""]} if "" in found else {})


def _read_file(place: str, kept: KeptFiles) -> _File:
    try:
        return _check_file(place, kept.read(place, _parse))
    except Trouble as trouble:
        raise UserError(f"{kept.root / place} {trouble}") from trouble


def _parse(path: Path) -> Any:
    """Return what is used of a file: most of it are outlines."""
    try:
        refuse_large(path, MOST_BYTES)
        told = json.loads(path.read_bytes())
    except OSError as error:
        raise Trouble(f"cannot be read: {error.strerror}; check its permissions") from error
    except (ValueError, RecursionError) as error:
        raise Trouble(f"is not JSON that can be read ({error}); write it again") from error
    if not isinstance(told, dict):
        return None
    return {name: _take_used(told.get(name), used) for name, used in USED.items()}


def _take_used(listed: Any, used: Sequence[str]) -> Any:
    """Return a list with these fields of each of its objects; None where it is none of objects."""
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        return None
    return [{name: each[name] for name in used if name in each} for each in listed]


def _check_file(place: str, told: Any) -> _File:
    images, notes, categories = (_list_of(told, name) for name in ("images", "annotations", "categories"))
    names: dict[Any, str] = {}
    for category in categories:
        number, name = category.get("id"), category.get("name")
        if not isinstance(number, int) or not isinstance(name, str) or not name:
            raise Trouble(f"has a category {category!r:.80}; give each an id and a name")
        if number in names or name in names.values():
            raise Trouble(f"has two categories with the id {number} or the name {name}; rename one of them")
        names[number] = name
    if not names:
        raise Trouble("has no categories; list them with an id and a name each")
    parents = frozenset(parent for each in categories if isinstance(parent := each.get("supercategory"), str))
    return _File(place, _number_images(images), notes, dict(sorted(names.items())), parents)


def _list_of(told: Any, name: str) -> list[dict[str, Any]]:
    found = told and told[name]
    if found is None:
        raise Trouble(f"has no list '{name}' of objects, as COCO's annotations of instances have; add it")
    return found


def _number_images(images: Sequence[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    numbered: dict[Any, dict[str, Any]] = {}
    for image in images:
        number, file = image.get("id"), image.get("file_name")
        if not isinstance(number, int | str) or not isinstance(file, str) or not file:
            raise Trouble(f"has an image {image!r:.80}; give each an id and a file_name")
        if number in numbered:
            raise Trouble(f"has two images with the id {number}; number them anew")
        numbered[number] = image
    return numbered


def _read_images(root: Path, file: _File, teller: Teller) -> Iterator[Annotated]:
    """Yield the images of a file with their objects, each image once; what cannot be taken is told, and left out."""
    things: dict[Any, list[Thing]] = {number: [] for number in file.images}
    for place, note in enumerate(file.annotations, start=1):
        try:
            things[_find_owner(note, file, place)].append(_read_thing(note, file, place))
        except Trouble as trouble:
            teller.stop("unknown class" if _is_strange(note, file) else "wrong annotation", file.place, str(trouble))
    folders, seen = _list_folders(file.place), set[str]()
    for number, image in file.images.items():
        path, where = _find_image(root, image, folders), f"{file.place}, {_name_file(image)}"
        if path is None:
            missing = f"there is no such image in {root / folders[0]}; add it, or remove it from the file"
            teller.stop("missing image", where, missing)
        elif path in seen:
            teller.note("listed twice", where)
        else:
            seen.add(path)
            yield Annotated(path, where, tuple(things[number]), _read_size(image))


def _find_image(root: Path, image: Mapping[str, Any], folders: Sequence[str]) -> str | None:
    """Return the path of an image under the root; None where it is not there, or somewhere else."""
    name = _name_file(image)
    inside = not name.is_absolute() and ".." not in name.parts
    return next((each for folder in folders if inside and (root / (each := f"{folder}{name}")).is_file()), None)


def _name_file(image: Mapping[str, Any]) -> PurePosixPath:
    return PurePosixPath(image["file_name"].replace("\\", "/"))


def _read_size(image: Mapping[str, Any]) -> tuple[int, int] | None:
    width, height = image.get("width"), image.get("height")
    if isinstance(width, int) and isinstance(height, int) and width > 0 and height > 0:
        return width, height
    return None


def _list_folders(place: str) -> list[str]:
    """Return where the images of a file may lie, with a slash behind each folder: beside it, or in one of its name."""
    path = PurePosixPath(place)
    if path.name == BESIDE_IMAGES:
        return [f"{path.parent}/" if path.parent.name else ""]
    match = IN_FOLDER.fullmatch(path.name)
    assert match is not None
    names = dict.fromkeys((f"{match[1]}{match[2]}", match[1]))
    return [f"{above}{name}/" for name in names for above in ("", "images/")] + ["images/", ""]


def _is_named(note: Mapping[str, Any]) -> bool:
    return isinstance(note.get("category_id"), int)


def _is_strange(note: Mapping[str, Any], file: _File) -> bool:
    return _is_named(note) and note["category_id"] not in file.categories


def _name(note: Mapping[str, Any], place: int) -> str:
    return f"annotation {note['id']}" if isinstance(note.get("id"), int) else f"the annotation at place {place:,}"


def _find_owner(note: Mapping[str, Any], file: _File, place: int) -> Any:
    number = note.get("image_id")
    if not isinstance(number, int | str) or number not in file.images:
        raise Trouble(f"{_name(note, place)} has the image_id {number!r:.40}, which no image has; correct it")
    return number


def _read_thing(note: Mapping[str, Any], file: _File, place: int) -> Thing:
    if _is_strange(note, file) or not _is_named(note):
        category = note.get("category_id")
        raise Trouble(f"{_name(note, place)} has the category_id {category!r:.40}, which no category has; correct it")
    name, box, area = file.categories[note["category_id"]], note.get("bbox"), note.get("area")
    where = f"{_name(note, place)} ({name})"
    if not isinstance(box, list) or len(box) != 4 or not all(map(_is_number, box)):
        raise Trouble(f"{where} has the bbox {box!r:.60}; write left, top, width and height")
    if area is not None and not _is_number(area):
        raise Trouble(f"{where} has the area {area!r:.40}; write a number, or leave it out")
    left, top, width, height = map(float, box)
    mark = CROWD if note.get("iscrowd") else PLAIN
    number = note["id"] if isinstance(note.get("id"), int) else place
    return Thing(name, left, top, left + width, top + height, number, mark, None if area is None else float(area))


def _is_number(value: Any) -> bool:
    """Whether a value is a number that a float can hold; what is none at all, as NaN, is told with its box."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) < sys.float_info.max
    return isinstance(value, float)


def _write_box(thing: Thing, size: tuple[int, int]) -> str:
    """Say of an object what its annotation says."""
    values = (thing.left, thing.top, thing.right - thing.left, thing.bottom - thing.top)
    return f"annotation {thing.number} ({thing.name}): bbox {', '.join(f'{value:g}' for value in values)}"
