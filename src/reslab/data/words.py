"""What the classes of a dataset are called in words: ``classes.json`` in its folder, by the names of the classes.

Words need not be unique: ImageNet has two cranes.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from reslab.errors import UserError
from reslab.files import write_text
from reslab.json_text import to_json

WORDS = "classes.json"


def write_words(root: Path, words: Mapping[str, str]) -> None:
    """Write the words of a dataset's classes."""
    write_text(root / WORDS, to_json(dict(sorted(words.items())), indent=2, ensure_ascii=False) + "\n")


def read_words(root: Path) -> dict[str, str]:
    """Read the words of a dataset's classes; none where it does not come with them."""
    path = root / WORDS
    try:
        words = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}; correct it or remove it") from error
    if not isinstance(words, dict) or not all(isinstance(word, str) for word in words.values()):
        raise UserError(f"{path} does not map each class folder to a name in words; correct it or remove it")
    return words
