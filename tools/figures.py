"""Draw Figs. 6 and 7 of the records into docs/pictures: part of `make results`, or `python -m tools.figures`.

They have the runs that the verdicts on Fig. 6 count, and no others.
"""

from __future__ import annotations

from reslab.files import write_text
from reslab.paper.claims import CLAIMS
from reslab.report.figures import draw_figures
from reslab.report.groups import group_runs
from reslab.report.records import read_records
from reslab.report.reporting import judge_runs
from tools import REPOSITORY, RESULTS

NAMES = {"curves": "fig-6", "responses": "fig-7"}


def main() -> None:
    """Write both figures."""
    judged = judge_runs(CLAIMS["fig-6"], RESULTS)
    counted = {run for verdict in judged.verdicts for run in verdict.runs}
    groups = group_runs([record for record in read_records(RESULTS)[0] if record.id in counted])
    for kind, (_, drawing) in draw_figures(groups)["cifar10"].items():
        write_text(REPOSITORY / "docs" / "pictures" / f"{NAMES[kind]}.svg", drawing)


if __name__ == "__main__":
    main()
