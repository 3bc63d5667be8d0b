"""Photographs with objects keep the contracts of data, in whatever layout they come."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tests.objects import CLASSES, make_scenes, write_coco, write_voc, write_yolo
from tests.photographs import make_photos

from reslab.data.catalogue import open_data
from reslab.data.dataset import Dataset
from reslab.data.objects.dataset import ObjectsDataset, read_objects
from reslab.data.photos.reader import read_photos
from reslab.errors import UserError
from reslab.spec.boxes import ABSENT, CLASS, FRAME
from reslab.spec.trial import DataSpec

TRAIN, VAL = make_scenes("t", 6, sizes=((60, 45), (40, 50))), make_scenes("v", 3, seed=1)
WRITERS = {"voc": write_voc, "coco": write_coco, "yolo": write_yolo}


@pytest.fixture(params=WRITERS)
def dataset(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectsDataset:
    """The same scenes in every layout."""
    return read_objects(WRITERS[request.param](tmp_path / "shapes", train=TRAIN, val=VAL))


def test_every_layout_gives_the_same(dataset: ObjectsDataset) -> None:
    """Classes, frames and boxes between edges, with room for the most of any image."""
    assert (dataset.class_names, dataset.name, dataset.target) == (CLASSES, "shapes", "boxes")
    for split, scenes in ((dataset.train, TRAIN), (dataset.test, VAL)):
        assert split.targets.shape == (len(scenes), 4, 7)
        assert split.sizes.tolist() == [list(scene.size) for scene in scenes]
        for target, scene in zip(split.targets, scenes, strict=True):
            assert target[0].tolist() == [0, 0, *scene.size, FRAME, *scene.size]
            found = target[1 : 1 + len(scene.boxes)]
            assert np.allclose(found[:, :4], [box[1:] for box in scene.boxes], atol=1e-3)
            assert [CLASSES[int(number)] for number in found[:, CLASS]] == [box[0] for box in scene.boxes]
            assert (target[1 + len(scene.boxes) :] == ABSENT).all()


def test_the_contract_of_data_is_kept(dataset: ObjectsDataset) -> None:
    """As of every kind; what was trained on is found again by its fingerprint."""
    kept: Dataset = dataset
    assert all(hasattr(kept, name) for name in (*vars(Dataset), *Dataset.__annotations__) if not name.startswith("_"))
    split = kept.train
    assert len(split) == len(split.targets) == len(split.identities()) == 6
    assert split.read(1).shape == (3, 50, 40)
    chosen = np.array([4, 0])
    for part, indices in ((split.take(chosen), chosen), (split.take(slice(1, 5, 2)), np.array([1, 3]))):
        assert np.array_equal(np.asarray(part.targets), split.targets[indices])
        assert torch.equal(part.read(1), split.read(int(indices[1])))
    before = DataSpec(name=kept.name, fingerprint=kept.fingerprint)
    found = kept.find_trained(before)
    assert found is not None and np.array_equal(found.identities(), split.identities())
    assert list(kept.read_before(held_out_seed=0)) == []
    assert (kept.usual_recipe, kept.usual_network, kept.held_out) == ("objects", "resnet-50", False)


def test_the_fingerprint_covers_images_and_annotations(tmp_path: Path) -> None:
    """A box that moves by a pixel makes other data; so does an image."""
    root = write_voc(tmp_path / "voc", train=TRAIN, val=VAL)
    prints = [read_objects(root).fingerprint]
    annotation = root / "Annotations" / "t001.xml"
    whole = annotation.read_text()
    left = TRAIN[1].boxes[0][1]
    annotation.write_text(whole.replace(f"<xmin>{left + 1}<", f"<xmin>{left + 2}<", 1))
    prints.append(read_objects(root).fingerprint)
    annotation.write_text(whole.replace("<difficult>0<", "<difficult>1<", 1))
    prints.append(read_objects(root).fingerprint)
    annotation.write_text(whole)
    Image.new("RGB", (60, 45)).save(root / "JPEGImages" / "t000.jpg")
    prints.append(read_objects(root).fingerprint)
    assert len(set(prints)) == 4


def test_a_folder_is_known_without_being_told(tmp_path: Path) -> None:
    """Folders of classes stay what they were."""
    assert isinstance(open_data(str(write_voc(tmp_path / "voc", train=TRAIN, val=VAL))), ObjectsDataset)
    assert not isinstance(read_photos(make_photos(tmp_path / "photos")), ObjectsDataset)


def test_some_is_held_out_where_nothing_is_to_be_tested_on(tmp_path: Path) -> None:
    """Of every class, by a seed; an image alone cannot be."""
    root = write_voc(tmp_path / "voc", train=make_scenes("a", 20))
    drawn = [read_objects(root, seed=seed) for seed in (0, 1)]
    assert drawn[0].test.files != drawn[1].test.files
    assert all(one.held_out and len(one.train) + len(one.test) == 20 for one in drawn)
    for split in (drawn[0].train, drawn[0].test):
        assert {int(number) for index in range(len(split)) for number in split.classes_of(index)} == {0, 1, 2}
    with pytest.raises(UserError, match="only one image"):
        read_objects(write_voc(tmp_path / "one", train=make_scenes("a", 1)))


def test_images_to_test_on_may_be_all_there_are(tmp_path: Path) -> None:
    """Then none is trained on; or the same on which is trained."""
    dataset = read_objects(write_coco(tmp_path / "coco", val=VAL))
    assert (len(dataset.train), len(dataset.test), dataset.held_out) == (0, 3, False)
    root = write_yolo(tmp_path / "yolo", train=TRAIN)
    (root / "data.yaml").write_text("train: images/train\nval: images/train\nnames: [bar, disc, square]")
    dataset = read_objects(root)
    assert dataset.train.files == dataset.test.files


def test_images_of_no_object_are_kept(tmp_path: Path) -> None:
    """As background."""
    root = write_yolo(tmp_path / "yolo", train=TRAIN, val=VAL)
    (root / "labels" / "train" / "t000.txt").unlink()
    dataset = read_objects(root)
    assert len(dataset.train) == 6
    assert dataset.train.classes_of(0).tolist() == []
    assert dataset.train.targets[0][1:, CLASS].tolist() == [ABSENT] * 3
