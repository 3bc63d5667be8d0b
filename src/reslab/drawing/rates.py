"""The plot of a learning-rate range test: losses over rates, the rates by powers of ten."""

import math
from collections.abc import Sequence

from reslab.drawing.svg import EDGE, FAINT_INK, TONES, Pen, Point

WIDTH, HEIGHT = 640.0, 400.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 616.0, 64.0, 340.0
TICKS = 5  # of the loss
CEILING = 1.5  # times the loss at the beginning: what explodes leaves the picture


def draw_rates(
    rates: Sequence[float], losses: Sequence[float], *, smoothed: Sequence[float], suggested: float | None, title: str
) -> str:
    """Draw each loss as a dot and their average as a line; a dashed line stands at the suggested rate."""
    pen, (_, ours) = Pen(), TONES[3]
    first, last = math.log10(rates[0]), math.log10(rates[-1])
    low = min(*losses, *smoothed)
    high = max(low + 1e-9, min(max(losses), CEILING * max(smoothed[0], smoothed[len(smoothed) // 2])))

    def place(rate: float, loss: float) -> Point:
        x = LEFT + (RIGHT - LEFT) * (math.log10(rate) - first) / (last - first)
        return x, BOTTOM - (BOTTOM - TOP) * (loss - low) / (high - low)

    pen.text(WIDTH / 2, 28, title, size=15, bold=True)
    for number in range(TICKS + 1):
        loss = low + (high - low) * number / TICKS
        _, y = place(rates[0], loss)
        pen.line([(LEFT, y), (RIGHT, y)], colour=EDGE, weight=0.8)
        pen.text(LEFT - 8, y, f"{loss:.2f}", size=11, anchor="end", colour=FAINT_INK)
    for power in range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1):
        x, _ = place(10.0**power, low)
        pen.line([(x, BOTTOM), (x, BOTTOM + 5)], colour=FAINT_INK)
        pen.text(x, BOTTOM + 16, f"{10.0**power:g}", size=11, colour=FAINT_INK)
    pen.text((LEFT + RIGHT) / 2, HEIGHT - 18, "learning rate", size=12)
    pen.text(LEFT - 8, TOP - 16, "loss", size=12, anchor="end")
    if suggested is not None and rates[0] <= suggested <= rates[-1]:
        x, _ = place(suggested, low)
        pen.line([(x, BOTTOM), (x, TOP)], dash="dashed")
        pen.text(x, TOP - 12, f"{suggested:g}", size=12, bold=True)
    for rate, loss in zip(rates, losses, strict=True):
        if loss <= high:
            pen.dot(*place(rate, loss))
    shown = [place(rate, loss) for rate, loss in zip(rates, smoothed, strict=True) if loss <= high]
    pen.line(shown, colour=ours, weight=2.2)
    told = "no rate lowers the loss" if suggested is None else f"the suggested rate is {suggested:g}"
    return pen.page(width=WIDTH, height=HEIGHT, title=title, description=f"{len(rates)} iterations; {told}")
