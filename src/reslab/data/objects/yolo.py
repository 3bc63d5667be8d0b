"""YOLO: trees ``images/`` and ``labels/`` with a text file an image, and the classes in ``data.yaml``.

A line is an object: the number of its class, then centre, width and height as fractions of the image; or, in place of
these four, the corners of its outline, whose extent is the box. An image without a text file shows no object.
Without ``data.yaml``, or another YAML file that names the classes, they are in ``classes.txt`` or ``obj.names``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from reslab.data.objects.annotations import (
    TEST,
    TRAIN,
    Annotated,
    Annotations,
    Teller,
    Thing,
    Trouble,
    refuse_large,
    under,
)
from reslab.data.objects.listed import read_names
from reslab.data.photos.image_files import VAL_NAMES, walk_images
from reslab.errors import UserError

MOST_BYTES = 2**20  # of a YAML file, and of an image's objects
NAME_FILES = ("classes.txt", "obj.names", "labels/classes.txt")
IMAGES, LABELS = "images", "labels"
BOX_VALUES = 4


@dataclass(frozen=True)
class _Described:
    """What the file of a dataset says: its classes, and where the images of each split are."""

    place: str
    classes: tuple[str, ...]
    splits: dict[str, tuple[str, ...]]


def find_yolo(root: Path) -> str | None:
    """Return by what a folder is YOLO's; None where it is not."""
    with contextlib.suppress(OSError):
        for path in _list_yaml(root):
            if _is_dataset(_load(path)):
                return path.name
        if (root / LABELS).is_dir() or (root / TRAIN / LABELS).is_dir():
            return next((name for name in NAME_FILES if (root / name).is_file()), None)
    return None


def read_yolo(root: Path, teller: Teller) -> Annotations:
    """Read the images and objects of all splits."""
    described = _describe(root)
    splits: dict[str, list[Annotated]] = {}
    for split, places in described.splits.items():
        read: dict[str, Annotated] = {}
        for file in (file for place in places for file in _list_images(root, place)):
            if not (root / file).is_file():
                teller.stop(
                    "missing image", file, f"is listed in {', '.join(places)}, but not there; add it, or remove it"
                )
            elif file in read:
                teller.note("listed twice", file)
            elif found := _read_image(root, file, described.classes, teller):
                read[file] = found
        splits[split] = list(read.values())
    return Annotations(splits, _write_fractions, described.classes)


def _list_yaml(root: Path) -> list[Path]:
    """Return the YAML files of a folder, the one with the usual name first."""
    inside = sorted(path for path in root.iterdir() if path.suffix in (".yaml", ".yml") and path.is_file())
    return sorted(inside, key=lambda path: path.stem != "data")


def _load(path: Path) -> Any:
    """Return what a YAML file says; None where that cannot be read, or takes too much."""
    try:
        refuse_large(path, MOST_BYTES)
        return yaml.safe_load(path.read_bytes())
    except (yaml.YAMLError, OSError, ValueError, RecursionError, Trouble):
        return None


def _is_dataset(told: Any) -> bool:
    return isinstance(told, Mapping) and "names" in told and bool({TRAIN, *VAL_NAMES} & told.keys())


def _describe(root: Path) -> _Described:
    found = [(path, told) for path in _list_yaml(root) if _is_dataset(told := _load(path))]
    if len(found) > 1 and found[0][0].stem != "data":
        raise UserError(f"{root} has both {found[0][0].name} and {found[1][0].name}; keep one, or call it data.yaml")
    if found:
        path, told = found[0]
        try:
            return _Described(path.name, _read_classes(told), _read_splits(root, told))
        except Trouble as trouble:
            raise UserError(f"{path}: {trouble}") from trouble
    place = next(name for name in NAME_FILES if (root / name).is_file())
    return _Described(place, read_names(root / place), _find_splits(root))


def _read_classes(told: Mapping[str, Any]) -> tuple[str, ...]:
    names, count = told["names"], told.get("nc")
    if isinstance(names, Mapping) and sorted(map(str, names)) == sorted(map(str, range(len(names)))):
        by_number = {str(number): name for number, name in names.items()}
        names = [by_number[str(number)] for number in range(len(names))]
    if not isinstance(names, list) or not names or not all(isinstance(name, str | int | float) for name in names):
        raise Trouble("names is not a list of classes, nor numbers from 0 with a class each; correct it")
    if count not in (None, len(names)):
        raise Trouble(f"nc is {count!r:.40}, but there are {len(names)} names; correct one of them")
    classes = tuple(map(str, names))
    if twice := [name for name in classes if classes.count(name) > 1]:
        raise Trouble(f"names has {twice[0]} twice; rename one of them")
    return classes


def _read_splits(root: Path, told: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return where the images of each split are: folders, or lists of files, by their paths under the root."""
    given = {name: told[name] for name in (TRAIN, *VAL_NAMES) if told.get(name)}
    tested = next((name for name in VAL_NAMES if name in given), None)
    used = ({TRAIN: TRAIN} if TRAIN in given else {}) | ({} if tested is None else {TEST: tested})
    if not used:
        raise Trouble("neither train nor val is given; say where the images are")
    places = {split: _find_places(root, told, name) for split, name in used.items()}
    return places if TEST in places else {"": places[TRAIN]}


def _find_places(root: Path, told: Mapping[str, Any], name: str) -> tuple[str, ...]:
    given = told[name] if isinstance(told[name], list) else [told[name]]
    return tuple(_find_place(root, str(told.get("path") or "."), str(each), name) for each in given)


def _find_place(root: Path, above: str, text: str, name: str) -> str:
    """Return the folder or list that is meant; paths may be of another machine, or begin beside their folder."""
    plain = PurePosixPath(text.replace("\\", "/"))
    shorter = PurePosixPath(*[part for part in plain.parts if part != ".."])
    for inside in (PurePosixPath(above) / plain, plain, shorter):
        place = root / inside
        if (inside.is_absolute() or ".." not in inside.parts) and (place.is_dir() or place.is_file()):
            return under(root, place)
    raise Trouble(f"{name} is '{text}', but {root} has no such folder or list; correct it")


def _find_splits(root: Path) -> dict[str, tuple[str, ...]]:
    """Return where images are of a folder that says nothing of it."""
    for pattern in (f"{IMAGES}/{{}}", f"{{}}/{IMAGES}"):
        tested = [place for name in VAL_NAMES if (root / (place := pattern.format(name))).is_dir()][:1]
        if (root / (train := pattern.format(TRAIN))).is_dir():
            return {TRAIN: (train,), TEST: tuple(tested)} if tested else {"": (train,)}
    if (root / IMAGES).is_dir():
        return {"": (IMAGES,)}
    raise UserError(f"{root} has {LABELS} and classes, but no folder '{IMAGES}'; add it")


def _list_images(root: Path, place: str) -> Iterator[str]:
    """Yield the images of a folder, or of a list, whose lines begin at the list's folder or at the root."""
    if (root / place).is_dir():
        yield from (path.relative_to(root).as_posix() for path in walk_images(root / place, set()))
        return
    for line in read_names(root / place):
        beside, plain = (root / place).parent, PurePosixPath(line)
        yield under(root, next((path for path in (beside / plain, root / plain) if path.is_file()), beside / plain))


def _read_image(root: Path, file: str, classes: Sequence[str], teller: Teller) -> Annotated | None:
    place = _find_labels(file)
    try:
        refuse_large(root / place, MOST_BYTES)
        lines = (root / place).read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        return Annotated(file, place, (), has_fractions=True)
    except (OSError, ValueError) as error:
        teller.stop("wrong annotation", place, f"cannot be read ({error}); write it again")
        return None
    except Trouble as trouble:
        teller.stop("wrong annotation", place, str(trouble))
        return None
    things: list[Thing] = []
    for number, line in enumerate(lines, start=1):
        if words := line.split():
            try:
                things.append(_read_thing(words, number, classes))
            except LookupError as error:
                teller.stop("unknown class", place, str(error.args[0]))
            except Trouble as trouble:
                teller.stop("wrong annotation", place, str(trouble))
    return Annotated(file, place, tuple(things), has_fractions=True)


def _find_labels(file: str) -> str:
    """Return where the objects of an image are: in the tree of labels, or beside it."""
    parts = list(PurePosixPath(file).with_suffix(".txt").parts)
    for place in reversed(range(len(parts) - 1)):
        if parts[place] == IMAGES:
            parts[place] = LABELS
            break
    return "/".join(parts)


def _read_thing(words: Sequence[str], number: int, classes: Sequence[str]) -> Thing:
    try:
        kind, *values = map(float, words)
    except ValueError:
        raise Trouble(f"line {number} is '{' '.join(words)[:60]}'; write numbers, separated by spaces") from None
    if len(values) != BOX_VALUES and (len(values) < 2 * BOX_VALUES - 2 or len(values) % 2):
        raise Trouble(f"line {number} has {len(words)} numbers; write a class, then centre, width and height")
    if kind not in range(len(classes)):
        raise LookupError(
            f"line {number}: class {words[0][:40]} is none of the {len(classes)}, counted from 0; correct it"
        )
    name = classes[int(kind)]
    if len(values) > BOX_VALUES:  # an outline
        return Thing(name, min(values[::2]), min(values[1::2]), max(values[::2]), max(values[1::2]), number)
    across, down, width, height = values
    return Thing(name, across - width / 2, down - height / 2, across + width / 2, down + height / 2, number)


def _write_fractions(thing: Thing, size: tuple[int, int]) -> str:
    """Say of an object, whose box is in pixels by now, what its annotation says."""
    left, right, top, bottom = thing.left / size[0], thing.right / size[0], thing.top / size[1], thing.bottom / size[1]
    values = ((left + right) / 2, (top + bottom) / 2, right - left, bottom - top)
    return f"line {thing.number} ({thing.name}): {' '.join(f'{value:g}' for value in values)}"
