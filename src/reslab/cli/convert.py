"""`reslab convert WEIGHTS-FILE --to FORM`."""

from __future__ import annotations

from pathlib import Path

from reslab.cli.show import console, progress_console
from reslab.errors import UserError, choices
from reslab.spec import Preprocess


def convert(weights: Path, *, to: str, out: Path | None = None) -> None:
    """Rewrite a weight file in another library's form, or a foreign one in ours.

    Parameters
    ----------
    weights
        Any weight file: ours, torchvision's, timm's, akamaster's, the authors' Caffe names.
    to
        reslab, torchvision, timm, akamaster or caffe.
    out
        The file to write (safetensors); by default beside the old one.
    """
    with progress_console.status("converting"):
        from reslab.networks import foreign_state_dict, save_model
        from reslab.networks.create import restore_model
        from reslab.networks.weights.adapters import ADAPTERS, from_foreign
        from reslab.networks.weights.sealed import write_tensors

        if to != "reslab" and to not in ADAPTERS:
            raise UserError(f"--to is '{to}'; choose {choices(['reslab', *ADAPTERS])}")
        network, read = restore_model(weights, overrides={})
        note = ""
        if to == "reslab":
            provenance = read.provenance | {"converted_from": weights.name}
            path = save_model(network, out or weights.parent, metrics=read.metrics, provenance=provenance)
        else:
            path = out or weights.with_name(f"{weights.stem}-{to}.safetensors")
            tensors = foreign_state_dict(network, to)
            write_tensors(path, tensors, {"format": "pt"})
            note = _left_behind(network.preprocess, from_foreign(to, tensors)[1])
    console.print(f"wrote {path}", soft_wrap=True)
    if note:
        console.print(f"{note} {weights} says.", soft_wrap=True)


def _left_behind(wanted: Preprocess | None, assumed: Preprocess | None) -> str:
    """Say what of the preprocessing a foreign form cannot carry, if anything."""
    if wanted is None or wanted == assumed:
        return ""
    taken = f"Its readers will assume {assumed.describe()}" if assumed else "It says nothing of preprocessing"
    return f"{taken}; these weights want {wanted.describe()}, as only"
