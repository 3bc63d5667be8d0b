"""What a benchmark keeps: its numbers, with the command, commit, versions and machine they came from."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch

from reslab.files import write_text
from reslab.json_text import to_json
from reslab.runs.provenance import describe_surroundings, name_device


class Record:
    """A file for the numbers of a run that begins now; without a path nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        if path is not None and not path.parent.is_dir():
            sys.exit(f"there is no folder {path.parent} for {path.name}; make it first")
        self.path, self.surroundings = path, describe_surroundings()
        if path is not None:  # what it holds does not depend on where it lies
            self.surroundings["command"] = self.surroundings["command"].replace(str(path), path.name)

    def keep(self, **numbers: object) -> None:
        """Write all that is known so far."""
        if self.path is not None:
            write_text(self.path, to_json({**self.surroundings, **numbers}, indent=2) + "\n")


def describe_machine(device: str) -> str:
    """Say on what numbers are measured: what computes, how many cores are beside it, which torch."""
    return f"{name_device(device)}, {os.cpu_count()} cores, torch {torch.__version__}"
