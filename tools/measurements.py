"""Write docs/paper/measurements.md and draw its figures: part of `make results`, or `python -m tools.measurements`.

What was measured has its answer, its figure, its command and links to its records; what was not reads "not run".
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from reslab.files import write_text
from reslab.report.figures import STYLE, write_svg
from reslab.report.groups import group_runs
from reslab.report.records import RunRecord, read_records
from tools import REPOSITORY, RESULTS
from tools.questions import convergence, curvature, gradients, identity, landscape, lesions, responses, shortcuts
from tools.questions.asked import Later, fold
from tools.questions.question import Beside, Material, Question

DOCS = REPOSITORY / "docs"
PAGE = DOCS / "paper" / "measurements.md"
PICTURES = DOCS / "pictures"
WIDEST = 120
QUESTIONS: tuple[Question, ...] = tuple(
    module.QUESTION
    for module in (responses, gradients, lesions, identity, shortcuts, convergence, landscape, curvature)
)
ABOUT = """\
# What the measurements say

Why residual nets train, asked of networks that are trained on CIFAR-10: the [weights that ship](models.md) and the
[runs](runs.md). Numbers are read off the records, in tables and sentences alike. What no record shows reads *not run*,
with its command. [Instruments](../how-to/analyze.md) have a page each. `reslab report` writes such a page for your own
runs. In the figures plain networks are dashed, and a plain network and its residual twin have one colour. *Small runs
on digits* are of the 8×8 digits that come with the package, minutes on one CPU core each: signs, not proof."""


def main() -> None:
    """Draw every figure whose question was measured."""
    for name, drawing in draw_figures(read_records(RESULTS)[0]).items():
        write_text(PICTURES / f"{name}.svg", drawing)


def draw_figures(records: Sequence[RunRecord]) -> dict[str, str]:
    """Return the figures as SVG, by their names."""
    from matplotlib import style

    with style.context(["default", STYLE]):
        return {one.figure: write_svg(one.draw(collect(one, records))) for one in QUESTIONS if one.run and one.draw}


def collect(question: Question, records: Sequence[RunRecord]) -> Material:
    """Return what there is to answer a question."""
    groups = group_runs([record for record in records if record.trial.data.name == "cifar10"])
    return Material(question.asked, {group.label: group for group in groups})


def write_page(records: Sequence[RunRecord]) -> str:
    """Return the page."""
    parts = [ABOUT]
    for question in QUESTIONS:
        parts += [f"## {question.title}", *_write_answer(question, collect(question, records))]
    later = [(question, one) for question in QUESTIONS for one in question.later]
    parts += ["## Not run", *[_write_later(question, one) for question, one in later]]
    return "\n\n".join(parts) + "\n"


def _write_answer(question: Question, material: Material) -> list[str]:
    commands = [asked.command for asked in question.asked] + [*question.commands]
    block = "\n".join(["```", *commands, "```"])
    if not question.run:
        return ["Not run.", block]
    answer = question.tell(material)
    records = [*(f"{asked.links}." for asked in question.asked), *question.records]
    parts = [
        _fold(answer.found),
        _fold(f"How sure: {answer.sure}"),
        f"![{question.caption}](../pictures/{question.figure}.svg)",
        answer.table,
        block,
        _fold(f"Records: {' '.join(records)}"),
        *(_write_beside(question.beside) if question.beside else []),
    ]
    return [part for part in parts if part]


def _write_beside(beside: Beside) -> list[str]:
    answer = beside.tell()
    paths = [run.path.relative_to(REPOSITORY).as_posix() for run in beside.runs()]
    links = ", ".join(f"[{Path(path).name}](../../{path})" for path in paths)
    return [
        f"### Small runs on digits: {beside.title}",
        _fold(answer.found),
        _fold(f"How sure: {answer.sure}"),
        answer.table,
        "\n".join(["```", *map(fold, beside.commands), "```"]),
        _fold(f"Records: {links}."),
    ]


def _write_later(question: Question, later: Later) -> str:
    assert not later.run, f"{later.what} is measured: let tools/questions/{question.name}.py tell it"
    return "\n".join([_fold(f"Not run: {question.name}, {later.what}."), "", "```", *map(fold, later.commands), "```"])


def _fold(text: str) -> str:
    """Fold prose, line by line, but break no link."""
    return "\n".join(
        textwrap.fill(line, WIDEST, break_long_words=False, break_on_hyphens=False) for line in text.splitlines()
    )


if __name__ == "__main__":
    main()
