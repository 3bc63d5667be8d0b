"""`reslab train [TRIAL.toml …] data=... network=... [recipe=...] [seed=...] [field=value ...] [--seeds N] [--dry-run]`.

With `--processes N`, or under torchrun, several processes do what is written here; the first alone prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from reslab.cli.terminal.show import SPEAKING, note_all, progress_console
from reslab.cli.train.four_steps import train_alternating
from reslab.cli.train.launcher import is_started_by_launcher
from reslab.cli.train.one_trial import train_one
from reslab.cli.train.rate_range import show_rates
from reslab.cli.train.trial_set import refuse_numbers, train_several
from reslab.cli.words.hints import hint_at_word
from reslab.cli.words.subjects import WHOLE, Compile, RunsFolder, runs_root, writable_root
from reslab.errors import UserError
from reslab.experiments.trials import (
    FORM,
    go_on_with_earlier,
    read_held_out_seed,
    read_trial,
    read_trial_file,
    take_epochs,
    take_form,
    tell_of_network,
    with_epochs,
)
from reslab.spec.trial import Trial, hint_at_field
from reslab.spec.words import split_words

if TYPE_CHECKING:
    from reslab.data.dataset import Dataset

MOST_PROCESSES = 64  # of one machine


def train(
    *fields: Annotated[str, Parameter(allow_leading_hyphen=True)],
    runs: RunsFolder = None,
    seeds: Annotated[int | None, WHOLE] = None,
    together: Annotated[int | None, WHOLE] = None,
    processes: Annotated[int, WHOLE] = 1,
    compile: Compile = False,
    snapshots: str | None = None,
    find_rate: bool = False,
    dry_run: bool = False,
) -> None:
    """Train a network, or resume a run.

        reslab train data=photos network=resnet-18 recipe.epochs=10

    The same command resumes a run that was stopped. Ctrl-C and SIGTERM save the state first and exit with code 130
    or 143. A finished run is not trained again, unless its weights are missing or damaged.

    Parameters
    ----------
    fields
        data=NAME|FOLDER network=NAME recipe=NAME|FILE.toml seed=N, and their fields, such as network.shortcut=B or
        recipe.epochs=10. weights=FILE|cifar10|imagenet|torchvision starts from trained weights and replaces the
        classifier if the classes differ. recipe.freeze=conv3 keeps the layers up to conv3 fixed. data.on_bad_image=skip
        skips images that cannot be read. task.form=alternating trains a detector in four steps. To train saved trials,
        write their TOML files first: `reslab train a.toml b.toml seed=2`.
    seeds
        Train with the seeds 1 to N, and print the mean of the results.
    together
        Train up to N trials at once, as memory allows. Default: up to 8 on a GPU; 1 on a CPU or for photographs.
    processes
        Split each batch among N processes on this machine, one GPU each. For several machines, start
        `torchrun -m reslab train`.
    snapshots
        Also keep the weights after these iterations (1000,2000) or fractions of the run (0.1,0.5), in the run's folder
        'snapshots'. 0 keeps those that training starts from. This does not change the training.
    find_rate
        Do not train: try rising learning rates for 100 iterations, print the losses, suggest a rate, and write a plot
        to the current folder.
    dry_run
        Do not train: print the complete trial as TOML, and the time, memory and disk space it needs. For several
        trials, print what they need and how many iterations are done.
    """
    subjects, given = _read_words(fields)
    refuse_numbers(seeds=seeds, together=together)
    if seeds is not None and "seed" in given:
        raise UserError("seed= and --seeds both set the seeds; give one of them")
    if not 1 <= processes <= MOST_PROCESSES or (processes > 1 and is_started_by_launcher()):
        how_many = f"give 1 to {MOST_PROCESSES}, or leave it out under torchrun"
        raise UserError(f"--processes is {processes}; {how_many}")
    if find_rate and dry_run:
        raise UserError("--find-rate trains, and --dry-run trains nothing; give one of them")
    root = runs_root(runs) if dry_run or find_rate else writable_root(runs)
    if take_form(given):
        if seeds or processes > 1 or is_started_by_launcher() or find_rate or subjects:
            raise UserError(
                f"{FORM} trains one seed in one process; leave out --seeds, --processes, --find-rate and TOML files"
            )
        train_alternating(given, root, compile=compile, snapshots=snapshots, dry_run=dry_run)
        return
    trials, dataset, weights = _read_trials(subjects, given, root, seeds=seeds)
    several_processes = processes > 1 or is_started_by_launcher()
    chosen = [] if subjects else _list_defaults(given, trials[0], weights)
    if find_rate:
        if len(trials) > 1 or several_processes:
            raise UserError("--find-rate is for one trial and one process; leave out --seeds and --processes")
        note_all(chosen)
        show_rates(trials[0], dataset, weights=weights)
    elif len(trials) > 1:
        if several_processes:
            raise UserError("several processes train only one trial; give one trial")
        note_all(chosen)
        train_several(
            trials,
            dataset,
            root,
            weights=weights,
            together=together,
            compile=compile,
            snapshots=snapshots,
            dry_run=dry_run,
        )
    else:
        options = [*(["--runs", str(runs)] if runs else []), *(["--seeds", str(seeds)] if seeds else [])]
        options += ["--compile"] * compile + (["--snapshots", snapshots] if snapshots else [])
        train_one(
            trials[0],
            dataset,
            root,
            weights=weights,
            processes=processes,
            command=["train", *fields, *options],
            compile=compile,
            snapshots=snapshots,
            dry_run=dry_run,
            notes=chosen,
        )


def _read_words(fields: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the TOML files and the fields among words; refuse others, with what they may mean."""
    for word in fields:
        if word.startswith("-"):
            option = word.split("=")[0]
            hint = hint_at_field(option.lstrip("-")) or "--help lists the options"
            raise UserError(f"there is no option {option}; {hint}")
    subjects, given = split_words(fields)
    for subject in subjects:
        if not subject.endswith(".toml"):
            hint = hint_at_field(subject) or hint_at_word(subject)
            raise UserError(f"train takes field=value pairs or TOML files, not '{subject}'; {hint}")
    return subjects, given


def _read_trials(
    subjects: Sequence[str], given: dict[str, str], root: Path, *, seeds: int | None
) -> tuple[list[Trial], Dataset, str | None]:
    """Return the trials that are asked for, each once, their data, and what they start from."""
    with progress_console.status("loading"):
        from reslab.data.catalogue import open_data

        if subjects:
            trials, dataset, weights = _read_files([Path(subject) for subject in subjects], given)
            trials = _expand(trials, seeds)
        else:
            place, drawn = given.get("data", "digits"), read_held_out_seed(given)
            dataset = open_data(place, held_out_seed=drawn, listener=SPEAKING)
            weights = given.pop("weights", None)

            def make_trials(data: Dataset) -> list[Trial]:
                return _expand([read_trial(given, data, weights=weights)], seeds)

            trials, dataset = go_on_with_earlier(make_trials, dataset, root, weights=weights, listener=SPEAKING)
    if len(different := list(dict.fromkeys(trials))) < len(trials):
        progress_console.print(f"duplicate trials left out: {len(trials) - len(different)}")
    return different, dataset, weights


def _read_files(paths: Sequence[Path], given: dict[str, str]) -> tuple[list[Trial], Dataset, str | None]:
    """Return the trials of TOML files, changed by the fields given, their data, and what they start from."""
    from reslab.data.catalogue import open_data

    place, weights, epochs = given.pop("data", None), given.pop("weights", None), take_epochs(given)
    trials = [read_trial_file(path, given) for path in paths]
    dataset = open_data(place or trials[0].data.name, known=trials[0].data, listener=SPEAKING)
    for path, trial in zip(paths, trials, strict=True):
        if trial.data.held_out_seed != trials[0].data.held_out_seed:
            raise UserError(f"{path} and {paths[0]} differ in data.held_out_seed; train them in separate commands")
        if dataset.fingerprint != trial.data.fingerprint:
            raise UserError(
                f"{dataset.name} is not the data that {path} was written for: its images have changed, or it is "
                "another folder with the same name; restore the images, or write a new file with --dry-run"
            )
    return [with_epochs(trial, epochs, dataset) for trial in trials], dataset, weights


def _expand(trials: Sequence[Trial], seeds: int | None) -> list[Trial]:
    """Return trials with the seeds 1 to `seeds` each, or as they are where none are asked for."""
    if seeds is None:
        return list(trials)
    return [replace(trial, seed=seed) for trial in trials for seed in range(1, seeds + 1)]


def _list_defaults(given: Mapping[str, str], trial: Trial, weights: str | None) -> list[str]:
    """Say what is trained where the fields do not."""
    told = [] if "data" in given else ["no data= given: training on digits"]
    return told + ([chosen] if (chosen := tell_of_network(given, trial, weights=weights)) else [])
