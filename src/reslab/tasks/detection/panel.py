"""What pages show of detections: precision of each class and size, curves, intervals; and whether these agree."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from reslab.errors import UserError
from reslab.numbers import count, percent
from reslab.scores import Score
from reslab.spec.codec import convert
from reslab.tasks.detection.scores import (
    CURVES,
    INTERVALS,
    MAP,
    MAP50,
    OBJECTS,
    PRECISIONS,
    PRECISIONS_50,
    SIZES,
)
from reslab.tasks.display import Cell, Panel, Plot, Section

Curve = tuple[float, ...]


@dataclass(frozen=True)
class DetectionPanel(Panel):
    """The objects of each class with its average precision, None where there are none, and its curve."""

    class_names: tuple[str, ...] = ()
    objects: tuple[int, ...] = ()
    precisions_50: tuple[float | None, ...] = ()
    precisions: tuple[float | None, ...] = ()
    curves: tuple[Curve | None, ...] = ()
    intervals: tuple[tuple[Score, Curve], ...] = ()
    sizes: tuple[tuple[str, float | None, float | None], ...] = ()

    @classmethod
    def read(cls, result: Mapping[str, Any]) -> Self:
        """Read a result."""
        objects = convert(tuple[int, ...], result.get(OBJECTS, ()), where=OBJECTS)
        precisions_50 = convert(tuple[float | None, ...], result.get(PRECISIONS_50, ()), where=PRECISIONS_50)
        precisions = convert(tuple[float | None, ...], result.get(PRECISIONS, ()), where=PRECISIONS)
        curves = convert(tuple[Curve | None, ...], result.get(CURVES, ()), where=CURVES)
        if len({len(objects), len(precisions_50), len(precisions), len(curves)}) > 1:
            raise UserError("its precisions, curves and object counts have different numbers of classes")
        if len({len(curve) for curve in curves if curve is not None} - {0}) > 1:
            raise UserError("its precision-recall curves have different numbers of points")
        return cls(
            num_classes=len(objects),
            class_names=tuple(result.get("class_names", ())) or tuple(map(str, range(len(objects)))),
            objects=objects,
            precisions_50=precisions_50,
            precisions=precisions,
            curves=curves,
            intervals=tuple(
                (score, convert(tuple[float, ...], result[name], where=name))
                for score, name in INTERVALS.items()
                if name in result
            ),
            sizes=tuple(
                (size, _read_number(result, precision.name), _read_number(result, recall.name))
                for size, precision, recall in SIZES
                if precision.name in result
            ),
        )

    def recount(self, values: Mapping[str, float | None]) -> Iterator[tuple[str, float, float]]:
        """Yield the mean precisions with what the classes' come to."""
        for score, precisions in ((MAP50, self.precisions_50), (MAP, self.precisions)):
            known = [precision for precision in precisions if precision is not None]
            if (said := values.get(score.name)) is not None and known:
                yield score.name, said, statistics.fmean(known)

    def sections(self) -> Sequence[Section]:
        """Return the precision of each class beside the curves, and that of each size."""
        if not self.objects:
            return ()
        return (self._show_classes(), self._show_sizes()) if self.sizes else (self._show_classes(),)

    def _show_classes(self) -> Section:
        rows = tuple(
            (name, (Cell(objects, count(objects)), Cell(loose, percent(loose), 100.0), Cell(mean, percent(mean))))
            for name, objects, loose, mean in zip(
                self.class_names, self.objects, self.precisions_50, self.precisions, strict=False
            )
        )
        note = "A detection is right if it overlaps an object of its class that is not found yet. AP@.5 asks for an "
        note += "intersection of half their union (VOC’s area rule); AP@[.5,.95] is COCO’s mean over ten overlaps. "
        told = [f"{score.words} {_tell(ends)}" for score, ends in self.intervals if len(ends) == 2]
        if told:
            note += f"95 % intervals over test images: {', '.join(told)}."
        return Section(
            title="Classes",
            table_title="Average precision of each class",
            words="Average precision of each class",
            headings=(("class", ""), ("objects", ""), ("AP@.5", "%"), ("AP@[.5,.95]", "%")),
            rows=rows,
            plots=self._plot(),
            note=note.strip(),
        )

    def _show_sizes(self) -> Section:
        return Section(
            title="Sizes of objects",
            note="Small objects have less than 32² pixels, large ones more than 96². "
            "Both are means over ten overlaps; recall is with at most 100 detections of a class in an image.",
            words="Average precision and recall of objects of each size",
            headings=(("size", ""), ("mAP", "%"), ("recall", "%")),
            rows=tuple(
                (size, (Cell(precision, percent(precision)), Cell(recall, percent(recall))))
                for size, precision, recall in self.sizes
            ),
        )

    def _plot(self) -> tuple[Plot, ...]:
        known = [(name, curve) for name, curve in zip(self.class_names, self.curves, strict=False) if curve]
        if not known:
            return ()
        content = {
            "mean": [round(statistics.fmean(values), 4) for values in zip(*(curve for _, curve in known), strict=True)],
            "lines": [{"name": name, "precision": _end(curve)} for name, curve in known],
        }
        words = "Precision against recall: a line for each class, and the mean over classes"
        note = "At an overlap of .5. Thin lines are classes, and end where no more objects are found; "
        note += "the thick line is their mean."
        return (Plot("precision", "precision", "Precision and recall", content, words=words, note=note),)


def _read_number(result: Mapping[str, Any], name: str) -> float | None:
    return convert(float | None, result.get(name), where=name)


def _tell(ends: Curve) -> str:
    return f"{ends[0]:.2f} to {ends[1]:.2f} %"


def _end(curve: Curve) -> list[float | None]:
    """Return a curve without the zeros it ends with."""
    last = max((place for place, value in enumerate(curve) if value), default=-1)
    return [value if place <= last else None for place, value in enumerate(curve)]


PANEL = DetectionPanel
