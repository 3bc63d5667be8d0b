"""Pictures with boxes and labels, looked at pixel by pixel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.objects import CLASSES

from reslab.delivery.drawn_objects import choose_colours, draw_objects, name_pictures, write_drawings
from reslab.delivery.pictures import Picture, read_images
from reslab.delivery.prediction import FoundObject, Prediction
from reslab.delivery.sheet import SIGNATURE
from reslab.errors import UserError

COLOURS = choose_colours(CLASSES)


def make_picture(width: int, height: int, *, grey: bool = False) -> Picture:
    """A picture that is dark all over."""
    (picture,) = read_images([np.full((height, width, 1 if grey else 3), 40, np.uint8)])
    return picture


def test_a_box_lies_on_the_edges_it_has() -> None:
    """In the colour of its class: from the first pixel inside to the last, with the label above."""
    box = (100.0, 120.0, 300.0, 360.0)
    drawn = np.asarray(draw_objects(make_picture(500, 400), [FoundObject("disc", 0.9, box)], COLOURS))
    assert drawn.shape == (400, 500, 3)
    wide = np.argwhere((drawn == COLOURS["disc"]).all(2))
    assert wide[:, 0].max() == 359 and (wide[wide[:, 0] > 200][:, 1].min(), wide[:, 1].max()) == (100, 299)
    assert (drawn[200:350, 110:290] == 40).all()
    assert wide[:, 0].min() < 110  # the label
    assert (drawn[104:116, 102:140] == COLOURS["disc"]).all(2).mean() > 0.4


@pytest.mark.parametrize(("width", "height"), [(8, 8), (32, 20), (3000, 40), (1200, 900)])
def test_labels_can_be_read_in_any_picture(width: int, height: int) -> None:
    """Small ones are enlarged by whole factors; a label covers so much of any, and stays inside."""
    found = FoundObject("square", 0.5, (width / 4, height / 4, width, height))
    drawn = draw_objects(make_picture(width, height, grey=True), [found], COLOURS)
    scale = drawn.width // width
    assert drawn.size == (width * scale, height * scale)
    assert min(drawn.size) >= min(320, height * max(1, 4000 // width))
    coloured = (np.asarray(drawn) == COLOURS["square"]).all(2)
    assert coloured.sum() > 500


def test_labels_of_one_place_do_not_cover_each_other() -> None:
    """Two objects in the same box have a label each."""
    box = (100.0, 100.0, 400.0, 300.0)
    found = [FoundObject(name, 0.9, box) for name in ("disc", "bar")]
    drawn = np.asarray(draw_objects(make_picture(500, 400), found, COLOURS))
    for name in ("disc", "bar"):
        assert (drawn == COLOURS[name]).all(2).sum() > 400


def test_each_class_has_a_colour() -> None:
    """Of eighty no two are the same, and each stays the same when classes are added."""
    many = choose_colours([f"class {number}" for number in range(80)])
    assert len(set(many.values())) == 80
    assert choose_colours([f"class {number}" for number in range(3)]).items() <= many.items()


def test_pictures_of_one_name_get_numbers() -> None:
    """Also where another has such a name already."""
    assert name_pictures(["a/x.jpg", "b/x.png", "x-2.jpg"], ".jpg") == ["x.jpg", "x-2.jpg", "x-2-2.jpg"]


def test_files_are_ours_alone(tmp_path: Path) -> None:
    """They say that reslab made them, are written again, and replace no others."""
    Image.new("RGB", (60, 45)).save(tmp_path / "x.png")
    Image.new("RGB", (60, 45)).save(tmp_path / "y.png")
    images = [str(tmp_path / "x.png"), str(tmp_path / "y.png")]
    predictions = [Prediction(images[1], objects=(FoundObject("bar", 0.9, (1.0, 1.0, 30.0, 30.0)),), size=(60, 45))]
    (first,) = write_drawings(predictions, images, tmp_path / "drawn", class_names=CLASSES)
    (path,) = write_drawings(predictions, images, tmp_path / "drawn", class_names=CLASSES)
    assert path == first
    assert path is not None and path == tmp_path / "drawn" / "y.jpg"
    with Image.open(path) as image:
        assert (image.format, image.info["comment"]) == ("JPEG", SIGNATURE.encode())
    Image.new("RGB", (9, 9)).save(path)
    with pytest.raises(UserError, match=r"y\.jpg exists, and reslab did not write it"):
        write_drawings(predictions, images, tmp_path / "drawn", class_names=CLASSES)


def test_arrays_are_drawn_on_too(tmp_path: Path) -> None:
    """Under their number."""
    predictions = [Prediction("image 1", objects=(), size=(20, 10))]
    (path,) = write_drawings(predictions, [np.zeros((10, 20, 3), np.uint8)], tmp_path, class_names=CLASSES)
    assert path is not None and path.name == "image 1.jpg"


def test_what_a_jpeg_has_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Is said."""
    monkeypatch.setattr("reslab.delivery.drawn_objects.MOST_ROWS", 300)
    with pytest.raises(UserError, match="image 1 is 400x350, and a JPEG has at most 300 pixels a side"):
        draw_objects(make_picture(400, 350), [], COLOURS)


def test_an_image_that_has_gone_bad_since(tmp_path: Path) -> None:
    """Has no picture; the others have theirs."""
    images = [str(tmp_path / f"{name}.png") for name in "xyz"]
    for image in images:
        Image.new("RGB", (20, 10)).save(image)
    predictions = [Prediction(image, objects=(), size=(20, 10)) for image in images]
    Path(images[1]).write_bytes(b"no image")
    noted: list[UserError] = []
    paths = write_drawings(predictions, images, tmp_path / "drawn", class_names=CLASSES, on_bad=noted.append)
    assert [path and path.name for path in paths] == ["x.jpg", None, "z.jpg"] and len(noted) == 1
