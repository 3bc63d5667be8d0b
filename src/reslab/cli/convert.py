"""`reslab convert RUN|WEIGHTS-FILE|NAME [weights=FILE] --to FORM [--out FILE]`."""

from pathlib import Path

from reslab.cli.terminal.show import progress_console, say
from reslab.cli.words.subjects import RunsFolder, runs_root
from reslab.errors import UserError, choices
from reslab.files import slug
from reslab.spec import Preprocess
from reslab.spec.words import is_file, split_subject, split_words


def convert(subject: str, *words: str, to: str, out: Path | None = None, runs: RunsFolder = None) -> None:
    """Convert weights to or from the format of another library.

        reslab convert resnet50.pth --to reslab

    Parameters
    ----------
    subject
        A weight file (reslab's, torchvision's, timm's, akamaster's or the authors' Caffe names), a run (its id, the
        start of its id, or its folder), or a network's name with weights=FILE|cifar10|imagenet.
    words
        weights=FILE|cifar10|imagenet.
    to
        The format to write: reslab, torchvision, timm, akamaster or caffe.
    out
        The safetensors file to write. Default: a file named after the subject, beside the weight file or, for a run or
        a name, in the current folder.
    """
    others, fields = split_words(words)
    if others or fields.keys() - {"weights"}:
        word = [*others, *fields][0]
        raise UserError(f"convert takes one subject and weights=FILE, but also got '{word}'; leave out '{word}'")
    with progress_console.status("converting"):
        from reslab.experiments.subjects import load_trained, refuse_overwriting
        from reslab.networks import foreign_state_dict, save_model
        from reslab.networks.weights.adapters import ADAPTERS, from_foreign
        from reslab.runtime.sealed import write_tensors

        if to != "reslab" and to not in ADAPTERS:
            raise UserError(f"--to is '{to}'; choose {choices(['reslab', *ADAPTERS])}")
        trained = load_trained(subject, fields, runs_root(runs))
        if out is not None:
            refuse_overwriting(out, subject, fields, trained.run)
        network, origin, note = trained.network, trained.origin, ""
        name, own = split_subject(subject)
        source = own.get("weights") or fields.get("weights") or name
        folder, stem = (Path(name).parent, Path(name).stem) if is_file(name) else (Path(), slug(origin))
        if to == "reslab":
            provenance = {**trained.provenance} | {"converted_from": origin if trained.run else Path(source).name}
            path = save_model(network, out or folder, metrics=trained.metrics, provenance=provenance)
        else:
            path = out or folder / f"{stem}-{to}.safetensors"
            tensors = foreign_state_dict(network, to)
            write_tensors(path, tensors, {"format": "pt"})
            note = _left_behind(network.preprocess, from_foreign(to, tensors)[1])
    say(f"wrote {path}")
    if note:
        say(f"{note} {origin}.")


def _left_behind(wanted: Preprocess | None, assumed: Preprocess | None) -> str:
    """Name the preprocessing that a foreign format cannot store, if any."""
    if wanted is None or wanted == assumed:
        return ""
    taken = f"Readers of this file will assume {assumed.describe()}" if assumed else "This file stores no preprocessing"
    return f"{taken}; the weights need {wanted.describe()}, which is stored only in"
