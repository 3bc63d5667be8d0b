"""Pages of whole networks: every network draws, well-formed, in words, and within its page."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from reslab.drawing import columns, draw_networks
from reslab.errors import UserError
from reslab.networks.cost import Cost
from reslab.spec import find, list_models

SVG = "{http://www.w3.org/2000/svg}"


def read_texts(svg: str) -> list[str]:
    """Return every line of text on a page."""
    return ["".join(element.itertext()) for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def find_extents(svg: str) -> Iterator[tuple[float, float, float, float]]:
    """Yield the extent of each box and the anchor of each text."""
    for element in ElementTree.fromstring(svg).iter():
        if element.tag == f"{SVG}rect":
            x, y, width, height = (float(element.get(key, "")) for key in ("x", "y", "width", "height"))
            yield x, y, x + width, y + height
        elif element.tag == f"{SVG}text":
            x, y = float(element.get("x", "")), float(element.get("y", ""))
            yield x, y, x, y


@pytest.mark.parametrize("name", list_models())
def test_every_network_draws(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each name gives a well-formed picture that stays on its page and bears the name."""
    cost = Cost(input_shape=(), params=1, multiply_adds=1, activation_bytes=0, layers=())
    monkeypatch.setattr(columns, "measure_cost", lambda spec: cost)  # seconds at 1,202 layers, and tested elsewhere
    svg = draw_networks([find(name)])
    page = ElementTree.fromstring(svg)
    width, height = float(page.get("width", "")), float(page.get("height", ""))
    for left, top, right, bottom in find_extents(svg):
        assert left >= 0 <= top
        assert right <= width
        assert bottom <= height
    assert page.findtext(f"{SVG}title") == name
    assert name in read_texts(svg)


@pytest.mark.parametrize(
    ("name", "shortcut", "told"),
    [
        ("plain-18", "none", set()),
        ("resnet-18", "A", {"identity", "zero padding"}),
        ("resnet-18", "B", {"identity", "projection"}),
        ("resnet-18", "C", {"projection"}),
        ("gated-resnet-18", "gated", {"identity", "projection", "gate"}),
    ],
)
def test_the_legend_tells_the_kinds_in_use(name: str, shortcut: str, told: set[str]) -> None:
    """Each kind of shortcut on the page is told in words, and no other."""
    texts = read_texts(draw_networks([find(name, {"shortcut": shortcut})]))
    openings = {"identity": "identity shortcut", "zero padding": "zero padding:", "projection": "projection Ws"}
    openings["gate"] = "gate T(x):"
    assert {kind for kind, opening in openings.items() if any(text.startswith(opening) for text in texts)} == told


@pytest.mark.parametrize(
    ("shortcut", "dashes"), [("A", {None, "0.1 4.2"}), ("B", {None, "6 3.5"}), ("C", {None, "6 3.5"}), ("none", {None})]
)
def test_lines_of_shortcuts(shortcut: str, dashes: set[str | None]) -> None:
    """Zero padding is dotted and a projection dashed; the lines between layers are solid."""
    page = ElementTree.fromstring(draw_networks([find("resnet-34", {"shortcut": shortcut})]))
    assert {path.get("stroke-dasharray") for path in page.iter(f"{SVG}path")} == dashes


def test_gates_are_marked() -> None:
    """Each gated shortcut bears its T(x), and so does the legend."""
    assert read_texts(draw_networks([find("gated-resnet-18")])).count("T(x)") == 8 + 1


def test_columns_side_by_side() -> None:
    """Fig. 3 is one picture of three columns, each under its name."""
    texts = read_texts(draw_networks([find(name) for name in ("vgg-19", "plain-34", "resnet-34")]))
    assert {"vgg-19", "plain-34", "resnet-34", "19.6G multiply-adds", "3.64G multiply-adds"} <= set(texts)
    assert texts.count("output size: 112") == 1
    assert texts.count("fc 1000") == 3


def test_mistakes_are_told_in_a_sentence() -> None:
    """Nothing to draw and an input too small are the user's mistakes."""
    with pytest.raises(UserError, match="at least one network"):
        draw_networks([])
    with pytest.raises(UserError, match="do not pass through"):
        draw_networks([find("alexnet", {"input_size": 8})])
