"""What a verb is told: subjects (a network's name, a weight file) and field=value pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reslab.errors import UserError
from reslab.spec import Spec, find
from reslab.spec.codec import override

FILE_ENDINGS = (".safetensors", ".pth", ".pt", ".th", ".bin", ".caffemodel")


def split_words(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Split a command's words into subjects and fields; a quoted subject may bring fields of its own."""
    subjects, fields = [], {}
    for word in words:
        field, equals, value = word.partition("=")
        if not equals or " " in field:
            subjects.append(word)
        elif not field:
            raise UserError(f"'{word}' sets nothing; write field=value")
        elif field in fields:
            raise UserError(f"'{field}' is set twice; keep one of them")
        else:
            fields[field] = value
    return subjects, fields


def take_count(fields: dict[str, str], field: str, default: int) -> int:
    """Take a positive whole number out of `fields`."""
    text = fields.pop(field, str(default))
    if not text.isdigit() or int(text) < 1:
        raise UserError(f"{field} is {text!r}; give a whole number of at least 1")
    return int(text)


def read_spec(subject: str, fields: Mapping[str, Any]) -> Spec:
    """Return the spec a subject stands for: a name, a quoted name with fields, or a weight file."""
    name, *own = subject.split() or [""]
    fields = {**fields, **split_words(own)[1]}
    weights = fields.pop("weights", None)
    if subject.endswith(FILE_ENDINGS) or Path(subject).is_file():
        from reslab.networks import read_weights

        return override(read_weights(subject).spec, fields)
    if weights:
        from reslab.networks import create_model

        return create_model(name, weights=weights, **fields).spec
    return find(name, fields)
