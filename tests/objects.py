"""Small folders of images with annotated objects, made up: bright rectangles of a colour a class, in every layout."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from reslab.data.photos.findings import Finding, Tell

CLASSES = ("bar", "disc", "square")
COLOURS = {"bar": (230, 30, 30), "disc": (30, 230, 30), "square": (40, 40, 240)}
Box = tuple[str, int, int, int, int]  # class, and edges: left, top, right, bottom


@dataclass(frozen=True)
class Scene:
    """An image: its name without an ending, its size, and the objects in it."""

    name: str
    size: tuple[int, int]
    boxes: tuple[Box, ...]


def make_scenes(
    prefix: str, count: int, *, seed: int = 0, sizes: Sequence[tuple[int, int]] = ((60, 45),)
) -> list[Scene]:
    """Draw scenes of the sizes by turns, each with one to three objects, of all classes by turns."""
    random, scenes = np.random.default_rng(seed), []
    for number in range(count):
        width, height = sizes[number % len(sizes)]
        boxes: list[Box] = []
        for place in range(1 + number % 3):
            left, top = int(random.integers(0, width - 12)), int(random.integers(0, height - 12))
            right, bottom = left + int(random.integers(6, 12)), top + int(random.integers(6, 12))
            boxes.append((CLASSES[(number + place) % len(CLASSES)], left, top, right, bottom))
        scenes.append(Scene(f"{prefix}{number:03d}", (width, height), tuple(boxes)))
    return scenes


def draw(scene: Scene, path: Path) -> None:
    """Save the image: dark, with a rectangle for each object."""
    pixels = np.full((scene.size[1], scene.size[0], 3), 10, np.uint8)
    for name, left, top, right, bottom in scene.boxes:
        pixels[top:bottom, left:right] = COLOURS[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, quality=95)


def listen() -> tuple[list[tuple[str, str, bool]], Tell]:
    """Return a list and what puts on it all that is told: the kind, the place, and whether a training stops there."""
    heard: list[tuple[str, str, bool]] = []

    def tell(finding: Finding | None, refusal: str | None) -> None:
        heard.append((finding.kind if finding else "", finding.path if finding else "", refusal is not None))

    return heard, tell


def write_voc(root: Path, **lists: Sequence[Scene]) -> Path:
    """Write scenes as Pascal VOC does, with a list for each name."""
    for name, scenes in lists.items():
        place = root / "ImageSets" / "Main" / f"{name}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("".join(f"{scene.name}\n" for scene in scenes))
        for scene in scenes:
            draw(scene, root / "JPEGImages" / f"{scene.name}.jpg")
            write_xml(root / "Annotations" / f"{scene.name}.xml", scene)
    return root


def write_xml(path: Path, scene: Scene) -> None:
    """Write the annotation of a scene; VOC counts pixels from 1."""
    objects = "".join(
        f"<object><name>{name}</name><difficult>0</difficult><bndbox><xmin>{left + 1}</xmin><ymin>{top + 1}</ymin>"
        f"<xmax>{right}</xmax><ymax>{bottom}</ymax></bndbox></object>"
        for name, left, top, right, bottom in scene.boxes
    )
    size = f"<size><width>{scene.size[0]}</width><height>{scene.size[1]}</height><depth>3</depth></size>"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<annotation>{size}{objects}</annotation>")


def write_coco(root: Path, **splits: Sequence[Scene]) -> Path:
    """Write scenes as COCO does: numbers of classes have gaps."""
    for split, scenes in splits.items():
        for scene in scenes:
            draw(scene, root / f"{split}2017" / f"{scene.name}.jpg")
        place = root / "annotations" / f"instances_{split}2017.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(describe_coco(scenes)))
    return root


def describe_coco(scenes: Sequence[Scene]) -> dict[str, list[dict[str, object]]]:
    """Return what COCO's file says of scenes."""
    numbers = {name: 3 * number + 1 for number, name in enumerate(CLASSES)}
    images = [
        {"id": number, "file_name": f"{scene.name}.jpg", "width": scene.size[0], "height": scene.size[1]}
        for number, scene in enumerate(scenes)
    ]
    annotations = [
        {"image_id": number, "category_id": numbers[name], "bbox": [left, top, right - left, bottom - top]}
        | {"iscrowd": 0, "area": 0.5 * (right - left) * (bottom - top)}
        for number, scene in enumerate(scenes)
        for name, left, top, right, bottom in scene.boxes
    ]
    annotations = [{"id": 100 + place, **note} for place, note in enumerate(annotations)]
    categories = [{"id": number, "name": name} for name, number in numbers.items()]
    return {"images": images, "annotations": annotations, "categories": categories}


def write_yolo(root: Path, **splits: Sequence[Scene]) -> Path:
    """Write scenes as YOLO does."""
    for split, scenes in splits.items():
        for scene in scenes:
            draw(scene, root / "images" / split / f"{scene.name}.jpg")
            lines = [write_line(scene.size, box) for box in scene.boxes]
            place = root / "labels" / split / f"{scene.name}.txt"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("\n".join(lines))
    (root / "data.yaml").write_text(
        "".join(f"{split}: images/{split}\n" for split in splits) + f"nc: {len(CLASSES)}\nnames: {list(CLASSES)}\n"
    )
    return root


def write_line(size: tuple[int, int], box: Box) -> str:
    """Return an object as a line of YOLO's."""
    name, left, top, right, bottom = box
    width, height = size
    values = ((left + right) / 2 / width, (top + bottom) / 2 / height, (right - left) / width, (bottom - top) / height)
    return f"{CLASSES.index(name)} {' '.join(f'{value:.8f}' for value in values)}"
