"""`reslab reproduce TABLE [--seeds N] [--only NAMES] [--from DIR] [field=value ...]`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from reslab.cli.progress import StopSignals, TrialBars, make_bars
from reslab.cli.show import console, duration, make_table, memory, print_json, progress_console
from reslab.cli.subjects import runs_root, split_words
from reslab.errors import UserError, choices, suggest
from reslab.paper.claims import CLAIMS, Claim
from reslab.paper.measurements import ResponseStd
from reslab.report.reporting import judge_runs
from reslab.report.verdicts import Verdict
from reslab.runs.directory import RunDirectory
from reslab.spec.codec import encode

MOST_TOGETHER = 32  # torch has so many streams of a kind


def reproduce(
    *words: str,
    seeds: int = 1,
    only: str = "",
    from_: Annotated[Path | None, Parameter(name="--from")] = None,
    runs: Path | None = None,
    together: int | None = None,
    compile: bool = False,
    json: bool = False,
) -> None:
    """Run what is missing of a table or figure, and print ours beside published, with verdicts.

    What is finished is not run again, what was interrupted goes on. Ctrl-C and SIGTERM save the state first and end
    with exit codes 130 and 143.

    Parameters
    ----------
    words
        table-6, fig-1, fig-6 or fig-7; then fields to change, such as recipe.iterations=2000: a reduced setting.
    seeds
        Run seeds 1 to N.
    only
        These networks only, with commas between.
    from_
        Judge the runs in this folder, and train nothing.
    runs
        The folder for runs; RESLAB_RUNS, or runs.
    together
        Train so many at once, as memory allows; on a GPU up to 8, else 1.
    compile
        Put torch.compile under the training: slower to start, faster afterwards.
    json
        Print JSON.
    """
    subjects, fields = split_words(words)
    claims = choose_claims(subjects, only)
    if seeds < 1:
        raise UserError(f"--seeds is {seeds}; give a whole number of at least 1")
    if together is not None and not 1 <= together <= MOST_TOGETHER:
        raise UserError(f"--together is {together}; give a whole number from 1 to {MOST_TOGETHER}")
    if from_ is None:
        root = runs_root(runs)
        _run(claims, fields, root, seeds=seeds, together=together, compile=compile)
    elif fields or runs:
        raise UserError("--from judges the runs that are there; leave out --runs and the fields")
    elif not from_.is_dir():
        raise UserError(f"there is no folder {from_}; give --from a folder of runs")
    else:
        root = from_
    verdicts, damages = judge_runs(claims, root)
    for damage in damages:
        progress_console.print(f"warning: {damage.id}: {damage.sentence}", soft_wrap=True)
    if json:
        print_json([_plain(verdict) for verdict in verdicts])
    else:
        _print(subjects[0], verdicts, root)


def choose_claims(subjects: Sequence[str], only: str) -> list[Claim]:
    """Return the claims of the table or figure that `subjects` name, those about the networks `only` names."""
    if len(subjects) != 1:
        raise UserError(f"reproduce takes one table or figure and got {len(subjects)}; choose {choices(CLAIMS)}")
    table = subjects[0]
    if table not in CLAIMS:
        raise UserError(f"there is no '{table}' to reproduce{suggest(table, CLAIMS) or f'; choose {choices(CLAIMS)}'}")
    networks = list(dict.fromkeys(setting.network for claim in CLAIMS[table] for setting in claim.settings))
    wanted = [name.strip().lower().replace("_", "-") for name in only.split(",") if name.strip()]
    for name in wanted:
        if name not in networks:
            raise UserError(f"{table} has no '{name}'{suggest(name, networks) or '; it has ' + ', '.join(networks)}")
    return [
        claim
        for claim in CLAIMS[table]
        if not wanted or (claim.settings and all(setting.network in wanted for setting in claim.settings))
    ]


def _run(
    claims: Sequence[Claim], fields: dict[str, str], root: Path, *, seeds: int, together: int | None, compile: bool
) -> None:
    """Run what the claims lack under `root`."""
    with progress_console.status("loading"):
        import torch

        from reslab.data.catalogue import load_dataset
        from reslab.experiments.analyze import responses_of
        from reslab.experiments.estimate import check_room_for_set, estimate_set
        from reslab.experiments.reproduce import expand, run_missing
        from reslab.experiments.together import most_together
        from reslab.paper.claims import CIFAR10

        dataset = load_dataset(CIFAR10.name)
        trials = expand(claims, dataset, seeds=seeds, overrides=fields)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    together = together or most_together(device)
    missing = [trial for trial in trials if RunDirectory.of(trial, root).state != "finished"]
    iterations = sum(trial.recipe.iterations for trial in missing)
    progress_console.print(
        f"trials: {len(trials)}, finished: {len(trials) - len(missing)}, to run: {len(missing)} on {device}, "
        f"{iterations:,} iterations in all",
        soft_wrap=True,
    )
    with progress_console.status("timing a few steps"):
        estimate = estimate_set(missing, dataset, root, together=together, device=device)
    if estimate is not None:
        less = f" (less with {together} at once)" if together > 1 else ""
        progress_console.print(
            f"about {duration(estimate.seconds)} one after the other{less}, {memory(estimate.memory_bytes)} of memory, "
            f"{memory(estimate.disk_bytes)} of disk",
            soft_wrap=True,
        )
        if warning := check_room_for_set(estimate, missing, root, device=device):
            progress_console.print(f"warning: {warning}", soft_wrap=True)
    responses = any(isinstance(claim.measurement, ResponseStd) for claim in claims)

    def measure(run: RunDirectory) -> None:
        if responses:
            responses_of(run, dataset, device=device)

    with StopSignals() as stop, make_bars() as progress:
        run_missing(
            trials,
            dataset,
            root,
            device=device,
            together=together,
            compile=compile,
            begin=TrialBars(progress, missing).begin,
            warn=lambda sentence: progress.console.print(f"warning: {sentence}", soft_wrap=True),
            should_stop=stop.wanted,
            measure=measure,
        )


def _print(table: str, verdicts: Sequence[Verdict], root: Path) -> None:
    page = make_table(f"{table} ({root})", "", "<", "published", "ours", "difference", "verdict<")
    for verdict in verdicts:
        claim = verdict.claim
        difference = "" if verdict.difference is None else f"{verdict.difference:+.2f}"
        page.add_row(claim.row, claim.quantity, claim.published_words, _ours(verdict), difference, verdict.word)
    console.print(page)
    remarks: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.remarks:
            remarks.setdefault(verdict.remarks, []).append(verdict.claim.row)
    if remarks:
        console.print()
    for remark, rows in remarks.items():
        console.print(f"{', '.join(dict.fromkeys(rows))}: {remark}", soft_wrap=True)


def _ours(verdict: Verdict) -> str:
    """Write mean ± std (n); of an order, the means one after the other."""
    if verdict.mean is None:
        return " → ".join(f"{value:.2f}" for value in verdict.values)
    spread = "" if verdict.std is None else f" ± {verdict.std:.2f}"
    return f"{verdict.mean:.2f}{spread} ({verdict.n})"


def _plain(verdict: Verdict) -> dict[str, Any]:
    names = ("word", "values", "n", "mean", "std", "difference", "runs", "remarks")
    return {"claim": encode(verdict.claim), **{name: encode(getattr(verdict, name)) for name in names}}
