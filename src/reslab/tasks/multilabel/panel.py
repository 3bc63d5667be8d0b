"""What pages show of labels: the average precision of each; and whether these agree with their mean."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from reslab.errors import UserError
from reslab.numbers import count, percent
from reslab.spec.codec import convert
from reslab.tasks.display import Cell, Panel, Section
from reslab.tasks.multilabel.scores import MEAN_PRECISION, POSITIVES, PRECISIONS


@dataclass(frozen=True)
class LabelPanel(Panel):
    """The images that have each label and its average precision, None where no image has it."""

    class_names: tuple[str, ...] = ()
    positives: tuple[int, ...] = ()
    precisions: tuple[float | None, ...] = ()

    @classmethod
    def read(cls, result: Mapping[str, Any]) -> Self:
        """Read a result."""
        positives = convert(tuple[int, ...], result.get(POSITIVES, ()), where=POSITIVES)
        precisions = convert(tuple[float | None, ...], result.get(PRECISIONS, ()), where=PRECISIONS)
        if len(positives) != len(precisions):
            raise UserError("its precisions and its image counts have different numbers of classes")
        return cls(len(positives), tuple(result.get("class_names", ())), positives, precisions)

    def recount(self, values: Mapping[str, float | None]) -> Iterator[tuple[str, float, float]]:
        """Yield the mean precision with what the labels' come to."""
        precisions = [precision for precision in self.precisions if precision is not None]
        if (said := values.get(MEAN_PRECISION.name)) is not None and precisions:
            yield MEAN_PRECISION.name, said, statistics.fmean(precisions)

    def sections(self) -> Sequence[Section]:
        """Return the precision of each label."""
        if not self.positives:
            return ()
        rows = tuple(
            (name, (Cell(images, count(images)), Cell(precision, percent(precision))))
            for name, images, precision in zip(self.class_names, self.positives, self.precisions, strict=False)
        )
        section = Section(
            title="Labels",
            note="An image may have several labels. It counts as wrong if any of them is wrong. "
            "The mean of the average precisions is the mAP.",
            words="Average precision of each label",
            headings=(("label", ""), ("images", ""), ("average precision", "%")),
            rows=rows,
        )
        return (section,)


PANEL = LabelPanel
