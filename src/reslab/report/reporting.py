"""A folder of runs becomes a site: read, judged beside the paper, written."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reslab.errors import UserError
from reslab.paper.claim import IMAGENET, TINY_IMAGENET, Claim
from reslab.paper.claims import CLAIMS
from reslab.report.records import Damage, RunRecord, read_records
from reslab.report.site import write_site
from reslab.report.verdicts import Verdict, judge


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
            raise UserError(f"no run in {root} can be read: {damages[0].id}: {damages[0].sentence}")
        raise UserError(f"there are no runs in {root}; make one with `reslab train` or `reslab demo`")
    claims = [claim for claims in tables_about(records).values() for claim in claims]
    verdicts = judge(claims, records)
    index, damages = write_site(records, damages, out or root / "report", verdicts=verdicts)
    return Report(index=index, num_runs=len(records), damages=damages)


def tables_about(records: Sequence[RunRecord]) -> dict[str, tuple[Claim, ...]]:
    """Return the tables and figures about data that any of these runs was trained on: others cannot be judged.

    Where none was trained on ImageNet, runs on Tiny-ImageNet stand for those.
    """
    known = {record.trial.data.name for record in records}
    stand_in = tuple if IMAGENET.name in known else TINY_IMAGENET.stand_in
    return {
        name: claims
        for name, claims in ((name, stand_in(claims)) for name, claims in CLAIMS.items())
        if any(setting.data.name in known for claim in claims for setting in claim.settings)
    }


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The verdicts on some claims; how many runs were looked at, trained on which data, and what was damaged."""

    verdicts: list[Verdict]
    num_runs: int
    data_names: frozenset[str]
    damages: list[Damage]


def judge_runs(claims: Sequence[Claim], root: Path) -> Judgement:
    """Judge claims by the runs under `root` that can be read."""
    records, damages = read_records(root)
    return Judgement(
        verdicts=judge(claims, records),
        num_runs=len(records),
        data_names=frozenset(record.trial.data.name for record in records),
        damages=damages,
    )
