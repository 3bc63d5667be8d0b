"""`reslab reproduce TABLE… [--seeds N] [--only NAMES] [--from DIR] [field=value ...]`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from reslab.cli.completion import complete_places
from reslab.cli.reproduce.cost_table import reproduce_table_1
from reslab.cli.reproduce.images import open_images, stand_in, tell_of_other_images
from reslab.cli.reproduce.release import print_release, reproduce_release
from reslab.cli.terminal.asking import ask_before
from reslab.cli.terminal.checked_records import warn_of
from reslab.cli.terminal.progress import StopSignals, TrialBars, make_bars
from reslab.cli.terminal.show import console, make_table, note, print_json, progress_console, say
from reslab.cli.train.trial_set import label_runs, print_runs, refuse_numbers, tell_needs
from reslab.cli.words.subjects import WHOLE, Compile, Json, RunsFolder, runs_root, writable_root
from reslab.errors import UserError, choices, suggest
from reslab.numbers import about, signed
from reslab.paper.claim import Claim
from reslab.paper.claims import CLAIMS
from reslab.report.markdown import gather_remarks
from reslab.report.notation import ours, place
from reslab.report.release import judge_release
from reslab.report.reporting import Judgement, judge_runs
from reslab.report.verdicts import Verdict
from reslab.spec import name_of
from reslab.spec.codec import encode
from reslab.spec.words import split_words

if TYPE_CHECKING:
    from reslab.experiments.estimate import Estimate
    from reslab.experiments.reproduce import Plan
    from reslab.spec.trial import Trial

COUNTED, RELEASE = "table-1", "release"
PLACES = (COUNTED, *CLAIMS, RELEASE)


def reproduce(
    *words: Annotated[str, Parameter(completer=complete_places)],
    seeds: Annotated[int | None, WHOLE] = None,
    only: str = "",
    from_: Annotated[Path | None, Parameter(name="--from")] = None,
    runs: RunsFolder = None,
    together: Annotated[int | None, WHOLE] = None,
    compile: Compile = False,
    measure: bool = False,
    yes: bool = False,
    dry_run: bool = False,
    json: Json = False,
) -> None:
    """Train the missing runs of a table or figure, and compare the results with the paper.

        reslab reproduce table-6 --only resnet-20,resnet-56

    It first prints what it will train and measure and how long that takes, and asks if that is more than 5 minutes.
    Finished runs are not trained again; interrupted runs resume. Ctrl-C and SIGTERM save the state first and exit with
    code 130 or 143.

    Parameters
    ----------
    words
        table-1 to table-12, fig-1, fig-4, fig-6, fig-7, shortcuts, norms or release. Give several if they train on the
        same images. table-1 counts parameters and multiply-adds and trains nothing. release tests the authors' ImageNet
        weights on the photographs of data=FOLDER, or of --from DIR prints the records. Then fields to change, such as
        recipe.iterations=2000 (a reduced setting). For ImageNet tables: data=FOLDER is a folder
        with ImageNet, or with other photographs, and data=tiny-imagenet is a dataset (then the verdict is 'reduced
        setting'). For table-7 to table-12 and norms, which compares frozen and trained batch norm: data=FOLDER has
        Pascal VOC, COCO, ImageNet's detection data, or other annotated objects (then the verdict is 'reduced setting'),
        and weights=FILE|imagenet|torchvision are what detectors start from. data.on_bad_image=skip skips images that
        cannot be read.
    seeds
        Train with the seeds 1 to N. Default: seed 1.
    only
        Only these networks, separated by commas.
    from_
        Compare the runs in this folder. Train nothing.
    together
        Train up to N runs at once, as memory allows. Default: up to 8 on a GPU; 1 on a CPU or for photographs.
    measure
        For table-1: also time the networks on this machine. On a GPU, also measure their memory and the largest batch
        that fits.
    yes
        Start without asking. Without a terminal, this is required if training takes more than 5 minutes.
    dry_run
        Print what would be trained or timed, and how long it takes. Do nothing.
    """
    subjects, fields = split_words(words)
    if subjects == [COUNTED]:
        if fields or seeds or only or from_ or runs or together or compile or yes:
            raise UserError(f"{COUNTED} is counted, not trained; it takes only --measure, --dry-run and --json")
        reproduce_table_1(measure=measure, dry_run=dry_run, json=json)
        return
    if subjects == [RELEASE]:
        if fields.keys() - {"data"} or seeds or only or together or compile or measure:
            known = "data=, --from, --runs, --yes, --dry-run and --json"
            raise UserError(f"{RELEASE} only tests, and trains nothing; it takes {known}")
        if from_ is not None:
            if not from_.is_dir():
                raise UserError(f"there is no folder {from_}; give --from a folder of runs")
            print_release(judge_release(from_), from_, json=json)
        else:
            root = runs_root(runs) if dry_run else writable_root(runs)
            reproduce_release(fields.get("data"), root, yes=yes, dry_run=dry_run, json=json)
        return
    claims = choose_claims(subjects, only)
    if measure:
        raise UserError(f"--measure is only for {COUNTED}; leave out --measure")
    refuse_numbers(seeds=seeds, together=together)
    data, weights = fields.pop("data", None), fields.pop("weights", None)
    if from_ is None:
        root = runs_root(runs) if dry_run else writable_root(runs)
        dataset = open_images(claims, ", ".join(subjects), data, root)
        with progress_console.status("loading"):
            from reslab.experiments.reproduce import plan_runs

            amount = {"seeds": seeds or 1, "together": together}
            plan = plan_runs(claims, dataset, root, fields=fields, weights=weights, **amount)
        estimate, test_seconds = _tell_plan(plan, refusing=not dry_run)
        if dry_run:
            _print_plan(plan, estimate, test_seconds, json=json)
            return
        seconds = test_seconds + (estimate.seconds if estimate else 0)
        ask_before("training" if estimate else "testing", seconds, yes=yes)
        _run(plan, compile=compile)
        claims = plan.claims
    elif fields or weights or runs or seeds or together or compile or yes or dry_run:
        raise UserError("--from compares existing runs and trains nothing; with it, give only data=, --only and --json")
    elif not from_.is_dir():
        raise UserError(f"there is no folder {from_}; give --from a folder of runs")
    elif (from_ / "trial.json").exists():
        raise UserError(f"{from_} is one run; give --from the folder that holds it")
    else:
        root = from_
        if data is not None:
            claims = stand_in(claims, ", ".join(subjects), data, root)
    judged = judge_runs(claims, root)
    if from_ is not None and data is None:
        tell_of_other_images(claims, judged, root)
    warn_of(judged.damages)
    if json:
        print_json([_plain(verdict) for verdict in judged.verdicts])
    else:
        _print(judged, root)


def choose_claims(tables: Sequence[str], only: str) -> list[Claim]:
    """Return the claims of these tables and figures, those about the networks `only` names."""
    if not tables:
        raise UserError(f"reproduce takes a table or figure; choose {choices(PLACES)}")
    for table in tables:
        if table == COUNTED:
            raise UserError(f"{COUNTED} is counted, not trained; reproduce it in a separate command")
        if table not in CLAIMS:
            known = suggest(table, PLACES) or f"; choose {choices(PLACES)}"
            raise UserError(f"'{table}' is not a table or figure{known}")
    claims = [claim for table in dict.fromkeys(tables) for claim in CLAIMS[table]]
    names = [{setting.data.name for claim in CLAIMS[table] for setting in claim.settings} for table in tables]
    if not set.intersection(*names):
        raise UserError(f"{', '.join(tables)} train on different images; reproduce them in separate commands")
    networks = list(dict.fromkeys(setting.network for claim in claims for setting in claim.settings))
    wanted = [name.strip().lower().replace("_", "-") for name in only.split(",") if name.strip()]
    if only and not wanted:
        raise UserError(f"--only is {only!r}; give network names separated by commas")
    for name in wanted:
        if not any(_means(name, network) for network in networks):
            known = suggest(name, networks) or "; choose " + ", ".join(networks)
            raise UserError(f"{', '.join(tables)} has no network '{name}'{known}")

    def chosen(claim: Claim) -> bool:
        return bool(claim.settings) and all(
            any(_means(name, setting.network) for name in wanted) for setting in claim.settings
        )

    return [claim for claim in claims if not wanted or chosen(claim)]


def _means(name: str, network: str) -> bool:
    """Whether `name` means `network`: with its fields, or without naming any fields."""
    return name in (network.lower(), network.split()[0])


def _tell_plan(plan: Plan, *, refusing: bool) -> tuple[Estimate | None, float]:
    """Print what a plan trains and tests; return what training takes, None if no run is missing, and testing."""
    missing, labels = plan.missing, _label_trials(plan)
    if networks := dict.fromkeys(labels[trial] for trial in missing):
        numbers = sorted({trial.seed for trial in missing})
        seeds = f"seeds {numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"seed {numbers[0]}"
        note(f"to train: {', '.join(networks)}; {seeds}")
    where = {"together": plan.together, "device": plan.device}
    estimate = tell_needs(list(plan.trials), missing, plan.dataset, plan.root, **where, refusing=refusing)
    return estimate, _tell_tests(plan, labels)


def _label_trials(plan: Plan) -> dict[Trial, str]:
    """Name the trials of a plan by what tells them apart."""
    return label_runs({trial: plan.run_of(trial) for trial in plan.trials}, plan.weights)


def _tell_tests(plan: Plan, labels: Mapping[Trial, str]) -> float:
    """Print by what a plan tests which networks, besides the test at the end of each run; return the seconds."""
    from reslab.experiments.estimate import estimate_tests

    named: dict[str, dict[str, None]] = {}
    for by, trials in plan.unmeasured:
        names = " + ".join(labels[trial] for trial in trials)
        named.setdefault(by, {})[names] = None
    if not named:
        return 0
    with progress_console.status("timing a few steps"):
        tests = [(by, trial) for by, trials in plan.unmeasured for trial in trials]
        seconds = estimate_tests(tests, plan.dataset, device=plan.device)
    told = "; ".join(f"{by} of {', '.join(names)}" for by, names in named.items())
    note(f"to measure: {told}; {about(seconds)}")
    return seconds


def _print_plan(plan: Plan, estimate: Estimate | None, test_seconds: float, *, json: bool) -> None:
    runs = {trial: plan.run_of(trial) for trial in plan.trials}
    if not json:
        print_runs(runs, plan.root, weights=plan.weights)
        return
    trials = [
        {"id": trial.id, "network": name_of(trial.network), "seed": trial.seed, "state": run.state}
        for trial, run in runs.items()
    ]
    tests = [{"by": by, "trials": [trial.id for trial in together]} for by, together in plan.unmeasured]
    needs = {"needs": encode(estimate), "measuring_seconds": test_seconds}
    print_json({"trials": trials, "to_run": len(plan.missing), "to_measure": tests, **needs})


def _run(plan: Plan, *, compile: bool) -> None:
    """Run the missing trials of a plan."""
    from reslab.experiments.reproduce import reproduce as run_plan

    labels = _label_trials(plan)
    with StopSignals() as stop, make_bars() as progress:
        run_plan(plan, compile=compile, listener=TrialBars(progress, plan.missing, labels=labels).listener(stop))


def _print(judged: Judgement, root: Path) -> None:
    columns = ("", "<", "published", "ours, mean ± std", "n", "difference", "verdict<")
    for number, (table, group) in enumerate(groupby(judged.verdicts, key=lambda verdict: verdict.claim.table)):
        if number:
            console.print()
        verdicts = list(group)
        page = make_table(f"{place(table)} ({root})", *columns, give_way=("n", "difference"))
        for verdict in verdicts:
            claim = verdict.claim
            numbers = (claim.published_words, ours(verdict), str(verdict.n or ""), signed(verdict.difference))
            page.add_row(claim.row, claim.quantity, *numbers, verdict.word)
        console.print(page)
        console.print()
        for remark, rows in gather_remarks(verdicts).items():
            say(f"{', '.join(rows)}: {remark}")
    counted = {run for verdict in judged.verdicts for run in verdict.runs}
    say(f"runs in {root}: {judged.num_runs}, counted above: {len(counted)}; --json lists them")


def _plain(verdict: Verdict) -> dict[str, Any]:
    names = ("word", "values", "n", "mean", "std", "difference", "runs", "remarks")
    cells = [
        {"network": setting.network, "recipe": setting.recipe, "values": encode(values), "runs": encode(runs)}
        for setting, values, runs in verdict.cells
    ]
    judged = {name: encode(getattr(verdict, name)) for name in names}
    return {"claim": encode(verdict.claim), **judged, "settings": cells, "command": _command(verdict.claim)}


def _command(claim: Claim) -> str | None:
    """Return what trains and tests for a claim, as far as it is known without the files; None where nothing does."""
    if not claim.settings:
        return None
    networks = dict.fromkeys(setting.network for setting in claim.settings)
    words = ["reslab reproduce", claim.table, "--only", shlex.quote(",".join(networks))]
    if any(not setting.data.fingerprint for setting in claim.settings):
        words.append("data=FOLDER")
    if any(setting.start for setting in claim.settings):
        words.append("weights=FILE")
    return " ".join(words)
