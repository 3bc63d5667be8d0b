"""Draw Figs. 4, 6 and 7 of the records into docs/pictures: part of `make results`, or `python -m tools.figures`.

They have the runs that the verdicts on Figs. 4 and 6 count, and no others.
"""

from __future__ import annotations

from reslab.files import write_text
from reslab.report.figures import draw_figures
from reslab.report.groups import group_runs
from reslab.report.records import read_records
from reslab.report.reporting import judge_runs, tables_about
from tools import REPOSITORY, RESULTS

NAMES = {
    "fig-4": {"tiny-imagenet": {"curves": "fig-4"}},
    "fig-6": {"cifar10": {"curves": "fig-6", "responses": "fig-7"}},
}


def main() -> None:
    """Write the figures."""
    records = read_records(RESULTS)[0]
    claims = tables_about(records)
    for figure, files in NAMES.items():
        judged = judge_runs(claims[figure], RESULTS)
        counted = {run for verdict in judged.verdicts for run in verdict.runs}
        drawn = draw_figures(group_runs([record for record in records if record.id in counted]))
        for data, kinds in files.items():
            for kind, name in kinds.items():
                write_text(REPOSITORY / "docs" / "pictures" / f"{name}.svg", drawn[data][kind][1])


if __name__ == "__main__":
    main()
