"""Asking before a command starts what takes long, and was perhaps not expected to."""

import sys

from reslab.cli.terminal.show import note, progress_console
from reslab.errors import UserError
from reslab.numbers import MINUTE, about

LONG = 5 * MINUTE


def ask_before(what: str, seconds: float, *, yes: bool) -> None:
    """Return where `what` is short, or was agreed to by --yes or at the terminal; else end before it starts."""
    if yes or seconds <= LONG:
        return
    if not (sys.stdin.isatty() and progress_console.is_terminal):
        raise UserError(f"{what} takes {about(seconds)}; add --yes to start it, or --dry-run to print the plan only")
    try:
        answer = progress_console.input(f"{what} takes {about(seconds)}. Start? [y/N] ", markup=False)
    except EOFError:
        answer = ""
    if answer.strip().lower() not in ("y", "yes"):
        note("Nothing was started.")
        sys.exit(1)
