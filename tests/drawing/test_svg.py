"""The pen writes well-formed XML, whatever it is given."""

from __future__ import annotations

from xml.etree import ElementTree

from reslab.drawing.svg import NEUTRAL, TONES, Pen, text_width, tone, wrap

SVG = "{http://www.w3.org/2000/svg}"


def read(pen: Pen, title: str = "a page") -> ElementTree.Element:
    """Parse the page of a pen."""
    return ElementTree.fromstring(pen.page(width=100, height=50, title=title, description="what it shows"))


def test_text_is_escaped() -> None:
    """Angle brackets, ampersands and quotes come back as they went in."""
    words = "a <b> & \"c\" 'd'"
    pen = Pen()
    pen.text(1, 2, words)
    page = read(pen, title=words)
    assert page.findtext(f"{SVG}title") == words
    assert page.findtext(f"{SVG}text") == words


def test_projections_get_their_subscript() -> None:
    """W_s is written with a smaller s, on which the rest of the line does not depend."""
    pen = Pen()
    pen.text(0, 0, "F(x) + W_s x, W_s & more")
    text = read(pen).find(f"{SVG}text")
    assert text is not None
    assert "".join(text.itertext()) == "F(x) + Ws x, Ws & more"


def test_the_page_is_a_picture_by_itself() -> None:
    """A page has its extent, its own white ground, and no script, style or identifier."""
    page = read(Pen())
    assert page.get("viewBox") == "0 0 100 50"
    ground = page.find(f"{SVG}rect")
    assert ground is not None
    assert (ground.get("width"), ground.get("fill")) == ("99", "#ffffff")
    assert {element.tag.removeprefix(SVG) for element in page.iter()} == {"svg", "title", "desc", "rect"}


def test_tones_go_by_doublings() -> None:
    """Equal widths share a tone, and the paper's four widths have four."""
    assert [tone(width, 64) for width in (64, 128, 256, 512)] == list(TONES[:4])
    assert tone(0, 64) == NEUTRAL


def test_wrapped_lines_fit() -> None:
    """Lines break between words and keep every word."""
    text = "resnet-34 shortcut=B order=pre norm=group"
    lines = wrap(text, 150, 15, bold=True)
    assert " ".join(lines) == text
    assert all(text_width(line, 15, bold=True) <= 150 for line in lines)
    assert len(lines) > 1
