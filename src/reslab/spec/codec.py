"""Frozen dataclasses to plain data and back, and dotted overrides: strict keys, typed values.

`encode` and `decode` are inverse; `override(spec, {"stages.0.width": "32"})` changes one leaf. Values may
be strings (from a command line) or already typed; either way a wrong one is named with what is allowed, by the whole
name that has to be written again: `where` stands before it. Specs that are built in Python call `normalize` to have
the same done and said, and ask `place` what stands before their fields.
"""

import json
import math
import numbers
import types
import typing
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from reslab.errors import UserError, choices, suggest

T = TypeVar("T")

# Where a new field says which of two meanings others have, its metadata say with this key which one data mean that
# lack it: those recorded before there was such a field. They stay what they were.
BEFORE = "before"
# Where a field's default depends on others, its metadata say with this key which value is left out of ids.
LEFT_OUT = "left_out"
_place: ContextVar[str | None] = ContextVar("place", default=None)


def encode(value: Any, *, sparse: bool = False) -> Any:
    """Turn a dataclass, at any depth, into dicts, lists and scalars.

    `sparse` leaves out what is as by default, or as it was before there was such a field.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: encode(getattr(value, field.name), sparse=sparse)
            for field in fields(value)
            if not (sparse and getattr(value, field.name) in _left_out(field))
        }
    if isinstance(value, (tuple, list)):
        return [encode(item, sparse=sparse) for item in value]
    return value


def decode(cls: type[T], data: Mapping[str, Any], *, where: str = "") -> T:
    """Build `cls` from plain data; unknown keys and wrong values are refused by name."""
    hints = _hints(cls)
    if not isinstance(data, Mapping):
        raise UserError(f"{where.rstrip('.') or cls.__name__} is {data!r}; give a table of fields")
    declared = fields(cls)  # pyright: ignore[reportArgumentType]
    names = [field.name for field in declared]
    for key in data:
        if key not in names:
            deeper = [f"'{where}{name}.{key}'" for name in names if _has_field(hints[name], key)]
            meant = f"; did you mean {choices(deeper)}?" if deeper else suggest(key, names, where=where)
            known = meant or f"; it has {', '.join(names)}"
            raise UserError(f"there is no field '{where}{key}'{known}")
    values = {key: convert(hints[key], value, where=f"{where}{key}") for key, value in data.items()}
    required = [field.name for field in declared if field.default is MISSING and field.default_factory is MISSING]
    if missing := [name for name in required if name not in values]:
        remedy = f"add {'it' if len(missing) == 1 else 'them'}"
        raise UserError(f"{where.rstrip('.') or cls.__name__} lacks {', '.join(missing)}; {remedy}")
    before = {field.name: field.metadata[BEFORE] for field in declared if BEFORE in field.metadata}
    outer = _place.set(where)
    try:
        return cls(**(before | values))
    finally:
        _place.reset(outer)


def decode_known(cls: type[T], data: Mapping[str, Any]) -> T:
    """Build `cls` from the keys that are its fields; data may have more."""
    return decode(cls, {field.name: data[field.name] for field in fields(cls) if field.name in data})  # pyright: ignore[reportArgumentType]


def place(usual: str = "") -> str:
    """Return what stands before the fields of the spec being made: where it is read, or the `usual` in Python."""
    where = _place.get()
    return usual if where is None else where


def normalize(spec: object, *, usual: str = "") -> None:
    """Give each field of a new `spec` the one form its value has, or refuse it, named as `place` says.

    1 for a float, 2.0 for an int, a list for a tuple, a number of numpy's: specs that are equal are then written alike,
    and share an id.
    """
    hints = _hints(type(spec))
    for field in fields(spec):  # pyright: ignore[reportArgumentType]
        value = getattr(spec, field.name)
        object.__setattr__(spec, field.name, convert(hints[field.name], value, where=f"{place(usual)}{field.name}"))


def differing_leaves(one: Any, other: Any) -> dict[str, tuple[Any, Any]]:
    """Return the dotted leaves in which plain data differ, with both values (None where one lacks the leaf)."""
    return differing_fields(*[flatten(data, into_lists=True) for data in (one, other)])


def differing_fields(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the fields in which flattened data differ, with both values (None where one lacks the field)."""
    keys = [*left, *[key for key in right if key not in left]]
    return {key: (left.get(key), right.get(key)) for key in keys if left.get(key) != right.get(key)}


def flatten(data: Any, prefix: str = "", *, into_lists: bool = False) -> dict[str, Any]:
    """Return nested tables as dotted fields; lists as they are, or their items by number."""
    if isinstance(data, Mapping):
        items = data.items()
    elif isinstance(data, list) and into_lists:
        items = enumerate(data)
    else:
        return {prefix[:-1]: data}
    nested = (flatten(item, f"{prefix}{name}.", into_lists=into_lists) for name, item in items)
    return {key: leaf for fields in nested for key, leaf in fields.items()}


def override(spec: T, changes: Mapping[str, Any], *, where: str = "") -> T:
    """Return `spec` with the dotted fields in `changes` replaced; in what is said of them `where` stands before."""
    data = encode(spec)
    for path, value in changes.items():
        *parents, leaf = path.split(".")
        target: Any = data
        group = where
        for key in parents:
            inner = _descend(target, key, where + path, group)
            if inner is None:  # the part becomes one with its usual fields
                inner = target[key] = {}
            target = inner
            group += f"{key}."
        here = group.rstrip(".")
        if isinstance(target, list):
            _descend(target, leaf, where + path, group)
            target[int(leaf)] = value
        elif isinstance(target, dict):
            target[leaf] = value
        else:
            raise UserError(f"'{here}' has no field '{leaf}': it is a single value")
    return decode(type(spec), data, where=where)


def overlay(data: Any, changes: Any) -> Any:
    """Return plain data with the nested fields in `changes` replaced, and every other left as it is."""
    if not isinstance(data, dict) or not isinstance(changes, Mapping):
        return changes
    return data | {key: overlay(data.get(key), value) for key, value in changes.items()}


def convert(hint: Any, value: Any, *, where: str) -> Any:
    """Convert `value` to the type `hint`, or say what `where` takes."""
    origin, args = get_origin(hint), get_args(hint)
    if is_dataclass(hint) and isinstance(hint, type):
        if isinstance(value, hint):
            return value
        if isinstance(value, str) and value.isidentifier() and _has_field(hint, "kind"):
            raise UserError(f"{where} is {value!r}; write {where}.kind={value}")
        data = _parse_json(value, where)
        if not isinstance(data, Mapping):
            raise UserError(f"{where} is {value!r}; give its fields one by one as {where}.FIELD=value")
        return decode(hint, data, where=f"{where}.")
    if origin is Literal:
        return _choose(args, value, where)
    if origin is tuple:
        data = _parse_json(value, where)
        if not isinstance(data, Sequence) or isinstance(data, str):
            raise UserError(f"{where} is {value!r}; give a list such as [1,2]")
        return tuple(convert(args[0], item, where=f"{where}.{index}") for index, item in enumerate(data))
    if origin in (Union, types.UnionType):
        kinds = [arg for arg in args if arg is not type(None)]
        if len(kinds) < len(args) and (value is None or (isinstance(value, str) and value.lower() == "none")):
            return None
        if any(isinstance(kind, type) and is_dataclass(kind) and isinstance(value, kind) for kind in kinds):
            return value
        if isinstance(value, bool) and bool in kinds:
            return value
        if get_origin(kinds[0]) is Literal:
            return _choose((*get_args(kinds[0]), None), value, where)
        return convert(kinds[0], value, where=where)
    return _scalar(hint, value, where)


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _has_field(hint: Any, name: str) -> bool:
    """Whether what a field may hold has a field of that name itself; items of a list have numbers before theirs."""
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return any(name in getattr(kind, "__dataclass_fields__", ()) for kind in kinds)


def _left_out(field: Field[Any]) -> tuple[Any, ...]:
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return field.metadata.get(LEFT_OUT, default), field.metadata.get(BEFORE, MISSING)


def _choose(allowed: Sequence[Any], value: Any, where: str) -> Any:
    for choice in allowed:
        same = value == choice and isinstance(value, bool) == isinstance(choice, bool)
        if same or (isinstance(value, str) and value.lower() == str(choice).lower()):
            return choice
    raise UserError(f"{where} is {value!r}; choose {choices(allowed)}")


def _scalar(hint: Any, value: Any, where: str) -> Any:
    if hint is bool:
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if str(value).lower() in words:
            return words[str(value).lower()]
        raise UserError(f"{where} is {value!r}; choose true or false")
    noun = {int: "a whole number", float: "a number"}.get(hint, "text")
    # Numbers of numpy's are numbers too; a truth value is none.
    if noun != "text" and isinstance(value, (str, numbers.Number)) and not isinstance(value, bool):
        try:
            number = hint(value) + 0  # -0.0 is 0.0, and would be written otherwise
        except (TypeError, ValueError, OverflowError):
            number = None
        if number is not None and math.isfinite(number) and (isinstance(value, str) or number == value):
            return number
    if hint is str and isinstance(value, str):
        return value
    raise UserError(f"{where} is {value!r}; give {noun}")


def _parse_json(value: Any, where: str) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError as error:
        raise UserError(f'{where} is {value!r}; write lists as [1,2] and tables as {{"key": value}}') from error


def _descend(target: Any, key: str, path: str, group: str) -> Any:
    here = group.rstrip(".") or "the spec"
    if isinstance(target, list):
        if not key.isdecimal() or int(key) >= len(target):
            raise UserError(f"'{path}': {here} has items 0 to {len(target) - 1}, not '{key}'")
        return target[int(key)]
    if not isinstance(target, dict) or key not in target:
        known = target if isinstance(target, dict) else ()
        raise UserError(f"'{path}': {here} has no field '{key}'{suggest(key, known, where=group)}")
    return target[key]
