"""What `evaluate` and `analyze` are told: a run, a weight file or a network with weights=FILE, and on which images."""

from __future__ import annotations

import contextlib
import multiprocessing
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from multiprocessing import forkserver
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from reslab.cli.terminal.progress import Name, Rate
from reslab.cli.terminal.show import SPEAKING, progress_console, warn
from reslab.cli.words.subjects import is_file, split_subject, split_words, take_count
from reslab.errors import UserError, choices
from reslab.files import exists, is_folder
from reslab.runs.directory import match_runs, only_run
from reslab.runtime.listener import Listener
from reslab.shipped import sets_of
from reslab.spec import find, is_network, name_of
from reslab.spec.codec import convert
from reslab.spec.trial import OnBadImage, SplitName

if TYPE_CHECKING:
    from reslab.data.dataset import Dataset
    from reslab.data.reading import BadImage
    from reslab.experiments.trained import Trained
    from reslab.tasks.subject import Subject

LISTED = "`reslab runs` lists the runs"
GPU = Path("/dev/nvidiactl")  # torch would know, and is not imported yet
# - is a word: the list of images on standard input.
ImageWord = Annotated[str, Parameter(allow_leading_hyphen=True)]


def skips_bad(fields: Mapping[str, str]) -> bool:
    """Whether fields ask to go on past images that cannot be read."""
    return convert(OnBadImage, fields.get("data.on_bad_image", "stop"), where="data.on_bad_image") == "skip"


def load_trained(subject: str, fields: Mapping[str, str], root: Path) -> Trained:
    """Load what a subject stands for: a run's network, a weight file's, or a named one with weights=FILE."""
    from reslab.experiments.trained import load_file, load_run

    name, own = split_subject(subject)
    weights = own.pop("weights", None) or fields.get("weights")
    if is_file(name):
        if weights is not None:
            raise UserError(f"{name} is a weight file and weights={weights} another; give one of them")
        return load_file(name, overrides=own)
    if weights is not None:
        return load_file(weights, name=name, overrides=own)
    matching = match_runs(name, root)
    if not matching:
        raise UserError(_unknown(name, root))
    if own:
        raise UserError(f"a run has its network: leave {choices(own)} out")
    return load_run(only_run(name, matching, finished=True))


def load_inputs(members: Sequence[Trained], fields: Mapping[str, str]) -> list[Subject]:
    """Pair networks with the same images, as fields ask for them, or what they were trained to be tested on."""
    from reslab.experiments.trained import choose_inputs
    from reslab.runtime.execution import choose_device

    choose = partial(
        choose_inputs,
        dataset=_open(fields, members),
        split=convert(SplitName, fields["data.split"], where="data.split") if "data.split" in fields else None,
        preprocess=preprocess_fields(fields),
        images=take_count(dict(fields), "images", 1) if "images" in fields else None,
        skip_bad=skips_bad(fields) if "data.on_bad_image" in fields else None,
        listener=Listener(warn=cache(warn)),  # what is said of several members is said once
        device=choose_device(),
    )
    return list(map(choose, members))


def start_workers(fields: Mapping[str, str]) -> None:
    """Let the process that those who decode photographs beside a GPU come from start, while torch is imported here."""
    if GPU.exists() and "data" in fields and is_folder(Path(fields["data"])):
        preloaded = ["reslab.data.workers", "reslab.data.photos.folder"]
        multiprocessing.get_context("forkserver").set_forkserver_preload(preloaded)
        forkserver.ensure_running()


def _open(fields: Mapping[str, str], members: Sequence[Trained]) -> Dataset:
    """Open the data that is asked for, else what all members were trained on."""
    from reslab.data.catalogue import LOADERS, load_dataset, open_data
    from reslab.experiments.trained import explain_lost_data, find_own_data, refuse_other_draws

    if "data" in fields:
        known = next((one.data for one in members if one.of_photographs), None)
        dataset = open_data(fields["data"], known=known, listener=SPEAKING)
        refuse_other_draws(members, dataset)
        return dataset
    names = {trained.data.name: trained.origin for trained in members if trained.data}
    if not names:
        raise UserError(f"{members[0].origin} does not say what data it is for; write data=cifar10")
    if len(names) > 1:
        said = [f"{origin} was trained on {name}" for name, origin in names.items()]
        raise UserError(f"{said[0]} and {said[1]}; write data= to say what they are tested on")
    (name,) = names
    if name in LOADERS:
        return load_dataset(name)
    dataset = next(filter(None, map(find_own_data, members)), None)
    if dataset is None:
        raise UserError(explain_lost_data(next(trained for trained in members if trained.data)))
    refuse_other_draws(members, dataset)
    return dataset


def read_image_words(verb: str, words: Sequence[str], known: tuple[str, ...]) -> tuple[list[str], dict[str, str]]:
    """Split words into images or folders and `known` fields; - stands for the paths on standard input, one a line."""
    existing = {word for word in words if "=" in word and exists(Path(word))}
    _, fields = split_words([word for word in words if word not in existing])
    paths: list[str] = []
    for word in words:
        if word.startswith("-") and word != "-" and not exists(Path(word)):
            raise UserError(f"there is no option {word.split('=')[0]}; --help lists those there are")
        if re.match(r"(https?|ftp|file)://", word):
            raise UserError(f"'{word}' is a URL, and URLs are not fetched; download the image and give its path")
        if word == "-":
            paths += [line for line in sys.stdin.read().splitlines() if line]
        elif word in existing or "=" not in word:
            paths.append(word)
    refuse_unknown(verb, fields, known)
    return paths, fields


@contextlib.contextmanager
def note_bad(fields: Mapping[str, str]) -> Iterator[Callable[[BadImage], None] | None]:
    """Yield what takes note of bad images, to be told at the end, each once; None where they are to stop the work."""
    if not skips_bad(fields):
        yield None
        return
    from reslab.data.photos.pixels import drop_advice

    noted: dict[str, None] = {}
    yield lambda error: noted.update({drop_advice(str(error)): None})
    for sentence in noted:
        warn(f"skipped: {sentence}")


def preprocess_fields(fields: Mapping[str, str]) -> dict[str, Any]:
    """Return what fields say of the preprocessing, without its prefix."""
    return {
        field.removeprefix("preprocess."): value for field, value in fields.items() if field.startswith("preprocess.")
    }


def refuse_unknown(verb: str, fields: Mapping[str, str], known: tuple[str, ...]) -> None:
    """Refuse a field that `verb` does not know."""
    for field in fields:
        if field not in known and not field.startswith("preprocess."):
            raise UserError(f"{verb} has no field '{field}'; there are {choices([*known, 'preprocess.FIELD'])}")


@contextlib.contextmanager
def image_bar(what: str, total: int) -> Iterator[Listener]:
    """Show a bar of images done, with their rate and the time left; yield who moves it, and prints warnings."""
    counts = (MofNCompleteColumn(), Rate("images"), TimeRemainingColumn())
    with Progress(Name(), BarColumn(), *counts, console=progress_console, transient=True) as progress:
        bar = progress.add_task(what, total=total)
        yield Listener(warn=warn, progress=lambda done, metrics: progress.update(bar, completed=done))


def _unknown(subject: str, root: Path) -> str:
    if not is_network(subject):
        hint = f"give a run or a weight file, and data={subject}" if is_folder(Path(subject)) else LISTED
        return f"'{subject}' is no weight file, no run in {root} and no network; {hint}"
    shipped = [f"weights={weights}" for weights in sets_of(name_of(find(subject)))]
    return (
        f"'{subject}' without weights has random ones, and no run in {root} begins so; "
        f"give {', '.join(['weights=FILE', *shipped])}, or a run's id"
    )
