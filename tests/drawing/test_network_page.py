"""Pages of whole networks: every network draws, well-formed, in words, and within its page.

Equal map sizes stand at equal heights, and nothing on top of anything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from reslab.drawing import columns, draw_networks
from reslab.drawing.columns import make_column
from reslab.drawing.network_page import BOX_HEIGHT, Place, place_columns
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


def place(*names: str) -> list[Place]:
    """Place named networks side by side."""
    return place_columns([make_column(find(name)) for name in names])


def starts(placed: Place) -> dict[str, float]:
    """Return the height at which each map size begins."""
    heights: dict[str, float] = {}
    for box, top in zip(placed.column.boxes, placed.tops, strict=True):
        heights.setdefault(box.size, top)
    return heights


def test_equal_sizes_begin_at_equal_heights() -> None:
    """VGG-19, plain-34 and ResNet-34 stand as in Fig. 3."""
    vgg, plain, resnet = place("vgg-19", "plain-34", "resnet-34")
    assert plain.tops == resnet.tops
    shared = starts(vgg).keys() & starts(plain).keys()
    assert len(shared) == 6
    assert all(starts(vgg)[size] == starts(plain)[size] for size in shared)


def test_a_size_is_noted_once_where_neighbours_share_it() -> None:
    """The note on a size stands beside the leftmost of the columns it holds for."""
    vgg, plain, _ = place("vgg-19", "plain-34", "resnet-34")
    assert [note for note in vgg.notes if note] == [f"output size: {size}" for size in (224, 112, 56, 28, 14, 7, 1)]
    assert not any(plain.notes)


@pytest.mark.parametrize(
    "names",
    [
        ("vgg-19", "plain-34", "resnet-34"),
        ("resnet-50-v1.5", "resnet-152", "gated-resnet-34"),
        ("resnet-110", "highway-19", "lenet-5", "dense-resnet-8"),
        ("alexnet", "googlenet", "vit-b-16"),
    ],
)
def test_boxes_do_not_overlap(names: tuple[str, ...]) -> None:
    """Boxes follow each other downwards with room between, and columns follow each other to the right."""
    placed = place(*names)
    for column in placed:
        assert all(below - above > BOX_HEIGHT for above, below in pairwise(column.tops))
        assert column.left <= column.x - column.box_width / 2
        assert column.x + column.box_width / 2 <= column.right
    assert all(one.right < other.left for one, other in pairwise(placed))


def test_blocks_are_never_pulled_apart() -> None:
    """Where the map halves inside a block, the block moves as a whole."""
    bottleneck, deeper = place("resnet-50-v1.5", "resnet-152")
    assert starts(bottleneck) == starts(deeper)
    tops = iter(bottleneck.tops)
    for step in bottleneck.column.steps:
        heights = [next(tops) for _ in step.boxes]
        assert all(below - above < 2 * BOX_HEIGHT for above, below in pairwise(heights))


def test_columns_that_cannot_be_aligned_stand_for_themselves() -> None:
    """VGG's last pool enlarges a map of 1 to 7, where another network goes from 7 to 1: neither moves the other."""
    enlarging = make_column(find("vgg-16", {"input_size": 32}))
    shrinking = make_column(find("resnet-20", {"stem.stride": 5}))
    placed = place_columns([enlarging, shrinking])
    assert [one.tops for one in placed] == [place_columns([column])[0].tops for column in (enlarging, shrinking)]


def test_networks_of_different_inputs_are_not_aligned() -> None:
    """A CIFAR network beside an ImageNet network starts at the top."""
    imagenet, cifar = place("resnet-34", "resnet-20")
    assert imagenet.tops[0] == cifar.tops[0]
    assert cifar.tops == place("resnet-20")[0].tops
