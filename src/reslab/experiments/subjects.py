"""What a user points at becomes trained networks with images to test them on, for the command line and Python alike.

A subject is a run (its folder or the start of its id; at a step RUN@STEP), a weight file, or a network's name with
weights.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from reslab.data.catalogue import LOADERS, load_dataset, open_data
from reslab.data.dataset import Dataset
from reslab.data.photos.pixels import drop_advice
from reslab.data.reading import BadImage
from reslab.errors import UserError, choices
from reslab.experiments.trained import (
    Trained,
    choose_inputs,
    explain_lost_data,
    find_own_data,
    load_file,
    load_run,
    refuse_other_draws,
)
from reslab.files import exists, is_folder
from reslab.runs.directory import RunDirectory, default_root, match_runs, only_run, split_step
from reslab.runtime.execution import choose_device
from reslab.runtime.listener import Listener
from reslab.shipped import sets_of
from reslab.spec import find, is_network, name_of
from reslab.spec.codec import convert
from reslab.spec.trial import SplitName
from reslab.spec.words import Fields, is_file, preprocess_fields, refuse_unknown, skips_bad, split_subject
from reslab.tasks.subject import Subject

Given: TypeAlias = str | Path | RunDirectory


def read_fields(
    verb: str, fields: Fields | None, known: Sequence[str], arguments: Mapping[str, str | Path | None]
) -> dict[str, Any]:
    """Return the fields a call is given, its `arguments` among them; refuse what `verb` does not know."""
    for name in arguments:
        if fields and name in fields:
            raise UserError(f"'{name}' is an argument of {verb}, not a field; write {verb}(..., {name}=...)")
    given = {name: str(value) for name, value in arguments.items() if value is not None} | dict(fields or {})
    refuse_unknown(verb, given, (*arguments, *known))
    return given


class Noted:
    """Takes note of bad images, each once."""

    def __init__(self) -> None:
        self.sentences: dict[str, None] = {}

    def __call__(self, error: BadImage) -> None:
        self.sentences[drop_advice(str(error))] = None


@contextlib.contextmanager
def note_bad(fields: Fields, warn: Callable[[str], None]) -> Iterator[Noted | None]:
    """Yield what takes note of bad images and warns of each at the end; None where they are to stop the work."""
    noted = Noted() if skips_bad(fields) else None
    yield noted
    for sentence in noted.sentences if noted else ():
        warn(f"skipped: {sentence}")


def load_trained(subject: Given, fields: Fields, runs: str | Path | None = None) -> Trained:
    """Load what a subject stands for: a run's network, a weight file's, or a named one with weights=FILE."""
    if isinstance(subject, RunDirectory):
        return load_run(subject)
    root = Path(runs) if runs else default_root()
    name, own = split_subject(str(subject))
    weights = own.pop("weights", None) or fields.get("weights")
    if is_file(name):
        if weights is not None:
            raise UserError(f"{name} is already a weight file; leave out weights={weights}")
        if name.endswith(".onnx"):
            raise UserError(
                f"{name} is an ONNX file, which only `reslab predict` takes; give the weights it was exported from"
            )
        return load_file(name, overrides=own)
    named, step = split_step(name)
    if weights is not None:
        if step is not None and is_network(named):
            raise UserError(f"'{name}' is a step of a run, and weights={weights} are of none; leave out @{step}")
        return load_file(weights, name=name, overrides=own)
    name = named
    matching = match_runs(name, root)
    if not matching:
        raise UserError(_unknown(name, root, step))
    if own:
        raise UserError(f"a run already has its network; leave {choices(own)} out")
    if step is not None:
        matching = [run for run in matching if step in run.snapshots] or matching
    return load_run(only_run(name, matching, finished=True), step=step)


def load_inputs(
    members: Sequence[Trained], fields: Fields, *, listener: Listener, device: str | None = None
) -> list[Subject]:
    """Pair networks with the same images, as fields ask for them, or what they were trained to be tested on."""
    choose = partial(
        choose_inputs,
        dataset=open_tested(members, fields.get("data"), listener),
        split=convert(SplitName, fields["data.split"], where="data.split") if "data.split" in fields else None,
        preprocess=preprocess_fields(fields),
        skip_bad=skips_bad(fields) if "data.on_bad_image" in fields else None,
        listener=listener,
        device=choose_device(device),
    )
    return list(map(choose, members))


def open_tested(members: Sequence[Trained], data: str | None, listener: Listener) -> Dataset:
    """Open the data that is asked for, else what all members were trained on."""
    if data is not None:
        known = next((one.data for one in members if one.of_photographs), None)
        dataset = open_data(data, known=known, listener=listener)
        refuse_other_draws(members, dataset)
        return dataset
    names = {trained.data.name: trained.origin for trained in members if trained.data}
    if not names:
        raise UserError(f"{members[0].origin} does not say what data it was trained on; write data=NAME|FOLDER")
    if len(names) > 1:
        said = [f"{origin} was trained on {name}" for name, origin in names.items()]
        raise UserError(f"{said[0]} and {said[1]}; write data=NAME|FOLDER to say what to test them on")
    (name,) = names
    if name in LOADERS:
        return load_dataset(name)
    dataset = next(filter(None, map(find_own_data, members)), None)
    if dataset is None:
        raise UserError(explain_lost_data(next(trained for trained in members if trained.data)))
    refuse_other_draws(members, dataset)
    return dataset


def refuse_overwriting(
    out: Path, subject: Given, fields: Fields | None = None, run: RunDirectory | None = None
) -> None:
    """Refuse to write over the weights that are read, or into a run: another form keeps less of what they say."""
    name, own = ("", {}) if isinstance(subject, RunDirectory) else split_subject(str(subject))
    words = (name, own.get("weights", ""), str((fields or {}).get("weights", "")), str(run.weights) if run else "")
    if any(exists(Path(word)) and exists(out) and Path(word).samefile(out) for word in words):
        raise UserError(f"{out} is the input file; write to another file")
    if out.suffix == ".safetensors" and exists(out) and exists(out.parent / "trial.json"):
        raise UserError(f"{out} belongs to a run; write to another file")


def _unknown(subject: str, root: Path, step: int | None) -> str:
    if not is_network(subject):
        folder = is_folder(Path(subject))
        hint = f"give a run or a weight file, and data={subject}" if folder else "`reslab runs` lists the runs"
        if is_network(small := f"cifar-{subject}"):  # as tables and charts call it, which leave out what data implies
            hint = f"did you mean {small}?"
        return f"'{subject}' is not a weight file, a run in {root} or a network; {hint}"
    if step is not None:
        return (
            f"no run in {root} starts with '{subject}', and only runs have steps; give a run id with @{step}, or leave "
            f"out @{step} and pass weights=FILE"
        )
    shipped = [f"weights={weights}" for weights in sets_of(name_of(find(subject)))]
    return f"no run in {root} starts with '{subject}'; pass {', '.join(['weights=FILE', *shipped])} or a run id"
