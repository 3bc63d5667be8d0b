"""Contact sheets: every image once, under its guess, in one file."""

from __future__ import annotations

import base64
import io
import os
import re
from pathlib import Path

import pytest
from PIL import Image
from tests.delivery.conftest import fill

from reslab.data.reading import BadImage
from reslab.delivery import sheet
from reslab.delivery.prediction import Guess, Prediction
from reslab.errors import UserError


@pytest.fixture
def predictions(tmp_path: Path) -> list[Prediction]:
    """Three images, two of them bees, one surer than the other."""
    fill(tmp_path / "p", 3, bright=90)
    paths = [str(tmp_path / "p" / f"photo-{number}.png") for number in range(3)]
    found = [("bees", 0.6), ("<ants>", 0.7), ("bees", 0.99999)]
    return [Prediction(path, (Guess(*guess),)) for path, guess in zip(paths, found, strict=True)]


def test_a_page_needs_no_other_file(predictions: list[Prediction], tmp_path: Path) -> None:
    """Thumbnails are inside; classes in order, the surest image first; names are no markup; what was bad is said."""
    path = tmp_path / "sheet.html"
    sheet.write_sheet(predictions, path, title="a & b", left_out=["bad.jpg is not an image that can be read"])
    page = path.read_text()
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    assert re.findall(r"<h2>(.*?) <small>(\d+)", page) == [("&lt;ants&gt;", "1"), ("bees", "2"), ("Left out", "1")]
    assert re.findall(r"<figcaption>(.*?)<br><span>(.*?)</span>", page) == [
        ("70.0 %", "photo-1.png"),
        ("&gt;99.9 %", "photo-2.png"),
        ("60.0 %", "photo-0.png"),
    ]
    assert "bad.jpg is not an image" in page
    for data in re.findall(r"base64,([^\"]+)", page):
        assert max(Image.open(io.BytesIO(base64.b64decode(data))).size) <= sheet.SIDE


@pytest.mark.parametrize(("name", "form"), [("s.jpg", "JPEG"), ("s.png", "PNG")])
def test_a_picture_of_them(predictions: list[Prediction], tmp_path: Path, name: str, form: str) -> None:
    """As its name ends; every thumbnail is on it, and labels file an image under all of them."""
    sheet.write_sheet(predictions, tmp_path / name, title="a")
    with Image.open(tmp_path / name) as image:
        assert image.format == form
        greys = image.convert("L").point(lambda value: 255 * (value < 200))  # photographs here are darker than paper
        assert greys.crop((12, 75, 180, 240)).getbbox() is not None
    several = [
        Prediction(one.image, one.guesses, labels)
        for one, labels in zip(predictions, [("b", "a"), (), ("b",)], strict=True)
    ]
    sheet.write_sheet(several, tmp_path / "l.html", title="a")
    assert re.findall(r"<h2>(.*?) <small>", (tmp_path / "l.html").read_text()) == ["a, b", "b", "no label"]


def test_small_classes_share_a_row(
    predictions: list[Prediction], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that many go on a picture; one that would still be too high is refused before it is painted."""
    many = [Prediction(predictions[0].image, (Guess(f"class {number:03d}", 0.5),)) for number in range(340)]
    sheet.write_sheet(many, tmp_path / "s.jpg", title="a")
    with Image.open(tmp_path / "s.jpg") as image:
        assert image.size == (10 * 172 + 12, 34 * 232 + 2 * 12 + 2 * 15)
    monkeypatch.setattr(sheet, "MOST_ROWS", 34 * 232)
    with pytest.raises(UserError, match=r"s\.jpg has no room for 340 images in 340 classes; give an \.html file"):
        sheet.write_sheet(many, tmp_path / "s.jpg", title="a")


@pytest.mark.parametrize("name", ["s.jpg", "s.png", "s.html"])
def test_control_characters_are_shown(predictions: list[Prediction], tmp_path: Path, name: str) -> None:
    """In names of files and classes, titles and sentences: as escapes."""
    evil = os.fsdecode(b"\xe9\n\r\x1b.png")
    Path(predictions[0].image).rename(tmp_path / evil)
    sheet.write_sheet(
        [Prediction(str(tmp_path / evil), (Guess(evil, 0.5),))], tmp_path / name, title=evil, left_out=[evil]
    )
    if name == "s.html":
        assert (tmp_path / name).read_text().count(r"\xe9\n\r\x1b.png") == 6


def test_classes_of_one_word_are_not_one(predictions: list[Prediction], tmp_path: Path) -> None:
    """As ImageNet's cranes, the bird and the machine."""
    cranes = [
        Prediction(one.image, (Guess(name, 0.5, words),))
        for one, name, words in zip(predictions, ("n02", "n03", "n02"), ("crane", "crane, lift", "crane"), strict=True)
    ]
    sheet.write_sheet(cranes, tmp_path / "s.html", title="a")
    found = re.findall(r"<h2>(.*?) <small>(\d+)", (tmp_path / "s.html").read_text())
    assert found == [("crane, n02", "2"), ("crane, n03", "1")]


def test_an_image_that_goes_bad_meanwhile(predictions: list[Prediction], tmp_path: Path) -> None:
    """Is left out and told where someone takes note; else the sheet is not written."""
    Path(predictions[1].image).write_bytes(b"no image")
    told: list[BadImage] = []
    sheet.write_sheet(predictions, tmp_path / "s.html", title="a", on_bad=told.append)
    assert len(told) == 1
    assert (tmp_path / "s.html").read_text().count("<figure>") == 2
    with pytest.raises(UserError, match=r"photo-1.png is not an image"):
        sheet.write_sheet(predictions, tmp_path / "none.html", title="a")
    assert not (tmp_path / "none.html").exists()


def test_what_no_sheet_is_made_of_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another ending, images that are no files, more than fit on a picture or a page."""
    monkeypatch.setattr(sheet, "MOST_ON_A_PICTURE", 2)
    monkeypatch.setattr(sheet, "MOST_ON_A_PAGE", 3)
    for path, images, sentence in (
        ("s.pdf", ["a.jpg"], "--sheet is s.pdf; give a file that ends in .html, .jpg or .png"),
        ("s.html", [Image.new("RGB", (3, 3))], "reads the image files again"),
        ("s.png", ["a.jpg"] * 3, "s.png has room for 2 images, not for 3; give an .html"),
        ("s.html", ["a.jpg"] * 4, "s.html has room for 3 images, not for 4; give fewer, or use --csv"),
    ):
        with pytest.raises(UserError, match=sentence):
            sheet.refuse_sheet(Path(path), images)
    sheet.refuse_sheet(Path("s.html"), ["a.jpg"] * 3)
