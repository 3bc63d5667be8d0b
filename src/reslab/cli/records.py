"""Runs read and checked for showing: what `report` calls damaged is so for `runs` and `compare` too."""

from __future__ import annotations

from reslab.cli.show import warn
from reslab.errors import UserError
from reslab.report.records import RunRecord, read_record
from reslab.runs.directory import RunDirectory


def read_whole(run: RunDirectory) -> RunRecord:
    """Return a run's record, or say that it is damaged; a part that can be done without is told, and left out."""
    try:
        record, damages = read_record(run)
    except UserError as error:
        raise UserError(f"{run.path.name}: {error}") from error
    for damage in damages:
        warn(f"{damage.id}: {damage.sentence}")
    return record
