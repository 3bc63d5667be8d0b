"""Runs read and checked for showing: what `report` calls damaged or a copy is so for other verbs too."""

from collections.abc import Iterable

from reslab.cli.terminal.show import warn
from reslab.errors import UserError
from reslab.report.records import Damage, RunRecord, read_record, read_records
from reslab.runs.directory import RunDirectory


def warn_of(damages: Iterable[Damage]) -> None:
    """Tell what is damaged in records, or left out."""
    for damage in damages:
        warn(f"{damage.id}: {damage.sentence}")


def read_whole(run: RunDirectory) -> RunRecord:
    """Return a run's record, or say that it is damaged; a part that can be done without is told, and left out."""
    try:
        record, damages = read_record(run)
    except UserError as error:
        raise UserError(f"{run.path.name}: {error}") from error
    warn_of(damages)
    return record


def read_neighbours(run: RunDirectory) -> list[RunRecord]:
    """Return the records of a run and of all that lie beside it; refuse it if it is a copy of one of these."""
    records, damages = read_records(run.path.parent)
    for damage in damages:
        if damage.id == run.path.name and damage.state:
            raise UserError(f"{damage.id}: {damage.sentence}")
    return records
