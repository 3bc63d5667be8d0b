"""The command line: `reslab VERB SUBJECT... [field=value ...] [--flags]`.

A verb is a module here; it loads when it runs, so help answers in a blink. A user's mistake ends in one sentence and
exit code 2.
"""

import contextlib
import errno
import inspect
import io
import os
import re
import sys
from pathlib import Path
from typing import TextIO

from cyclopts import App, Parameter
from cyclopts.exceptions import CycloptsError

import reslab
from reslab.cli.completion import complete, make_installer
from reslab.errors import UserError
from reslab.legible import legible

app = App(
    name="reslab",
    help="Every network, table and figure of the ResNet paper, in PyTorch; and training on your own images.\n\n"
    "Settings are written field=value, for example recipe.epochs=10. `reslab VERB --help` explains a verb.",
    version=reslab.__version__,
    suppress_keyboard_interrupt=False,  # `main` says that it has heard it
    default_parameter=Parameter(negative=(), show_default=lambda value: value or None, completer=complete),
)

REMEDIES = {  # of errors that name a file
    errno.EACCES: "check its permissions, and those of the folders above it",
    errno.EPERM: "check its permissions, and those of the folders above it",
    errno.ENOENT: "check the path",
    errno.ENOSPC: "free some space",
}


def _register_verbs() -> None:
    """Make a verb of every module here that has a function of its own name, or an `app` of verbs.

    The help is the function's docstring up to its parameters, which is read without loading the module.
    """
    for path in sorted(Path(__file__).parent.glob("*")):
        name, file = path.stem, path / "__init__.py" if path.is_dir() else path
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        if found := re.search(rf'^def {name}\(.*?"""(.*?)(?:\n *Parameters\n|""")', text, re.MULTILINE | re.DOTALL):
            app.command(f"reslab.cli.{name}:{name}", name=name, help=inspect.cleandoc(found[1]))
        elif found := re.search(r'^app = App\(.*help="(.*)"\)', text, re.MULTILINE):
            app.command(f"reslab.cli.{name}:app", name=name, help=found[1].replace(r"\n", "\n"))


_register_verbs()
app.command(
    make_installer(app),
    name="--install-completion",
    help="Install shell completion. Adds a line to the shell's startup file; with --output, only writes the script.",
)


def main(arguments: list[str] | None = None) -> None:
    """Run one verb; exit with 0, with 2 after a user's mistake, with 130 after Ctrl-C."""
    try:
        _run(arguments)
    except SystemExit as stop:
        _leave_others(stop.code)
        raise
    _leave_others(0)


def _leave_others(code: object) -> None:
    """End one of several processes at once: threads of torch's that it shares a group by may abort an orderly end."""
    if "WORLD_SIZE" in os.environ and isinstance(code, int):
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _run(arguments: list[str] | None) -> None:
    _mend_streams()
    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except (UserError, CycloptsError) as error:
        print(f"reslab: {legible(' '.join(str(error).split()))}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:  # where nothing is under way that would have to be saved first
        print("reslab: stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        if _can_be_written(sys.stdout):  # another pipe is broken, of a process that died
            raise
        _forget_output()  # the reader, `head` for one, has all it wants of what was printed
    except SystemExit as stop:
        if not isinstance(stop.__context__, BrokenPipeError):  # the way rich ends when help is not read to its end
            raise
        _forget_output()
    except OSError as error:
        if error.filename is not None:
            name, remedy = legible(os.fsdecode(error.filename)), REMEDIES.get(error.errno or 0, "give another path")
            print(f"reslab: {name} cannot be used: {error.strerror}; {remedy}", file=sys.stderr)
            sys.exit(2)
        if error.errno != errno.ENOSPC or _can_be_written(sys.stdout):  # another disk is full, whose file nobody named
            raise
        _forget_output()
        print(f"reslab: the output could not be written: {error.strerror}; send it elsewhere", file=sys.stderr)
        sys.exit(2)


def _mend_streams() -> None:
    """Let closed streams lead nowhere. What an encoding does not have is printed as a question mark, and read as bytes.

    So the names of files on standard input are those of the files, whatever bytes they are.
    """
    for name, mode, errors in (
        ("stdin", "r", "surrogateescape"),
        ("stdout", "w", "replace"),
        ("stderr", "w", "replace"),
    ):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
        elif isinstance(stream, io.TextIOWrapper) and stream.errors != errors:
            stream.reconfigure(errors=errors)


def _can_be_written(stream: TextIO) -> bool:
    try:
        print(file=stream, flush=True)  # what was to be written before is forgotten already
    except OSError:
        return False
    return True


def _forget_output() -> None:
    """Let what is still in buffers go nowhere: Python would write it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
