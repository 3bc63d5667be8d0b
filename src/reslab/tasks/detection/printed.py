"""What `reslab evaluate` prints of detections: mean average precision with its interval, by size, each class's."""

from collections.abc import Mapping
from typing import Any

from reslab.numbers import count, percent
from reslab.scores import Score
from reslab.tasks.detection.scores import (
    BIG,
    ELEVEN,
    INTERVALS,
    MAP,
    MAP50,
    MAP75,
    MEDIUM,
    OBJECTS,
    PRECISIONS,
    PRECISIONS_50,
    SMALL,
)
from reslab.tasks.display import Printed, PrintedTable

MOST_ROWS = 40


class PrintedDetections(Printed):
    """Precision of networks that find objects."""

    def sentences(self, found: Mapping[str, Any]) -> list[str]:
        """Say the precision as VOC and COCO take it, then how sure that is."""
        told = [f"{score.words} {score.write(found[score.name])}" for score in self.columns(found)]
        if found.get(ELEVEN.name) is not None:
            told.append(f"{ELEVEN.words} {ELEVEN.write(found[ELEVEN.name])}")
        ends = [(score, found[name]) for score, name in INTERVALS.items() if name in found]
        intervals = [f"{score.words} {low:.2f} to {high:.2f} %" for score, (low, high) in ends]
        sure = [f"95 % intervals over the images: {', '.join(intervals)}"] if intervals else []
        return [", ".join(told), *sure]

    def columns(self, found: Mapping[str, Any]) -> list[Score]:
        """Leave out sizes without objects."""
        shown = (MAP50, MAP, MAP75, SMALL, MEDIUM, BIG)
        return [score for score in shown if found.get(score.name) is not None]

    def table(self, found: Mapping[str, Any]) -> PrintedTable:
        """Return every class, or the worst; one without objects says nothing."""
        known = {name: one for name, one in found[PRECISIONS_50].items() if one is not None}
        names, title = list(known), ""
        if len(names) > MOST_ROWS:
            names = sorted(names, key=known.__getitem__)[:MOST_ROWS]
            title = f"The {MOST_ROWS} worst of {len(known)} classes (--json has all)"
        rows = tuple(
            (name, count(found[OBJECTS][name]), percent(known[name]), percent(found[PRECISIONS][name]))
            for name in names
        )
        return PrintedTable(title=title, headings=("class", "objects", "AP@.5 %", "AP@[.5,.95] %"), rows=rows)


PRINTED = PrintedDetections
