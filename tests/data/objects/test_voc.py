"""Pascal VOC: which lists are trained and tested on, of one year and of several."""

from __future__ import annotations

from pathlib import Path

from tests.objects import make_scenes, write_voc

from reslab.data.objects.annotations import Teller
from reslab.data.objects.voc import find_voc, read_voc
from reslab.data.photos.findings import refuse


def divide(root: Path) -> dict[str, list[str]]:
    """Return the names of the images in each split."""
    found = read_voc(root, Teller(root, refuse)).splits
    return {split: [Path(image.file).stem for image in images] for split, images in found.items()}


def test_train_and_val_are_what_they_say(tmp_path: Path) -> None:
    """Objects too; a list of both changes nothing; with test images, both are trained on."""
    train, val, test = (make_scenes(name, 2, seed=seed) for seed, name in enumerate(("t", "v", "x")))
    write_voc(tmp_path, train=train, val=val)
    found = read_voc(tmp_path, Teller(tmp_path, refuse)).splits
    assert [[(t.name, *map(int, t[1:5])) for t in image.things] for image in found["val"]] == [
        list(scene.boxes) for scene in val
    ]
    assert divide(tmp_path) == {"train": ["t000", "t001"], "val": ["v000", "v001"]}
    write_voc(tmp_path, trainval=[*train, *val])
    assert divide(tmp_path) == {"train": ["t000", "t001"], "val": ["v000", "v001"]}
    write_voc(tmp_path, test=test)
    assert divide(tmp_path) == {"train": ["t000", "t001", "v000", "v001"], "val": ["x000", "x001"]}
    assert find_voc(tmp_path) == "Annotations"
    assert find_voc(tmp_path / "JPEGImages") is None


def test_years_are_joined(tmp_path: Path) -> None:
    """07+12 is tested on the test images of 2007; 07++12 on those of 2012, once these are annotated."""
    seven, twelve = tmp_path / "VOCdevkit" / "VOC2007", tmp_path / "VOCdevkit" / "VOC2012"
    write_voc(seven, trainval=make_scenes("seven", 1), test=make_scenes("old", 1))
    write_voc(twelve, trainval=make_scenes("twelve", 1), test=make_scenes("new", 1))
    for root in (tmp_path, tmp_path / "VOCdevkit"):
        assert divide(root) == {"train": ["seven000", "twelve000", "old000"], "val": ["new000"]}
    (twelve / "Annotations" / "new000.xml").unlink()
    assert divide(tmp_path) == {"train": ["seven000", "twelve000"], "val": ["old000"]}
    assert find_voc(tmp_path) == "VOCdevkit/VOC2007/Annotations"
    assert divide(seven) == {"train": ["seven000"], "val": ["old000"]}


def test_years_without_tests_have_their_own_lists(tmp_path: Path) -> None:
    """A year that is not divided is trained on, where another is."""
    write_voc(tmp_path / "VOC2007", train=make_scenes("a", 1), val=make_scenes("b", 1))
    write_voc(tmp_path / "VOC2008", trainval=make_scenes("c", 1))
    assert divide(tmp_path) == {"train": ["a000", "c000"], "val": ["b000"]}


def test_without_lists_all_annotations_count(tmp_path: Path) -> None:
    """As tools write them that know none; a list for training alone is all there is, too."""
    write_voc(tmp_path, train=make_scenes("a", 3))
    assert divide(tmp_path) == {"": ["a000", "a001", "a002"]}
    (tmp_path / "ImageSets" / "Main" / "train.txt").unlink()
    assert divide(tmp_path) == {"": ["a000", "a001", "a002"]}
