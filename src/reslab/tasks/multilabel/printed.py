"""What `reslab evaluate` prints of labels: the mean average precision, images with a label wrong, each label's."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reslab.numbers import count, percent
from reslab.scores import Score
from reslab.tasks.display import Printed, PrintedTable
from reslab.tasks.multilabel.scores import ERROR, LOSS, MEAN_PRECISION, POSITIVES, PRECISIONS

MOST_ROWS = 40


class PrintedLabels(Printed):
    """Precision of networks that tell any number of labels."""

    def sentences(self, found: Mapping[str, Any]) -> list[str]:
        """Say all in one."""
        precision, wrong, loss = (score.write(found[score.name]) for score in (MEAN_PRECISION, ERROR, LOSS))
        return [f"mAP {precision}, any label wrong for {wrong} of the images, cross-entropy {loss}"]

    def columns(self, found: Mapping[str, Any]) -> list[Score]:
        """Let the precision come first."""
        del found
        return [MEAN_PRECISION, replace(ERROR, words="any label wrong"), LOSS]

    def table(self, found: Mapping[str, Any]) -> PrintedTable:
        """Return every label, or the worst; one that no image has says nothing."""
        known = {name: one for name, one in found[PRECISIONS].items() if one is not None}
        names, title = list(known), ""
        if len(names) > MOST_ROWS:
            names = sorted(names, key=known.__getitem__)[:MOST_ROWS]
            title = f"The {MOST_ROWS} worst of {len(known)} classes (--json has all)"
        rows = tuple((name, count(found[POSITIVES][name]), percent(known[name])) for name in names)
        return PrintedTable(title=title, headings=("class", "images", "average precision %"), rows=rows)


PRINTED = PrintedLabels
