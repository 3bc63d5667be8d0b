"""The records of transfer: on which photographs, by which command, where; and how a section cites them."""

from __future__ import annotations

import json
import shlex
import statistics
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reslab.numbers import count, duration
from reslab.report.groups import spread
from reslab.report.notation import short_commit, spread_words
from reslab.tasks.classification.scores import ERROR
from tools import RESULTS
from tools.questions.asked import fold

TRANSFER = RESULTS / "transfer"
WIDEST = 120
Data = Mapping[str, Any]  # a record, or a part of one


@dataclass(frozen=True)
class Photographs:
    """What is transferred to: how its folder's name begins, its own name, the word for it in commands."""

    folder: str
    words: str
    given: str

    @property
    def saved(self) -> str:
        """The folder that `given` becomes."""
        return self.given.replace(":", "-")


ANTS_BEES = Photographs("ants-bees", "Ants and bees", "ants-bees")
IMAGENETTE = Photographs("imagenette", "Imagenette, from ImageNet itself", "imagenette-160")
CIFAR = Photographs("cifar10", "CIFAR-10 at 224×224", "cifar10:100")


@dataclass(frozen=True)
class Kept:
    """A file of `results/transfer`."""

    name: str
    data: Data

    @property
    def command(self) -> str:
        """What was typed, as it is typed from the repository's root."""
        command = self.data["command"]
        return f"python benchmarks/{command}" if shlex.split(command)[0].endswith(".py") else command

    @property
    def cited(self) -> str:
        """Its link, commit, machine and time."""
        torch = f"torch {self.data['versions']['torch']}"
        machine = self.data.get("about") or f"{self.data['device']}, {self.data['machine']['cores']} cores, {torch}"
        where = f"[{self.name}](../../results/transfer/{self.name})"
        commit = f"commit {short_commit(self.data['commit'])}"
        return f"{where}: {commit}, {self.data['started'][:10]}, {machine}; {duration(self.data['seconds'])} in all."


def read(kind: str) -> list[Kept]:
    """Return the records whose names begin so, in their order."""
    paths = sorted(TRANSFER.glob(f"{kind}*.json"))
    return [Kept(path.name, json.loads(path.read_text(encoding="utf-8"))) for path in paths]


def sort_by_data(
    told: Sequence[tuple[Kept, str]], known: Sequence[Photographs]
) -> Iterator[tuple[Photographs, list[tuple[Kept, str]]]]:
    """Yield photographs with the records that tell of folders of theirs: those that should be there, then others."""
    left = list(told)
    for about in known:
        yield about, [(kept, name) for kept, name in left if name.startswith(about.folder)]
        left = [(kept, name) for kept, name in left if not name.startswith(about.folder)]
    for kept, name in left:
        yield Photographs(name, name, name), [(kept, name)]


def name_images(about: Photographs, kept: Kept, name: str) -> str:
    """Name photographs with their numbers: Ants and bees, 243 for training and 153 for the test."""
    images = kept.data["images"][name] if name in kept.data["images"] else kept.data["images"]
    return f"{about.words}: {count(images['train'])} for training, {count(images['test'])} for the test"


def cite(records: Iterable[Kept], missing: Sequence[str]) -> list[str]:
    """Write the commands of records with what they ran on, and those of what is not run."""
    parts = []
    if records := list(records):
        parts += [write_block([kept.command for kept in records])]
        parts += ["\n".join(_fold_item(f"- {kept.cited}") for kept in records)]
    if missing:
        parts += ["Not run:", write_block(missing)]
    return parts


def write_block(commands: Iterable[str]) -> str:
    """Write commands, each once; what is written to a file stays with its name."""
    kept_together = (command.replace("> ", ">\0").replace("--json ", "--json\0") for command in commands)
    return "\n".join(["```", *map(fold, dict.fromkeys(kept_together)), "```"])


def fold_prose(text: str) -> str:
    """Fold a paragraph, but break no link."""
    return textwrap.fill(text, WIDEST, break_long_words=False, break_on_hyphens=False)


def list_items(sentences: Iterable[str]) -> str:
    """Write sentences as a list."""
    return "\n".join(_fold_item(f"- {sentence}") for sentence in sentences)


def _fold_item(text: str) -> str:
    return textwrap.fill(text, WIDEST, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def mean(outcomes: Iterable[Data], name: str = ERROR.name) -> float:
    """Return the mean over seeds."""
    return statistics.fmean(outcome[name] for outcome in outcomes)


def tell(outcomes: Sequence[Data], name: str = ERROR.name) -> str:
    """Write mean, deviation and number of seeds: 5.01 ± 0.38 (3)."""
    return f"{spread_words(spread([outcome[name] for outcome in outcomes]))} ({len(outcomes)})"
