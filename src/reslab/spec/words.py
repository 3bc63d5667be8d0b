"""What a user writes: subjects (a network's name, a run, a weight file) and field=value pairs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from reslab import files
from reslab.errors import UserError, choices
from reslab.spec.codec import convert
from reslab.spec.trial import OnBadImage

Fields: TypeAlias = Mapping[str, Any]

FILE_ENDINGS = (".safetensors", ".pth", ".pt", ".th", ".bin", ".caffemodel", ".onnx")


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


def split_subject(subject: str) -> tuple[str, dict[str, str]]:
    """Split a subject, quoted together with fields of its own or not, into its name and those fields.

    A path that is there is a name, whatever is in it.
    """
    if files.exists(Path(subject)):
        return subject, {}
    names, own = split_words(subject.split() or [""])
    if not names:
        raise UserError(f"'{subject}' names no network, run or file; give one before the fields")
    name, *rest = names
    if rest:
        raise UserError(f"'{subject}' names two things, {name} and {rest[0]}; give them as separate arguments")
    return name, own


def is_file(word: str) -> bool:
    """Whether a word means a weight file."""
    return word.endswith(FILE_ENDINGS) or files.is_file(Path(word))


def refuse_unknown(verb: str, fields: Fields, known: Sequence[str]) -> None:
    """Refuse a field that `verb` does not know."""
    for field in fields:
        if field not in known and not field.startswith("preprocess."):
            raise UserError(f"{verb} has no field '{field}'; choose {choices([*known, 'preprocess.FIELD'])}")


def preprocess_fields(fields: Fields) -> dict[str, Any]:
    """Return what fields say of the preprocessing, without its prefix."""
    return {
        field.removeprefix("preprocess."): value for field, value in fields.items() if field.startswith("preprocess.")
    }


def skips_bad(fields: Fields) -> bool:
    """Whether fields ask to go on past images that cannot be read."""
    return convert(OnBadImage, fields.get("data.on_bad_image", "stop"), where="data.on_bad_image") == "skip"
