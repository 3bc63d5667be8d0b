"""`reslab report [RUNS] [--out DIR]`."""

from __future__ import annotations

from pathlib import Path

from reslab.cli.show import console, progress_console
from reslab.cli.subjects import runs_root
from reslab.errors import UserError


def report(runs: Path | None = None, *, out: Path | None = None) -> None:
    """Write a static site of runs: tables, learning curves, layer responses, confusion, cost, the paper's figures.

    Parameters
    ----------
    runs
        The folder of runs; RESLAB_RUNS, or runs.
    out
        The folder to write; the folder report among the runs.
    """
    root = runs_root(runs)
    with progress_console.status("reporting"):
        from reslab.report.records import read_records
        from reslab.report.site import write_site

        records, damages = read_records(root)
        if not records:
            if damages:
                raise UserError(f"no run in {root} is whole: {damages[0].id}: {damages[0].sentence}")
            raise UserError(f"there are no runs in {root}; make one with `reslab train` or `reslab demo`")
        index = write_site(records, damages, out or root / "report")
    for damage in damages:
        console.print(f"warning: {damage.id}: {damage.sentence}", soft_wrap=True, markup=False)
    console.print(f"{len(records)} run{'s' if len(records) > 1 else ''}: wrote {index}", soft_wrap=True, markup=False)
