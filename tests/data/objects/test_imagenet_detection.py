"""ImageNet's detection data: folders within folders, and the halves of val that the paper uses."""

from __future__ import annotations

from pathlib import Path

from tests.objects import draw, make_scenes, write_xml

from reslab.data.objects.annotations import Teller
from reslab.data.objects.imagenet_detection import find_imagenet_detection, read_imagenet_detection
from reslab.data.photos.findings import refuse


def write(root: Path) -> Path:
    for folder, scenes in (("train/ILSVRC2013_train/n01", make_scenes("t", 2)), ("val", make_scenes("v", 4))):
        for scene in scenes:
            draw(scene, root / "Data" / "DET" / folder / f"{scene.name}.jpg")
            write_xml(root / "Annotations" / "DET" / folder / f"{scene.name}.xml", scene)
    (root / "ImageSets" / "DET").mkdir(parents=True)
    (root / "ImageSets" / "DET" / "val.txt").write_text("v000 1\nv001 2\nv002 3\nv003 4\n")
    return root


def divide(root: Path) -> dict[str, list[str]]:
    found = read_imagenet_detection(root, Teller(root, refuse)).splits
    return {split: [Path(image.file).stem for image in images] for split, images in found.items()}


def test_val_is_tested_on_or_its_second_half(tmp_path: Path) -> None:
    """The first half is trained on then, as in the paper."""
    root = write(tmp_path / "ILSVRC")
    assert find_imagenet_detection(root) == "Annotations/DET"
    assert find_imagenet_detection(tmp_path) == "ILSVRC/Annotations/DET"
    assert find_imagenet_detection(root / "Data") is None
    assert divide(tmp_path) == divide(root) == {"train": ["t000", "t001"], "val": ["v000", "v001", "v002", "v003"]}
    (root / "ImageSets" / "DET" / "val1.txt").write_text("v000\nv002\n")
    assert divide(root)["val"] == ["v000", "v001", "v002", "v003"]
    (root / "ImageSets" / "DET" / "val2.txt").write_text("v001\nv003\n")
    assert divide(root) == {"train": ["t000", "t001", "v000", "v002"], "val": ["v001", "v003"]}
    (root / "ImageSets" / "DET" / "train.txt").write_text("ILSVRC2013_train/n01/t001 1\n")
    assert divide(root)["train"] == ["t001", "v000", "v002"]
