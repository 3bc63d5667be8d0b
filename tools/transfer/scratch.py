"""Imagenette from random weights at 160 pixels: the runs in results/imagenette."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from reslab.numbers import count, duration
from reslab.report.groups import Group, group_runs, spread
from reslab.report.markdown import write_table
from reslab.report.notation import commit_words, spread_words
from reslab.report.records import RunRecord
from reslab.runs.origins import count_images
from reslab.spec import name_of
from tools import RESULTS
from tools.transfer import kept

FOLDER = RESULTS / "imagenette"
SIDE = 160
NETWORKS = ("resnet-18", "resnet-34", "resnet-50")
FIELDS = "recipe=photos recipe.epochs=40 recipe.batch=128 recipe.optimizer.learning_rate=0.2"
ABOUT = f"""\
Imagenette is ten classes of ImageNet that are easy to tell apart. These networks begin with random weights and see
{SIDE}×{SIDE} pixels. [Runs](runs.md) lists each run. Those of ResNet-18 and -34 shared the
machine with other trainings, so the times are not comparable."""
HEADS = ("network", "epochs", "iterations", "test error %, mean ± std (n)", "time of each", "device", "commits")


def write(records: Sequence[RunRecord]) -> list[str]:
    """Write error and time of each network, and the commands."""
    groups = group_runs([record for record in records if record.directory.path.parent == FOLDER])
    rows: list[Sequence[str]] = []
    missing = []
    for network in NETWORKS:
        of_network = [group for group in groups if name_of(group.runs[0].trial.network).split()[0] == network]
        if not of_network:
            rows.append((network, *[""] * 2, "not run", *[""] * 3))
            fields = f"network={network} network.input_size={SIDE} {FIELDS}"
            missing.append(f"reslab train data=imagenette-160 {fields} --seeds 3 --runs runs")
        rows += map(_write_row, of_network)
    return [ABOUT, write_table(HEADS, rows, left=(0, 5, 6)), *_cite(groups), *kept.cite([], missing)]


def _write_row(group: Group) -> list[str]:
    runs = group.finished
    trial = runs[0].trial
    images = count_images(runs[0].directory)
    recipe = trial.recipe
    together = max((run.together or 1 for run in runs), default=1)
    return [
        group.label,
        f"{recipe.iterations * recipe.batch / images[0]:.1f}" if images else "",
        count(recipe.iterations),
        f"{spread_words(spread([run.test_score for run in runs]))} ({len(runs)})",
        duration(statistics.fmean(_seconds(run) for run in runs)) + (f", {together} at once" if together > 1 else ""),
        f"{runs[0].device}, {recipe.precision}",
        commit_words(list(dict.fromkeys(commit for run in runs for commit in run.commits))),
    ]


def _cite(groups: Sequence[Group]) -> list[str]:
    """Write what was typed, and how long all of it took."""
    runs = [run for group in groups for run in group.finished]
    if not runs:
        return []
    commands = [sitting.command for run in runs for sitting in run.sittings]
    times = duration(sum(map(_seconds, runs)))
    return [kept.write_block(commands), f"Runs: {len(runs)}. Their times add up to {times}."]


def _seconds(run: RunRecord) -> float:
    return run.timings.seconds or 0.0
