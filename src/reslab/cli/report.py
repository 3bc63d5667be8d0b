"""`reslab report [--out DIR] [--runs DIR]`."""

from pathlib import Path

from reslab.cli.terminal.checked_records import warn_of
from reslab.cli.terminal.show import progress_console, say
from reslab.cli.words.subjects import runs_root

HELP = "Write a static site of runs, to look at and to show."


def report(*, out: Path | None = None, runs: Path | None = None) -> None:
    """Write a static site of runs: tables, learning curves, layer responses, confusion, cost, the paper's figures.

    Parameters
    ----------
    out
        The folder to write; the folder report among the runs.
    runs
        The folder of runs; RESLAB_RUNS, or runs.
    """
    with progress_console.status("reporting"):
        from reslab.report.reporting import report_runs

        written = report_runs(runs_root(runs), out=out)
    warn_of(written.damages)
    count = "1 run" if written.num_runs == 1 else f"{written.num_runs} runs"
    say(f"{count}: wrote {written.index}")
