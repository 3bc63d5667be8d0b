"""How a checked folder of photographs looks on a terminal: its classes, what was found, and what that means."""

from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.text import Text

from reslab.cli.terminal.show import console, make_table, print_heading, print_json, progress_console, say
from reslab.data.photos.bad_images import count_skippable
from reslab.data.photos.check import Checked, check_folder
from reslab.data.photos.editions import HELD_OUT
from reslab.data.photos.findings import KINDS, Finding
from reslab.data.photos.reader import read_photos
from reslab.data.words import read_words
from reslab.legible import legible
from reslab.numbers import count

PATHS_SHOWN = 3
CLASSES_SHOWN = 24
STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def check_photos(root: Path, *, workers: int | None, json: bool) -> bool:
    """Check a folder, print what was found, and return whether a training would not stop."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TextColumn("images"), TimeRemainingColumn())
    unseen = not progress_console.is_terminal
    with Progress(*columns, console=progress_console, transient=True, disable=unseen) as progress:
        bar = progress.add_task("", total=None)
        checked = check_folder(
            root, workers=workers, watch=lambda done, total: progress.update(bar, completed=done, total=total)
        )
    words = read_words(root)
    if json:
        print_json(_as_data(checked, words))
    else:
        _print_classes(checked, words)
        _print_findings(checked)
        _print_outcome(checked)
    return checked.passed


def _as_data(checked: Checked, words: dict[str, str]) -> dict[str, Any]:
    names = [split or "images" for split in checked.splits]
    return {
        "path": str(checked.root),
        "passed": checked.passed,
        "refusal": checked.refusal,
        "classes": [
            {"name": label, "words": words.get(label), **dict(zip(names, counts, strict=True))}
            for label, counts in checked.counts.items()
        ],
        "findings": [{"severity": finding.severity, **asdict(finding)} for finding in checked.findings],
    }


def _print_classes(checked: Checked, words: dict[str, str]) -> None:
    images, classes = sum(checked.images), len(checked.counts)
    numbers = f"{count(images)} image{'s' * (images != 1)}, {count(classes)} class{'es' * (classes != 1)}"
    print_heading(str(checked.root), numbers)
    if len(checked.splits) == 1:
        console.print(f"There are no test images: about {HELD_OUT:.0%} of each class will be held out as test images.")
    table = make_table("", "class", *(split or "images" for split in checked.splits), *(["words<"] if words else []))
    rows = list(checked.counts.items())
    if len(rows) > CLASSES_SHOWN:  # the scarcest and the richest tell the most
        rows.sort(key=lambda row: row[1])
    left_out = range(CLASSES_SHOWN // 2, len(rows) - CLASSES_SHOWN // 2)
    for index, (label, counts) in enumerate(rows):
        if index not in left_out:
            numbers = [Text(count(number), style="" if number else "bold red") for number in counts]
            table.add_row(label, *numbers, *([words.get(label, "")] if words else []))
        elif index == left_out.start:
            table.add_row(Text(f"… {count(len(left_out))} more", style="dim"))
    table.add_row(*[Text(cell, style="bold") for cell in ("all", *map(count, checked.images))])
    console.print("", table, sep="\n")


def _print_findings(checked: Checked) -> None:
    table = make_table("", "", "count", "found<", "where<")
    for kind, group in groupby(checked.findings, key=lambda finding: finding.kind):
        found, severity = list(group), KINDS[kind].severity
        lines = Text("\n").join(_write(finding) for finding in found[:PATHS_SHOWN])
        if len(found) > PATHS_SHOWN:
            lines.append(f"\n… {count(len(found) - PATHS_SHOWN)} more; --json lists all", style="dim")
        what = Text.assemble((kind, "bold"), "\n", (KINDS[kind].meaning, "dim"))
        table.add_row(Text(severity, style=STYLES[severity]), count(len(found)), what, lines)
    if checked.findings:
        console.print("", table, sep="\n")


def _write(finding: Finding) -> Text:
    return Text.assemble(legible(finding.path), (f"  {legible(finding.detail)}" if finding.detail else "", "dim"))


def _print_outcome(checked: Checked) -> None:
    numbers = [(len(checked.of(severity)), severity) for severity in STYLES]
    told = ", ".join(f"{count(number)} {word}{'s' * (number != 1)}" for number, word in numbers if number)
    if checked.refusal is not None:
        outcome = f"training would stop: {checked.refusal}"
    elif not checked.passed:
        unreadable = len([finding for finding in checked.findings if finding.kind == "unreadable"])
        most = count_skippable(sum(checked.images))
        outcome = "training would stop at an unreadable image; data.on_bad_image=skip skips unreadable images"
        if unreadable > most:
            bad, skipped = count(unreadable), count(most)
            outcome = f"training would stop: {bad} images are unreadable, but at most {skipped} may be skipped"
    else:
        dataset = read_photos(checked.root)
        use = "training" if len(dataset.train) else "testing only (no training images)"
        outcome = f"ready for {use}, fingerprint {dataset.fingerprint[:12]}"
    say(f"\n{told or 'no problems found'}; {outcome}")
