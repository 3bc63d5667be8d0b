"""What a task's numbers are: their names in logs and results, how tables call them, which way is better.

A task's scores stand in `tasks/<task>/scores.py`, the headline first. A result may bring that along. So logs, lists,
charts and pages show scores, and know none by name.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

Part: TypeAlias = Literal["train", "test"]
PARTS: dict[Part, str] = {"train": "training", "test": "test"}  # in words


@dataclass(frozen=True, kw_only=True)
class Score:
    """A number that says how good a network is.

    Logs have it of each part in `logged`, under the part's name and its own; lists of runs show it, or the page of a
    run alone, or only an evaluation. `meaning` says in a few words what it counts, where its name does not. `interval`
    is the name in results of the two ends of its 95 % interval over test images, where there is one.
    """

    name: str
    words: str
    unit: str = "%"
    better: Literal["lower", "higher"] = "lower"
    decimals: int = 2
    logged: tuple[Part, ...] = ()
    shown: Literal["lists", "page", "evaluation"] = "page"
    meaning: str = ""
    interval: str = ""

    @property
    def heading(self) -> str:
        """What stands above a column of it: error %."""
        return f"{self.words} {self.unit}".rstrip()

    @property
    def axis(self) -> str:
        """What stands beside an axis of it: error (%)."""
        return f"{self.words} ({self.unit})" if self.unit else self.words

    @property
    def title(self) -> str:
        """What stands above a chart of it."""
        return self.words.capitalize() if self.words.islower() else self.words

    @property
    def columns(self) -> dict[str, str]:
        """Under which names a result has it, training before test where it has both, and what stands above each."""
        if "train" not in self.logged:
            return {self.name: self.heading}
        return {self.key(part): f"{words} {self.heading}" for part, words in PARTS.items()}

    def key(self, part: Part) -> str:
        """Return its name in the log, of training or of test."""
        return f"{part}_{self.name}"

    def write(self, value: float | None, *, decimals: int | None = None) -> str:
        """Write a value with its unit: 8.75 %."""
        digits = self.decimals if decimals is None else decimals
        return "" if value is None else f"{value:.{digits}f} {self.unit}".rstrip()


def list_columns(scores: Iterable[Score]) -> dict[str, str]:
    """Return what lists of runs show: the names in results, and what stands above each."""
    return {name: words for score in scores if score.shown == "lists" for name, words in score.columns.items()}


def list_spare(tasks: Iterable[Sequence[Score]]) -> list[str]:
    """Return what stands above columns a narrow list does without: all but the test of each headline."""
    by_task = dict.fromkeys(map(tuple, tasks))
    kept = {list(scores[0].columns.values())[-1] for scores in by_task}
    shown = list_columns(score for scores in by_task for score in scores)
    return [heading for heading in shown.values() if heading not in kept]


def describe_scores(scores: Iterable[Score]) -> list[dict[str, Any]]:
    """Return scores as plain data, for a result to bring along."""
    return [asdict(score) for score in scores]
