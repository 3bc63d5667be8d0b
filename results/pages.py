"""Tell the records and the shipped weights: `make results`, or `python -m results.pages`.

Writes what README says of them, docs/results.md and docs/models.md. No number in these is typed by hand, and a test
compares them with what the records say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from reslab.cli.show import memory, printed
from reslab.experiments.costs import BATCHES, count_depths
from reslab.files import write_text
from reslab.networks import Weights, create_model, measure_cost, read_weights
from reslab.paper.tables import TABLE_6
from reslab.report.markdown import write_table, write_verdicts
from reslab.report.pages import WORDS, tabulate_verdicts
from reslab.report.records import RunRecord, read_records
from reslab.report.reporting import judge_runs, tables_about
from reslab.report.verdicts import Verdict
from reslab.report.words import count, duration, percent, place, short_commit
from reslab.shipped import FOLDER, list_shipped
from reslab.spec import find, name_of
from results import speeds

RESULTS = Path(__file__).parent
REPOSITORY = RESULTS.parent
SUMMED_UP = ("table-6", "fig-1", "fig-6", "fig-7")
DECAYED = {"weights": "kernels and matrices", "all": "all parameters"}
ABOUT_RESULTS = """\
# Results

Every claim beside what the records in `results/` say, the tables' networks counted, and speeds beside the peers';
`make results` writes this page. Claims, tolerances and words are explained in [Reproducing](reproducing.md),
differences from the paper in [Deviations](deviations.md)."""
ABOUT_MODELS = """\
# Models

Weights that come with the package, trained by us on the 50,000 training images of CIFAR-10 by the paper's recipe
(section 4.2): of each network the seed nearest the mean test error of all seeds we trained, at the end of training.
`results/ship.py` chose and tested them; `make results` writes this page from the files themselves.

{table}

```python
import reslab

network = reslab.create_model("resnet-20", weights="cifar10").eval()  # offline
network.preprocess, network.mean_image, network.class_names
reslab.list_models(pretrained=True)
```

```
reslab evaluate resnet-20 weights=cifar10
```

- **Input:** 32×32 RGB, pixels from 0 to 1, less the mean image of the training images (`network.mean_image`).
- **Output:** ten logits, in the order of `network.class_names`.
- **Use:** to study and compare. Ten kinds of things on photographs 32 pixels wide are all they know.
- **Licence:** Apache-2.0, as reslab itself. Trained on CIFAR-10 (Krizhevsky, 2009), which comes without a licence of
  its own; no image of it is in the files, only the mean of all."""


def main() -> None:
    """Write every page that differs from what it should be."""
    for path, text in render().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_text(path, text)
            print(f"wrote {path.relative_to(REPOSITORY)}")


def render() -> dict[Path, str]:
    """Return what each page should hold."""
    records, damages = read_records(RESULTS)
    assert not damages, damages
    claims = tables_about(records)
    judged = judge_runs([claim for members in claims.values() for claim in members], RESULTS)
    tables = {name: [verdict for verdict in judged.verdicts if verdict.claim.table == name] for name in claims}
    readme = REPOSITORY / "README.md"
    blocks = {
        "table-6": write_verdicts([verdict for verdict in tables["table-6"] if verdict.word != "not run"]),
        "summary": _write_summary({name: tables[name] for name in SUMMED_UP}),
        "speed": speeds.write_brief(),
    }
    return {
        readme: _replace_blocks(readme.read_text(encoding="utf-8"), blocks),
        REPOSITORY / "docs" / "results.md": _write_results(tables, records),
        REPOSITORY / "docs" / "models.md": _write_models(),
    }


def _replace_blocks(page: str, blocks: Mapping[str, str]) -> str:
    for name, text in blocks.items():
        opening, closing = f"<!-- {name}: make results -->\n", f"\n<!-- end of {name} -->"
        assert opening in page, f"README has no place for {name}"
        before, _, rest = page.partition(opening)
        page = before + opening + text + closing + rest.partition(closing)[2]
    return page


def _write_summary(tables: Mapping[str, Sequence[Verdict]]) -> str:
    """Count the verdicts of each table and figure, and of the orders that were run those that hold."""
    counted = {name: counts for name, _, counts in tabulate_verdicts([v for vs in tables.values() for v in vs])}
    words = [word for word in WORDS if any(word in counts for counts in counted.values())]
    rows = [
        [place(name), *[str(counted[name].get(word, "")) for word in words], _count_orders(verdicts)]
        for name, verdicts in tables.items()
    ]
    return write_table(("claims of", *words, "orders that hold"), rows)


def _count_orders(verdicts: Sequence[Verdict]) -> str:
    words = [verdict.word for verdict in _orders(verdicts) if verdict.word != "not run"]
    return f"{words.count('reproduced')} of {len(words)}" if words else ""


def _orders(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts on several networks together: what the figures are about."""
    return [verdict for verdict in verdicts if len(verdict.claim.settings) > 1]


def _write_orders(tables: Mapping[str, Sequence[Verdict]]) -> str:
    rows = [
        [
            place(verdict.claim.table),
            f"{verdict.claim.row}: {verdict.claim.quantity}",
            " → ".join(map(percent, verdict.values)),
            verdict.word,
        ]
        for verdicts in tables.values()
        for verdict in _orders(verdicts)
    ]
    return write_table(("", "claimed", "ours, means", "verdict"), rows, left=(0, 1, 3))


def _write_results(tables: Mapping[str, Sequence[Verdict]], records: Sequence[RunRecord]) -> str:
    parts = [ABOUT_RESULTS, "## In short", _write_summary(tables), _write_orders(tables)]
    parts += ["## Table 1", "`reslab reproduce table-1`", _write_table_1(), speeds.write_depths()]
    for name, verdicts in tables.items():
        parts += [f"## {place(name)}", f"`reslab reproduce {name} --from results`", write_verdicts(verdicts)]
        if name == "table-6":
            parts += ["Its networks counted, beside what it prints (`reslab describe NAME`):", _write_counts()]
    counts = {run: [] for run in (record.id for record in records)}
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
        "commit",
        "in",
    )
    parts += [
        "## Speed",
        speeds.write_training(),
        "## The fast recipe",
        speeds.write_fast(),
        "## Runs",
        "Each is a folder of that name in a folder of `results/`, with its trial, command, logs and result. "
        "The time is that of its sittings, in which it may have shared the device.",
        write_table(heads, [_run_cells(record, counts[record.id]) for record in records], left=(0, 1, 7, 8, 9)),
    ]
    return "\n\n".join(parts) + "\n"


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
            *[memory(one.activation_bytes[batch]) for batch in BATCHES],
        ]
        for one in counted
    ]
    remarks = [f"- {one.network}: {one.remark}." for one in counted if one.word != "reproduced" and one.remark]
    return "\n".join([write_table(heads, rows, left=(0, 3)), "", *remarks])


def _write_counts() -> str:
    rows = []
    for row in (row for row in TABLE_6 if row.network):
        cost = measure_cost(find(row.network))
        rows.append([row.network, count(cost.params), printed(row.params), count(cost.multiply_adds)])
    return write_table(("", "parameters", "published", "multiply-adds"), rows)


def _run_cells(record: RunRecord, counted: Sequence[str]) -> list[str]:
    return [
        f"`{record.id}`",
        name_of(record.trial.network),
        str(record.trial.seed),
        count(record.trial.recipe.iterations),
        percent(record.train_error_percent),
        percent(record.test_error_percent),
        duration(record.timings.seconds),
        f"{record.device}, {record.trial.recipe.precision}",
        short_commit(record.commit),
        ", ".join(counted),
    ]


def _write_models() -> str:
    names = sorted(list_shipped("cifar10"), key=lambda name: (name.split("-")[0], int(name.split("-")[1])))
    shipped = {name: read_weights("cifar10", like=create_model(name).spec) for name in names}
    rows = [
        [
            f"[{name}](#{name})",
            count(sum(p.numel() for p in create_model(name).parameters())),
            percent(weights.metrics["error_percent"]),
            _spread(weights),
            f"{(FOLDER / 'cifar10' / f'{name}.safetensors').stat().st_size / 2**20:.1f}",
        ]
        for name, weights in shipped.items()
    ]
    table = write_table(("network", "parameters", "test error %", "all seeds, mean ± std (n)", "MiB"), rows)
    cards = [_write_card(name, weights) for name, weights in shipped.items()]
    return "\n\n".join([ABOUT_MODELS.format(table=table), *cards]) + "\n"


def _write_card(name: str, weights: Weights) -> str:
    about, metrics = weights.provenance, weights.metrics
    recipe, optimizer, warmup = about["recipe"], about["recipe"]["optimizer"], about["recipe"]["warmup"]
    drops = " and ".join(count(drop * recipe["iterations"]) for drop in recipe["schedule"]["drops"])
    rate = f"learning rate {optimizer['learning_rate']:g}, times {recipe['schedule']['factor']:g} after {drops}"
    rows = [
        (
            "recipe",
            f"SGD, momentum {optimizer['momentum']:g}, weight decay {optimizer['weight_decay']:g}"
            f" of {DECAYED[optimizer['decay']]}, batches of "
            f"{recipe['batch']}, {rate}{_warmup(warmup)}; padded crops and flips",
        ),
        ("iterations", count(recipe["iterations"])),
        ("seed", str(about["seed"])),
        ("trained on", f"{about['device']}, {recipe['precision']}, commit {short_commit(about['commit'])}"),
        ("test error %, there", percent(metrics["recorded_error_percent"])),
        ("test error %, float32 on a CPU", percent(metrics["error_percent"])),
        ("test error % of all seeds, mean ± std (n)", _spread(weights)),
        ("parameters", count(sum(p.numel() for p in create_model(name).parameters()))),
        ("preprocessing", weights.preprocess.describe() if weights.preprocess else ""),
        ("run", f"`{about['trial']}`"),
    ]
    return f"## {name}\n\n" + write_table(("", ""), rows, left=(0, 1))


def _warmup(warmup: Mapping[str, float] | None) -> str:
    if warmup is None:
        return ""
    below = f"training error is below {warmup['until_error_percent']:g} %"
    return f", and {warmup['learning_rate']:g} at first until the {below}"


def _spread(weights: Weights) -> str:
    std = weights.metrics.get("std_error_percent")
    spread = "" if std is None else f" ± {percent(std)}"
    return f"{percent(weights.metrics['mean_error_percent'])}{spread} ({weights.metrics['seeds']:g})"


if __name__ == "__main__":
    main()
