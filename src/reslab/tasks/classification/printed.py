"""What `reslab evaluate` prints of a classification: errors, calibration, the confusion matrix or the worst classes."""

from collections.abc import Mapping
from typing import Any

from reslab.numbers import count, percent
from reslab.scores import Score
from reslab.tasks.classification.scores import (
    BALANCED_ERROR,
    CALIBRATION_ERROR,
    CLASS_ERRORS,
    CONFIDENCE,
    CONFUSION,
    ERROR,
    LOSS,
    TOP5_ERROR,
    list_void,
)
from reslab.tasks.display import Printed, PrintedTable

MOST_COLUMNS = 12  # more classes do not fit side by side on a terminal
WORST = 10


class PrintedClasses(Printed):
    """Errors of networks that tell classes apart."""

    def sentences(self, found: Mapping[str, Any]) -> list[str]:
        """Say the errors, then how sure the network was."""
        shown = [score for score in self.columns(found) if score in (ERROR, TOP5_ERROR, BALANCED_ERROR)]
        errors = ", ".join(f"{score.words} {score.write(found[score.name])}" for score in shown)
        if BALANCED_ERROR in shown:
            errors += " (the mean of the class errors)"
        return [
            errors,
            f"mean confidence {CONFIDENCE.write(found[CONFIDENCE.name])}, expected calibration error "
            f"{CALIBRATION_ERROR.write(found[CALIBRATION_ERROR.name])}, "
            f"negative log-likelihood {LOSS.write(found[LOSS.name])}",
        ]

    def columns(self, found: Mapping[str, Any]) -> list[Score]:
        """Leave out five guesses that cannot all be wrong, and the balanced error where there is none."""
        absent = list_void(len(found[CLASS_ERRORS])) + (BALANCED_ERROR,) * (found[BALANCED_ERROR.name] is None)
        return [score for score in self.scores if score not in absent]

    def table(self, found: Mapping[str, Any]) -> PrintedTable:
        """Return the confusion matrix, or the worst of many classes."""
        names = list(found[CLASS_ERRORS])
        if len(names) > MOST_COLUMNS:
            return _list_worst(found)
        rows = tuple(
            (name, percent(error), *[count(guess) if guess else "·" for guess in guesses])
            for (name, error), guesses in zip(found[CLASS_ERRORS].items(), found[CONFUSION], strict=True)
        )
        return PrintedTable(title="Truth by row, guess by column", headings=("class", ERROR.heading, *names), rows=rows)


def _list_worst(found: Mapping[str, Any]) -> PrintedTable:
    names = list(found[CLASS_ERRORS])
    known = {index: error for index, error in enumerate(found[CLASS_ERRORS].values()) if error is not None}
    rows = []
    for truth in sorted(known, key=lambda index: -known[index])[:WORST]:
        row = found[CONFUSION][truth]
        mistaken = max((index for index in range(len(row)) if index != truth), key=row.__getitem__)
        taken = f"{names[mistaken]} ({row[mistaken]})" if row[mistaken] else ""
        rows.append((names[truth], percent(known[truth]), taken))
    title = f"The {WORST} worst of {len(known)} classes (--json has all)"
    return PrintedTable(title=title, headings=("class", ERROR.heading, "taken for<"), rows=tuple(rows))


PRINTED = PrintedClasses
