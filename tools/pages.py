"""Tell the records and the shipped weights: `make results`, or `python -m tools.pages`.

Writes what README and docs say of them: differences.md, results.md, models.md, measurements.md, transfer.md, and the
errors of exported files. No number in these is typed by hand, and a test compares them with what the records say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from reslab.experiments.costs import BATCHES, count_depths
from reslab.files import write_text
from reslab.networks import measure_cost
from reslab.numbers import count, duration, percent, printed, write_size
from reslab.paper.claims import CLAIMS
from reslab.paper.tables import TABLE_6
from reslab.report.markdown import write_remarks, write_rows, write_table, write_verdicts
from reslab.report.notation import commit_words, ours, place
from reslab.report.pages import WORDS
from reslab.report.records import RunRecord, read_records
from reslab.report.reporting import judge_runs, tables_about
from reslab.report.verdicts import Verdict
from reslab.spec import find, name_of
from tools import REPOSITORY, RESULTS, exported, measurements, models, speeds
from tools.transfer import page as transfer

REDUCED, NOT_RUN = "reduced setting", "not run"
PAPER = REPOSITORY / "docs" / "paper"
SUMMED_UP = ("table-6", "fig-1", "fig-6", "fig-7")
FIGURES = {name: f"../pictures/{name}.svg" for name in ("fig-4", "fig-6", "fig-7")}  # which tools/figures.py draws
ABOUT_RESULTS = """\
# Results

Every claim of the paper that we have runs for. [Claims and verdicts](claims.md) explains the tolerances and the words;
[Numbers that differ](differences.md) explains what deviates. Tables 2 and 3 and Fig. 4 are about ImageNet; our runs are
on Tiny-ImageNet, so their numbers differ and only their orders can be compared. Tables 4 and 5, the tables of detection
and `reslab reproduce norms` (frozen against trained batch norm of a detector) have commands but no results yet.
[Speed](speed.md), [transfer](transfer.md) and [all runs](runs.md) have pages of their own.

`make results` writes this page from the records in `results/`."""
ABOUT_SPEED = """\
# Speed

Images per second beside the programs that people use, on the same machine. `make results` writes this page from the
records in `results/`.

## Training and inference"""
ABOUT_RUNS = """\
# Runs

The records behind [Results](results.md). Each run is a folder of that name in a folder of `results/`, with its trial,
command, logs and result. The time is the sum of all sessions of a run, in which it may have shared the device; the
commits are those of the sessions. `make results` writes this page."""


def main() -> None:
    """Write every page that differs from what it should be."""
    write_pages(render())


def write_pages(pages: Mapping[Path, str]) -> None:
    """Write every page that differs from what it should be."""
    for path, text in pages.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_text(path, text)
            print(f"wrote {path.relative_to(REPOSITORY)}")


def render() -> dict[Path, str]:
    """Return what each page should hold."""
    records, damages = read_records(RESULTS)
    assert not damages, damages
    claims = tables_about(records)
    judged = judge_runs([claim for members in claims.values() for claim in members], RESULTS)
    told = {name: [verdict for verdict in judged.verdicts if verdict.claim.table == name] for name in claims}
    tables = {name: verdicts for name, verdicts in told.items() if {each.word for each in verdicts} != {NOT_RUN}}
    summed_up = {name: tables[name] for name in SUMMED_UP}
    readme, differences = REPOSITORY / "README.md", PAPER / "differences.md"
    exporting = REPOSITORY / "docs" / "how-to" / "export.md"
    blocks = {
        "table-6": _write_first(tables["table-6"]),
        "authors": speeds.write_authors(),
        "speed": speeds.write_brief(),
    }
    return {
        readme: replace_blocks(readme, blocks),
        differences: replace_blocks(differences, {"deviating": _write_deviating(summed_up)}),
        exporting: replace_blocks(exporting, {"exports": exported.write_exports()}),
        PAPER / "results.md": _write_results(tables),
        PAPER / "speed.md": _write_speed(),
        PAPER / "runs.md": _write_runs(tables, records),
        PAPER / "models.md": models.write_cards(),
        measurements.PAGE: measurements.write_page(records),
        transfer.PAGE: transfer.write_page(records),
    }


def replace_blocks(path: Path, blocks: Mapping[str, str], maker: str = "make results") -> str:
    """Return a page with the blocks between its markers replaced, which name who makes them."""
    page = path.read_text(encoding="utf-8")
    for name, text in blocks.items():
        opening, closing = f"<!-- {name}: {maker} -->\n", f"\n<!-- end of {name} -->"
        assert opening in page, f"{path.name} has no place for {name}"
        before, _, rest = page.partition(opening)
        assert closing in rest, f"{path.name} does not say where {name} ends"
        page = before + opening + text + closing + rest.partition(closing)[2]
    return page


def _write_first(verdicts: Sequence[Verdict]) -> str:
    """Write what was trained as the paper did, and fold what was shortened, with the remarks, below."""
    run = [verdict for verdict in verdicts if verdict.word != NOT_RUN]
    whole = [verdict for verdict in run if verdict.word != REDUCED]
    folded = [write_rows([verdict for verdict in run if verdict.word == REDUCED]), write_remarks(run)]
    summary = "<details><summary>Shortened runs of other rows, and remarks</summary>"
    return "\n\n".join([write_rows(whole), summary, *folded, "</details>"])


def _write_summary(tables: Mapping[str, Sequence[Verdict]]) -> str:
    """Count the verdicts on the numbers of each table and figure, and the orders that hold."""
    numbers = {name: Counter(verdict.word for verdict in _numbers(verdicts)) for name, verdicts in tables.items()}
    words = [word for word in WORDS if any(counts[word] for counts in numbers.values())]
    rows = [
        [place(name), *[str(numbers[name][word] or "") for word in words], _count_orders(verdicts)]
        for name, verdicts in tables.items()
    ]
    return write_table(("numbers of", *words, "orders that hold"), rows)


def _count_orders(verdicts: Sequence[Verdict]) -> str:
    orders = _orders(verdicts)
    holding, missing = sum(each.agrees is True for each in orders), sum(each.word == NOT_RUN for each in orders)
    counted = f"{holding} of {len(orders)}" + (f", {missing} not run" if missing else "")
    return counted if orders else ""


def _orders(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts on several networks together: what the figures are about."""
    return [verdict for verdict in verdicts if len(verdict.claim.settings) > 1]


def _numbers(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return [verdict for verdict in verdicts if len(verdict.claim.settings) < 2]


def _write_orders(tables: Mapping[str, Sequence[Verdict]]) -> str:
    rows = [
        [
            place(verdict.claim.table),
            f"{verdict.claim.row}: {verdict.claim.quantity}",
            " → ".join(map(percent, verdict.values)),
            _judge_order(verdict),
        ]
        for verdicts in tables.values()
        for verdict in _orders(verdicts)
    ]
    return write_table(("", "claimed", "ours, means", "verdict"), rows, left=(0, 1, 3))


def _judge_order(verdict: Verdict) -> str:
    """Say of an order that was run in a reduced setting whether it holds there."""
    if verdict.word != REDUCED:
        return verdict.word
    return f"{REDUCED}: {'holds' if verdict.agrees else 'does not hold'}"


def _write_deviating(tables: Mapping[str, Sequence[Verdict]]) -> str:
    """Write what was run and is not as published, with what every run gave: seeds that went astray show."""
    rows = [
        [
            place(verdict.claim.table),
            f"{verdict.claim.row}: {verdict.claim.quantity}",
            verdict.claim.published_words,
            ours(verdict),
            "" if verdict.mean is None else ", ".join(map(percent, sorted(verdict.values))),
            verdict.word,
        ]
        for verdicts in tables.values()
        for verdict in verdicts
        if verdict.word in ("deviates", REDUCED)
    ]
    return write_table(("", "what", "published", "ours, mean ± std", "every run", "verdict"), rows, left=(0, 1, 5))


def _write_results(tables: Mapping[str, Sequence[Verdict]]) -> str:
    parts = [ABOUT_RESULTS, "## Summary", _write_summary(tables), _write_orders(tables)]
    parts += ["## Table 1", "`reslab reproduce table-1`", _write_table_1()]
    for name, verdicts in tables.items():
        parts += [f"## {place(name)}", f"`{_command(name, verdicts)}`", write_verdicts(verdicts)]
        if name in FIGURES:
            parts += [f"![{place(name)} by our runs]({FIGURES[name]})"]
        if name == "table-6":
            parts += ["Parameters and multiply-adds of its networks (`reslab describe NAME`):", _write_counts()]
    return "\n\n".join(parts) + "\n"


def _command(name: str, verdicts: Sequence[Verdict]) -> str:
    """Return what prints the same; a table that was run on other images than the paper's has to be told of them."""
    data = {setting.data.name for verdict in verdicts for setting in verdict.claim.settings}
    papers = {setting.data.name for claim in CLAIMS[name] for setting in claim.settings}
    return " ".join([f"reslab reproduce {name}", *[f"data={other}" for other in data - papers], "--from results"])


def _write_speed() -> str:
    parts = [ABOUT_SPEED, speeds.write_training(), "## Testing", speeds.write_testing()]
    parts += ["## The fast recipe", speeds.write_fast(), "## The networks of Table 1", speeds.write_depths()]
    return "\n\n".join(parts) + "\n"


def _write_runs(tables: Mapping[str, Sequence[Verdict]], records: Sequence[RunRecord]) -> str:
    counts: dict[str, list[str]] = {record.id: [] for record in records}
    for name, verdicts in tables.items():
        for run in dict.fromkeys(run for verdict in verdicts for run in verdict.runs):
            counts[run].append(place(name).partition(":")[0])
    heads = (
        "run",
        "network",
        "seed",
        "iterations",
        "training error %",
        "test error %",
        "time",
        "device",
        "commits",
        "in",
    )
    rows = [_run_cells(record, counts[record.id]) for record in records]
    return f"{ABOUT_RUNS}\n\n{write_table(heads, rows, left=(0, 1, 7, 8, 9))}\n"


def _write_table_1() -> str:
    """Count the ResNets of Table 1, whose multiply-adds alone are printed there; the rest is what reviewers missed."""
    counted = list(count_depths())
    heads = ["", "multiply-adds, published", "ours", "verdict", "parameters"]
    heads += [f"kept for backward, batch {batch}" for batch in BATCHES]
    rows = [
        [
            one.network,
            printed(one.published),
            count(one.multiply_adds),
            one.word,
            count(one.params),
            *[write_size(one.activation_bytes[batch]) for batch in BATCHES],
        ]
        for one in counted
    ]
    remarks = [f"- {one.network}: {one.remark}." for one in counted if one.word != "reproduced" and one.remark]
    return "\n".join([write_table(heads, rows, left=(0, 3)), "", *remarks])


def _write_counts() -> str:
    costs = [(row, measure_cost(find(row.network))) for row in TABLE_6 if row.network]
    rows = [[row.method, count(cost.params), printed(row.params), count(cost.multiply_adds)] for row, cost in costs]
    return write_table(("", "parameters", "published", "multiply-adds"), rows)


def _run_cells(record: RunRecord, counted: Sequence[str]) -> list[str]:
    return [
        f"`{record.id}`",
        name_of(record.trial.network),
        str(record.trial.seed),
        count(record.trial.recipe.iterations),
        percent(record.train_score),
        percent(record.test_score),
        duration(record.timings.seconds),
        f"{record.device}, {record.trial.recipe.precision}",
        commit_words(record.commits),
        ", ".join(counted),
    ]


if __name__ == "__main__":
    main()
