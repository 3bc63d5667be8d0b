"""The plot of a learning-rate range test."""

from __future__ import annotations

from xml.etree import ElementTree

from reslab.drawing.rates import BOTTOM, LEFT, RIGHT, TOP, draw_rates

SVG = "{http://www.w3.org/2000/svg}"
RATES = [10.0**power for power in range(-4, 2)]
LOSSES = [2.0, 2.0, 1.0, 0.5, 1.5, 80.0]


def draw(suggested: float | None) -> ElementTree.Element:
    return ElementTree.fromstring(draw_rates(RATES, LOSSES, smoothed=LOSSES, suggested=suggested, title="of <a> net"))


def test_losses_stand_over_their_rates_and_the_suggested_one_is_marked() -> None:
    """By powers of ten; what explodes is left out, and nothing leaves the picture."""
    page = draw(0.001)
    dots = [(float(dot.get("cx", 0)), float(dot.get("cy", 0))) for dot in page.iter(f"{SVG}circle")]
    assert [x for x, _ in dots] == [LEFT + (RIGHT - LEFT) * number / 5 for number in range(5)]
    assert max(dots, key=lambda dot: dot[1]) == (dots[3][0], BOTTOM)
    assert all(TOP <= y <= BOTTOM for _, y in dots)
    words = [text.text for text in page.iter(f"{SVG}text")]
    assert {"of <a> net", "learning rate", "loss", "0.0001", "10"} <= set(words)
    assert words.count("0.001") == 2  # at the axis, and at its line
    assert page.findtext(f"{SVG}desc") == "6 iterations; the suggested rate is 0.001"


def test_no_rate_need_be_suggested() -> None:
    """The plot says so, and marks none."""
    page = draw(None)
    assert page.findtext(f"{SVG}desc") == "6 iterations; no rate lowers the loss"
    assert not any(path.get("stroke-dasharray") for path in page.iter(f"{SVG}path"))
