"""`reslab reproduce release data=FOLDER`: the authors' weights by our testing, beside what was published of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from reslab.cli.terminal.asking import ask_before
from reslab.cli.terminal.progress import make_bars
from reslab.cli.terminal.show import SPEAKING, console, make_table, note, print_json, progress_console, say
from reslab.errors import UserError
from reslab.numbers import about, count, signed
from reslab.report.release import ReleaseVerdict, judge_release
from reslab.runtime.listener import Listener
from reslab.spec.codec import encode


def reproduce_release(data: str | None, root: Path, *, yes: bool, dry_run: bool, json: bool) -> None:
    """Test what has no record yet on the photographs of a folder, then print the verdicts.

    A test that is stopped is begun again; protocols that are through are not.
    """
    with progress_console.status("loading"):
        from reslab.data.catalogue import open_data
        from reslab.experiments.release import estimate_release, list_missing, run_release_test
        from reslab.runtime.execution import choose_device

        if data is None:
            raise UserError(
                "release needs ImageNet's validation images, or some of them: data=FOLDER, with val/ and a folder for "
                "each class in it"
            )
        dataset, device = open_data(data, listener=SPEAKING), choose_device()
        missing = list_missing(dataset, root)
        seconds = estimate_release(missing, dataset, device=device)
    protocols = ", ".join(test.protocol for test in missing) or "nothing"
    note(f"to test on {count(len(dataset.test))} images of {dataset.name}: {protocols}; {about(seconds)}")
    if dry_run:
        return
    ask_before("testing", seconds, yes=yes)
    with make_bars() as bars:
        for test in missing:
            bar = bars.add_task(f"{test.network} {test.protocol}", total=len(dataset.test))
            move = partial(bars.update, bar)
            listener = Listener(warn=SPEAKING.warn, progress=lambda done, _, move=move: move(completed=done))
            run_release_test(test, dataset, root, device=device, listener=listener)
    print_release(judge_release(root), root, json=json)


def print_release(verdicts: Sequence[ReleaseVerdict], root: Path, *, json: bool) -> None:
    """Print published errors beside ours, with the standard error of so many images."""
    if json:
        names = ("quantity", "published", "ours", "standard_error", "images", "difference", "word", "data", "precision")
        rows = [{name: encode(getattr(one, name)) for name in names} for one in verdicts]
        print_json([{"network": one.test.network, **row} for one, row in zip(verdicts, rows, strict=True)])
        return
    table = make_table(
        f"The authors' weights ({root})",
        *("", "<", "published", "ours, ± standard error", "images", "difference", "verdict<"),
        give_way=("images", "difference"),
    )
    for one in verdicts:
        ours = "" if one.ours is None else f"{one.ours:.2f} ± {one.standard_error:.2f}"
        images = count(one.images) if one.images else ""
        numbers = (f"{one.published:g}", ours, images, signed(one.difference))
        table.add_row(one.test.network, one.quantity, *numbers, one.word)
    console.print(table)
    for source in dict.fromkeys(one.test.source for one in verdicts):
        protocols = dict.fromkeys(one.test.protocol for one in verdicts if one.test.source == source)
        say(f"{', '.join(protocols)}: published in {source}")
