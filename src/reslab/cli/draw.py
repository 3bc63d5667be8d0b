"""`reslab draw NAME... [field=value ...]`."""

from pathlib import Path

from reslab.cli.terminal.show import progress_console, say
from reslab.cli.words.subjects import read_spec
from reslab.errors import UserError
from reslab.files import slug, write_text
from reslab.spec import NetworkSpec, Spec, name_of
from reslab.spec.words import split_words


def draw(*words: str, out: Path = Path()) -> None:
    """Draw networks and their blocks as SVG.

        reslab draw plain-34 resnet-34

    Writes one drawing of the networks side by side, and one of the blocks of each network.

    Parameters
    ----------
    words
        One or more networks, then fields for all of them as field=value.
    out
        The folder to write to.
    """
    subjects, fields = split_words(words)
    if not subjects:
        raise UserError("draw needs a network's name; `reslab networks` lists them")
    with progress_console.status("drawing"):
        from reslab.drawing import draw_blocks, draw_networks

        specs = [read_spec(subject, fields) for subject in subjects]
        pictures = {f"{'-'.join(map(_slug, specs))}.svg": draw_networks(specs)}
        for spec in specs:
            if isinstance(spec, NetworkSpec):
                pictures[f"{_slug(spec)}-blocks.svg"] = draw_blocks(spec)
    for name, picture in pictures.items():
        write_text(out / name, picture)
        say(f"wrote {out / name}")


def _slug(spec: Spec) -> str:
    return slug(name_of(spec).lower(), longest=100)
