"""A folder of runs becomes a site: read, judged beside the paper, written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reslab.errors import UserError
from reslab.paper.claims import CLAIMS
from reslab.report.records import Damage, read_records
from reslab.report.site import write_site
from reslab.report.verdicts import judge


@dataclass(frozen=True, kw_only=True)
class Report:
    """Where a site begins, how many runs it shows, and what was damaged among them."""

    index: Path
    num_runs: int
    damages: list[Damage]


def report_runs(root: Path, *, out: Path | None = None) -> Report:
    """Write the site of the runs under `root` to `out`, or to the folder `report` among them."""
    records, damages = read_records(root)
    if not records:
        if damages:
            raise UserError(f"no run in {root} is whole: {damages[0].id}: {damages[0].sentence}")
        raise UserError(f"there are no runs in {root}; make one with `reslab train` or `reslab demo`")
    damaged = {damage.id for damage in damages}
    whole = [record.directory for record in records if record.id not in damaged]
    verdicts = judge([claim for claims in CLAIMS.values() for claim in claims], whole)
    index = write_site(records, damages, out or root / "report", verdicts=verdicts)
    return Report(index=index, num_runs=len(records), damages=damages)
