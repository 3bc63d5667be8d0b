"""Files of predictions are refused before the work; what is written, the tests of `predict` show."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from reslab.errors import UserError
from reslab.experiments.predicted_files import PredictedFiles


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """An image in a folder."""
    path = tmp_path / "photos" / "x.png"
    path.parent.mkdir()
    Image.new("RGB", (8, 8)).save(path)
    return path


def test_places_that_were_not_given_are_none(tmp_path: Path) -> None:
    """COCO's results come with their listing."""
    files = PredictedFiles.at(csv="a.csv", sheet=None, coco=tmp_path / "r.json", draw=str(tmp_path))
    assert files.files == [Path("a.csv"), tmp_path / "r.json", tmp_path / "r-images.json"]
    assert files.folders == {"--draw": (tmp_path, ".jpg")}
    PredictedFiles().refuse_places("x.onnx")


@pytest.mark.parametrize("option", ["explain", "draw"])
def test_folders_of_pictures_replace_no_images(option: str, image: Path, tmp_path: Path) -> None:
    """Neither beside them nor among those searched, nor what others wrote."""
    folder = image.parent
    for place, given, sentence in (
        (folder, [image], "has input images"),
        (folder / "new", [folder], "is inside a folder of images"),
    ):
        with pytest.raises(UserError, match=rf"{sentence}.*; give --{option} another folder"):
            PredictedFiles.at(**{option: place}).refuse_images(given, [image])
    PredictedFiles.at(**{option: tmp_path / "new"}).refuse_images([folder], [image])
    for ending in ("png", "jpg"):
        (tmp_path / "new").mkdir(exist_ok=True)
        Image.new("RGB", (8, 8)).save(tmp_path / "new" / f"x.{ending}")
    with pytest.raises(UserError, match="exists, and reslab did not write it"):
        PredictedFiles.at(**{option: tmp_path / "new"}).refuse_images([folder], [image])


def test_files_replace_no_image(image: Path) -> None:
    """Whatever path leads there."""
    path = image.parent / ".." / "photos" / "x.png"
    with pytest.raises(UserError, match=r"x\.png is one of the input images; write to another file"):
        PredictedFiles.at(sheet=path).refuse_images([image], [image])
