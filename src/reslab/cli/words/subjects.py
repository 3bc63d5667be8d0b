"""The words that verbs share: subjects (a network's name, a weight file), field=value pairs, the folder of runs."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter, Token

from reslab.errors import UserError
from reslab.files import exists, is_folder, refuse_closed_place, remove_abandoned
from reslab.runs.directory import default_root, list_runs
from reslab.spec import Spec, find
from reslab.spec.words import is_file, split_subject


def _read_whole(_: type, tokens: Sequence[Token]) -> int:
    (token,) = tokens
    if not re.fullmatch(r"[+-]?\d+", token.value):
        raise UserError(f"{token.keyword} is {token.value!r}; give a whole number")
    return int(token.value)


WHOLE = Parameter(converter=_read_whole)  # without it 1.5 is 2

# Parameters that several verbs share, with their help.
Json = Annotated[bool, Parameter(help="Print JSON.")]
RunsFolder = Annotated[Path | None, Parameter(help="Folder for runs. Default: RESLAB_RUNS if set, else 'runs'.")]
SubjectWord = Annotated[
    str,
    Parameter(
        help="A run (its id, the start of its id, or its folder), a weight file, or a network's name with "
        "weights=FILE|cifar10|imagenet."
    ),
]
Compile = Annotated[
    bool,
    Parameter(
        help="Train with torch.compile instead of reslab's own kernels. Training starts later, but is faster for "
        "networks that have no own kernels."
    ),
]


def take_count(fields: dict[str, str], field: str, default: int) -> int:
    """Take a positive whole number out of `fields`."""
    text = fields.pop(field, str(default))
    if not text.isdecimal() or not 1 <= int(text) <= 1_000_000:
        raise UserError(f"{field} is {text!r}; give a whole number from 1 to 1,000,000")
    return int(text)


def runs_root(given: Path | None) -> Path:
    """Return the folder for runs: as given, else RESLAB_RUNS, else runs; it need not be there yet."""
    root = given or default_root()
    if not is_folder(root) and exists(root):
        raise UserError(f"{root} is a file, not a folder for runs; give --runs a folder")
    return root


def existing_root(given: Path | None) -> Path:
    """Return the folder to look for runs in; one that is named must be there."""
    root = runs_root(given)
    if given is not None and not is_folder(root):
        raise UserError(f"there is no folder {root}; give --runs a folder of runs")
    return root


def writable_root(given: Path | None) -> Path:
    """Return the folder to write runs to, which is tried at once; one with runs in it may have all that is asked."""
    root = runs_root(given)
    remove_abandoned(root)  # of a report that was killed
    if not list_runs(root):
        refuse_closed_place(root, folder=True)
    return root


def read_spec(subject: str, fields: Mapping[str, Any]) -> Spec:
    """Return the spec a subject stands for: a name or a weight file, quoted together with fields of its own or not."""
    name, own = split_subject(subject)
    fields = {**fields, **own}
    weights = fields.pop("weights", None)
    if weights is not None:
        from reslab.networks import create_model

        if is_file(name) or not weights:
            words = f"'{name} weights={weights}'"
            raise UserError(f"{words} is not a network's name and a file; write, for example, resnet-20 weights=FILE")
        return create_model(name, weights=weights, **fields).spec
    if is_file(name):
        from reslab.networks import load_model

        return load_model(name, **fields).spec
    return find(name, fields)
