"""The command line: `reslab VERB SUBJECT... [field=value ...] [--flags]`.

Verbs load when they run, so help answers in a blink. A user's mistake ends in one sentence and exit code 2.
"""

from __future__ import annotations

import os
import sys

from cyclopts import App
from cyclopts.exceptions import CycloptsError

import reslab
from reslab.cli.legible import legible
from reslab.errors import UserError

app = App(
    name="reslab",
    help="Deep residual learning, whole. What describes a network or a run is written field=value.",
    version=reslab.__version__,
)
app.command("reslab.cli.demo:demo", name="demo", help="Degradation and its cure, trained here in two minutes.")
app.command("reslab.cli.train:train", name="train", help="Train a network, or go on where it was stopped.")
app.command("reslab.cli.evaluate:evaluate", name="evaluate", help="Errors of a trained network, a class at a time.")
app.command("reslab.cli.predict:predict", name="predict", help="What a trained network takes photographs for.")
app.command("reslab.cli.export:export", name="export", help="ONNX, torch.export or torchvision files, checked.")
app.command("reslab.cli.embed:embed", name="embed", help="Features of photographs at any layer, as a file.")
app.command("reslab.cli.probe:probe", name="probe", help="What frozen features know of a task: linear probe and kNN.")
app.command("reslab.cli.analyze:analyze", name="analyze", help="Layer responses of trained networks.")
app.command("reslab.cli.reproduce:reproduce", name="reproduce", help="The paper's tables and figures beside ours.")
app.command("reslab.cli.report:report", name="report", help="Write a static site of runs, to look at and to show.")
app.command("reslab.cli.runs:app", name="runs", help="List, show and prune runs.")
app.command("reslab.cli.data:app", name="data", help="Fetch, check, list and shard datasets.")
app.command("reslab.cli.networks:networks", name="networks", help="List the networks that can be built.")
app.command("reslab.cli.describe:describe", name="describe", help="Layers, sizes, parameters, multiply-adds, memory.")
app.command("reslab.cli.compare:compare", name="compare", help="What differs between two networks, or two runs.")
app.command("reslab.cli.draw:draw", name="draw", help="Draw networks and their blocks as SVG.")
app.command("reslab.cli.convert:convert", name="convert", help="Rewrite weights in another library's form.")


def main(arguments: list[str] | None = None) -> None:
    """Run one verb; exit with 0, with 2 after a user's mistake, with 130 after Ctrl-C."""
    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except (UserError, CycloptsError) as error:
        print(f"reslab: {legible(' '.join(str(error).split()))}", file=sys.stderr)
        sys.exit(2)
    except PermissionError as error:
        if error.filename is None:
            raise
        remedy = "check its permissions, and those of the folders above it"
        print(f"reslab: {legible(str(error.filename))} may not be used: {error.strerror}; {remedy}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        _end_quietly()
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # rich's way of ending
            _end_quietly()
        raise


def _end_quietly() -> None:
    """End well although the reader, `head` for one, has closed the pipe: what is still in buffers goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)
