"""The pen: boxes, lines and words as SVG text. Nothing else here knows what SVG is.

The page is white with a thin edge, so that it reads the same on white and on dark pages. Only presentation
attributes are used: a style sheet or an id would leak into a page that holds several pictures.
"""

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

Point = tuple[float, float]

INK = "#1f2933"
FAINT_INK = "#5f6b7a"
LINE = "#4a5563"
PAPER = "#ffffff"
EDGE = "#d5dae1"
NEUTRAL = ("#f3f4f6", "#9aa3af")
ACTIVATION = ("#fff8e1", "#c9a440")
# Fill and stroke for each doubling of the width: the paper's Fig. 3 goes from 64-d to 512-d.
TONES = (
    ("#ebe6f8", "#8a73c7"),
    ("#dff2e2", "#57a067"),
    ("#fbe3e2", "#cc7370"),
    ("#dceafa", "#5089c6"),
    ("#fdefd2", "#c8983a"),
    ("#d8f1ee", "#459f95"),
    ("#f8e1f1", "#b968a4"),
    ("#ebeed7", "#8a9553"),
)
DASHES = {"solid": "", "dotted": "0.1 4.2", "dashed": "6 3.5"}
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"


def tone(width: int, narrowest: int) -> tuple[str, str]:
    """Return the fill and stroke of a layer: another for each doubling of its width, none for width 0."""
    if not width:
        return NEUTRAL
    return TONES[round(math.log2(width / narrowest)) % len(TONES)]


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Estimate how wide a line of text comes out, rather too wide than too narrow."""
    widths = (0.3 if letter in " ijlt.,:;/|()[]'f" else 0.88 if letter in "mwMW…" else 0.6 for letter in text)
    return sum(widths) * size * (1.08 if bold else 1.0)


def wrap(text: str, room: float, size: float, *, bold: bool = False) -> list[str]:
    """Break a text into lines that fit, between words only."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size, bold=bold) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


class Pen:
    """Draws onto one page; what is drawn later lies on top."""

    def __init__(self) -> None:
        self.elements: list[str] = []

    def box(
        self,
        x: float,
        y: float,
        *,
        width: float,
        height: float,
        colours: tuple[str, str] = NEUTRAL,
        radius: float = 4,
        dash: str = "solid",
    ) -> None:
        """Draw a rectangle with round corners around its centre (x, y)."""
        place = {"x": x - width / 2, "y": y - height / 2, "width": width, "height": height}
        self._add("rect", **place, rx=radius, fill=colours[0], stroke=colours[1], **_dash(dash))

    def plus(self, x: float, y: float, radius: float) -> None:
        """Draw an addition: a white circle with a plus in it."""
        self._add("circle", cx=x, cy=y, r=radius, fill=PAPER, stroke=LINE, stroke_width=1.2)
        self.line([(x - radius / 2, y), (x + radius / 2, y)])
        self.line([(x, y - radius / 2), (x, y + radius / 2)])

    def dot(self, x: float, y: float) -> None:
        """Mark where a line splits."""
        self._add("circle", cx=x, cy=y, r=2.2, fill=LINE)

    def line(self, points: Sequence[Point], *, dash: str = "solid", colour: str = LINE, weight: float = 1.2) -> None:
        """Draw a line through points, its corners rounded."""
        self._path(_rounded(points), dash=dash, colour=colour, weight=weight)

    def bulge(self, start: Point, end: Point, *, from_x: float, reach: float, dash: str) -> None:
        """Draw a line that runs right to `from_x`, bows out by `reach` and comes back at the height of `end`."""
        # A cubic curve whose inner points are both at distance d bows out by 3/4 d.
        out = from_x + reach * 4 / 3
        path = f"M{_n(start[0])} {_n(start[1])}H{_n(from_x)}C{_n(out)} {_n(start[1])} {_n(out)} {_n(end[1])} "
        self._path(f"{path}{_n(from_x)} {_n(end[1])}H{_n(end[0])}", dash=dash, colour=LINE, weight=1.3)

    def arrow(self, start: Point, end: Point, *, dash: str = "solid") -> None:
        """Draw a straight line with a head at its end."""
        self.line([start, end], dash=dash)
        self.head(start, end)

    def head(self, start: Point, end: Point) -> None:
        """Draw the arrowhead of a line that ends at `end`, coming from `start`."""
        length = math.dist(start, end)
        along = ((end[0] - start[0]) / length, (end[1] - start[1]) / length)
        base = (end[0] - 6 * along[0], end[1] - 6 * along[1])
        sides = [(base[0] - side * along[1], base[1] + side * along[0]) for side in (3, -3)]
        self._add("polygon", points=" ".join(f"{_n(x)},{_n(y)}" for x, y in (end, *sides)), fill=LINE)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 12,
        anchor: str = "middle",
        colour: str = INK,
        bold: bool = False,
        italic: bool = False,
    ) -> None:
        """Write one line of text, centred on the height y; W_s comes out with its subscript."""
        if not text:
            return
        below = f'<tspan dy="{_n(size * 0.22)}" font-size="{_n(size * 0.72)}">s</tspan><tspan dy="{_n(-size * 0.22)}">'
        parts = [escape(part) for part in text.split("W_s")]
        content = f"W{below}".join(parts) + "</tspan>" * (len(parts) - 1)
        style = {"font_weight": "600"} if bold else {}
        style |= {"font_style": "italic"} if italic else {}
        self._add("text", content, x=x, y=y + size * 0.35, font_size=size, text_anchor=anchor, fill=colour, **style)

    def page(self, *, width: float, height: float, title: str, description: str) -> str:
        """Return the whole picture."""
        sheet = Pen()
        sheet.box(width / 2, height / 2, width=width - 1, height=height - 1, colours=(PAPER, EDGE), radius=10)
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(width)} {_n(height)}" '
            f'width="{_n(width)}" height="{_n(height)}" role="img" font-family="{FONT}">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(description)}</desc>",
            *sheet.elements,
            *self.elements,
            "</svg>",
        ]
        return "\n".join(lines) + "\n"

    def _path(self, path: str, *, dash: str, colour: str, weight: float) -> None:
        self._add("path", d=path, fill="none", stroke=colour, stroke_width=weight, **_dash(dash))

    def _add(self, tag: str, content: str = "", **attributes: float | str) -> None:
        written = " ".join(
            f"{name.replace('_', '-')}={quoteattr(value if isinstance(value, str) else _n(value))}"
            for name, value in attributes.items()
        )
        self.elements.append(f"<{tag} {written}>{content}</{tag}>" if content else f"<{tag} {written}/>")


def _dash(dash: str) -> dict[str, str]:
    return {"stroke_dasharray": DASHES[dash], "stroke_linecap": "round"} if DASHES[dash] else {}


def _rounded(points: Sequence[Point], radius: float = 7) -> str:
    path = f"M{_n(points[0][0])} {_n(points[0][1])}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        start, end = _towards(corner, before, radius), _towards(corner, after, radius)
        path += f"L{_n(start[0])} {_n(start[1])}Q{_n(corner[0])} {_n(corner[1])} {_n(end[0])} {_n(end[1])}"
    return path + f"L{_n(points[-1][0])} {_n(points[-1][1])}"


def _towards(start: Point, end: Point, distance: float) -> Point:
    share = min(0.5, distance / math.dist(start, end))
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
