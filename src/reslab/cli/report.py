"""`reslab report [--out DIR] [--runs DIR]`."""

from pathlib import Path

from reslab.cli.terminal.checked_records import warn_of
from reslab.cli.terminal.show import progress_console, say
from reslab.cli.words.subjects import runs_root


def report(*, out: Path | None = None, runs: Path | None = None) -> None:
    """Write a static web site of your runs.

        reslab report

    The site has tables, learning curves, layer responses, confusion matrices, costs and the paper's figures.

    Parameters
    ----------
    out
        The folder to write. Default: 'report' in the folder of runs.
    runs
        Folder of runs. Default: RESLAB_RUNS if set, else 'runs'.
    """
    with progress_console.status("reporting"):
        from reslab.report.reporting import report_runs

        written = report_runs(runs_root(runs), out=out)
    warn_of(written.damages)
    count = "1 run" if written.num_runs == 1 else f"{written.num_runs} runs"
    say(f"{count}: wrote {written.index}")
