"""What a word may have meant that was given bare, where a command takes field=value."""

from pathlib import Path

from reslab.errors import suggest
from reslab.files import is_folder
from reslab.runs.directory import is_run
from reslab.spec import is_network, list_models
from reslab.spec.recipe import RECIPES
from reslab.spec.words import is_file


def hint_at_word(word: str) -> str:
    """Say how to write what `reslab train` was given bare: data, a network, weights or a recipe."""
    from reslab.data.catalogue import LOADERS

    if is_run(Path(word)):
        return "to resume a run, repeat the command that started it; `reslab runs show` prints it"
    if word in LOADERS or is_folder(Path(word)):
        return f"write data={word}"
    if is_network(word):
        return f"write network={word}"
    if is_file(word):
        return f"write weights={word}"
    if word in RECIPES:
        return f"there is no folder {word}; for the recipe of that name, write recipe={word}"
    nearest = suggest(word, list_models(), where="network=") or suggest(word, LOADERS, where="data=")
    return nearest.removeprefix("; ") or "write data=FOLDER network=NAME"
