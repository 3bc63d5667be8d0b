"""Plain data to TOML and back: scalars, lists and nested tables; what is None is left out.

Python reads TOML but does not write it; this writes what our specs are made of.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reslab.errors import UserError

OBEYED = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def write_toml(data: Mapping[str, Any]) -> str:
    """Return plain data as TOML; tables within lists stand in one line."""
    return "\n".join(_write_table(data, ())).strip("\n") + "\n"


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file, or say in which line it goes wrong."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; check its name") from error
    except ValueError as error:  # bad TOML, or bytes that are no text
        raise UserError(f"{path} is not TOML: {error}; correct it there") from error


def _write_table(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    values = {key: value for key, value in table.items() if not isinstance(value, Mapping) and value is not None}
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    if path and (values or not tables):
        yield f"[{'.'.join(map(_write_key, path))}]"
    for key, value in values.items():
        yield f"{_write_key(key)} = {_write_value(value)}"
    if path or values:
        yield ""
    for key, value in tables.items():
        yield from _write_table(value, (*path, key))


def _write_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return _write_text(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_write_value, value))}]"
    if isinstance(value, Mapping):
        pairs = [f"{_write_key(key)} = {_write_value(item)}" for key, item in value.items() if item is not None]
        return f"{{{', '.join(pairs)}}}"
    raise TypeError(f"{value!r} has no place in TOML")


def _write_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _write_text(key)


def _write_text(text: str) -> str:
    """JSON's escapes are TOML's too; what a terminal would obey, such as DEL, has them as well."""
    return OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
