"""What classes are called: ``classes.json`` in a dataset's root, from a class's folder to words.

Folders stay the names of classes: words need not be unique. Two classes of ImageNet are called crane.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from reslab.errors import UserError
from reslab.files import write_text
from reslab.json_text import to_json

FILE = "classes.json"


def write_words(root: Path, words: Mapping[str, str]) -> None:
    """Write the words of a dataset's classes."""
    write_text(root / FILE, to_json(dict(sorted(words.items())), indent=2, ensure_ascii=False) + "\n")


def read_words(root: Path) -> dict[str, str]:
    """Read the words of a dataset's classes; none where it does not come with them."""
    path = root / FILE
    try:
        words = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}; correct it or remove it") from error
    if not isinstance(words, dict) or not all(isinstance(word, str) for word in words.values()):
        raise UserError(f"{path} does not give each class's folder its words; correct it or remove it")
    return words
