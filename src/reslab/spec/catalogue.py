"""Names to specs and back: `resnet-56`, `plain-34`, `resnet-50-v1.5`, `wrn-16-4`, `highway-19`, `cifar-resnet-164`.

18/34/50/101/152 always mean the ImageNet networks and the paper's six CIFAR depths the CIFAR ones; any other
depth of a family is asked for by the family's name. Hyphens, underscores and case do not matter.
"""

import fnmatch
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeAlias

from reslab.errors import UserError, choices, suggest
from reslab.shipped import sets_of
from reslab.spec.codec import convert, decode, differing_leaves, encode, override
from reslab.spec.comparators import NAMED, TYPES, HighwaySpec, ImageSpec, LeNetSpec, TorchvisionSpec
from reslab.spec.families import IMAGENET_BLOCKS, cifar, dense, imagenet, wide
from reslab.spec.network import PRE_REVISION, Block, NetworkSpec

Spec: TypeAlias = NetworkSpec | ImageSpec
SPEC_TYPES: dict[str, type[Spec]] = {cls.kind: cls for cls in (NetworkSpec, *TYPES)}

CIFAR_DEPTHS = (20, 32, 44, 56, 110, 1202)
WIDE = ((16, 4), (16, 8), (22, 8), (28, 10), (40, 4))  # depth and factor; any 6n+4 and any factor has a name
WIDE_EXTRA = 2  # layers that their depth counts beyond ours: three projections, and not the classifier
PUBLISHED_ONLY = ("nin", "dsn", "fitnet", "maxout", "prelu-net", "bn-inception", "overfeat")


@dataclass(frozen=True)
class Entry:
    """How to make a named spec.

    Where the name fixes the depth, another kind of block means another n; `asserts` are the fields that the name
    itself speaks of.
    """

    make: Callable[..., Spec]
    takes_block: bool = False
    asserts: tuple[str, ...] = ()


# Networks that exist at every depth of their family.
FAMILIES: dict[str, Callable[[int], Entry]] = {
    "cifar-resnet": lambda depth: Entry(lambda **block: cifar(depth, **block), takes_block=True),
    "cifar-plain": lambda depth: Entry(lambda **block: cifar(depth, **block).plain(), takes_block=True),
    "dense-resnet": lambda depth: Entry(lambda: dense(depth)),
    "dense-plain": lambda depth: Entry(lambda: dense(depth).plain()),
}


def list_models(pattern: str = "*", *, pretrained: bool = False) -> list[str]:
    """Return the names that match a shell pattern. `pretrained` returns only those with trained weights."""
    names = [name for name in _named() if fnmatch.fnmatch(name, pattern.lower().replace("_", "-"))]
    return [name for name in names if sets_of(name)] if pretrained else names


def find(name: str, overrides: Mapping[str, Any] | None = None, *, where: str = "") -> Spec:
    """Return the spec of the network `name`, with dotted fields overridden. Errors put `where` before field names."""
    overrides = dict(overrides or {})
    entry = _entry(name)
    block = {}
    if entry.takes_block and "block" in overrides:
        block = {"block": convert(Block, overrides.pop("block"), where=f"{where}block")}
    return override(entry.make(**block), overrides, where=where)


def is_network(name: str) -> bool:
    """Whether `name` stands for a network."""
    try:
        find(name)
    except UserError:
        return False
    return True


def asserted_fields(name: str) -> tuple[str, ...]:
    """Return the fields that `name` fixes by saying so, as the v1.5 names do."""
    return _entry(name).asserts


@cache
def name_of(spec: Spec) -> str:
    """Return what one would type to get `spec`: the nearest name, then the fields that differ from it."""
    candidates = list(_nearest(spec))
    if candidates:
        name, differing = min(candidates, key=lambda candidate: len(candidate[1]))
    else:
        name = "resnet-18"
        if not isinstance(spec, NetworkSpec):
            name = next(known for known, make in NAMED.items() if make().kind == spec.kind)
        differing = _differing(spec, find(name))
    return " ".join([name, *[f"{field}={_written(value)}" for field, value in differing.items()]])


def depth_of(spec: Spec) -> int | None:
    """Return the depth that a network is known by; that of wide ones, as in their names, counts projections too."""
    if isinstance(spec, NetworkSpec) and name_of(spec).startswith("wrn-"):
        return spec.depth + WIDE_EXTRA
    return spec.depth


def spec_to_dict(spec: Spec, *, sparse: bool = False) -> dict[str, Any]:
    """Return `spec` as plain data that says which kind it is; `sparse` leaves out what is as by default."""
    return {"kind": spec.kind, **encode(spec, sparse=sparse)}


def spec_from_dict(data: Mapping[str, Any], *, where: str = "") -> Spec:
    """Rebuild a spec from `spec_to_dict`'s data, before whose fields stands `where`."""
    if not isinstance(data, Mapping):
        raise UserError(f"network is {data!r}; give a table of fields")
    rest = dict(data)
    kind = rest.pop("kind", None)
    if not isinstance(kind, str) or kind not in SPEC_TYPES:
        raise UserError(f"{where}kind is {kind!r}; choose {choices(SPEC_TYPES)}")
    return decode(SPEC_TYPES[kind], rest, where=where)


def differences(one: Spec, other: Spec) -> dict[str, tuple[Any, Any]]:
    """Return the dotted fields in which two specs differ, with both values (None where one lacks the field)."""
    return differing_leaves(comparable(one), comparable(other))


def comparable(spec: Spec) -> dict[str, Any]:
    """Return `spec` as plain data that differ from others' where it does itself.

    Where nothing depends on a revision it is taken to be today's, from which only an earlier one differs.
    """
    data = spec_to_dict(spec)
    return data | ({"pre_revision": spec.pre_revision or PRE_REVISION} if isinstance(spec, NetworkSpec) else {})


def contradictions(one: Spec, other: Spec) -> dict[str, tuple[Any, Any]]:
    """Return the fields in which two specs, given the same weights, would compute different things."""
    return differences(_materials(one), _materials(other))


def _materials(spec: Spec) -> Spec:
    """Return `spec` with everything immaterial at its default; of a family not known here, all is material."""
    if isinstance(spec, HighwaySpec):
        return replace(spec, dropout=0.0, gate_bias=0.0, input_size=32)
    if isinstance(spec, TorchvisionSpec):
        return spec if spec.architecture == "vit_b_16" else replace(spec, input_size=224)
    if isinstance(spec, LeNetSpec):
        return replace(spec, input_size=32)
    if not isinstance(spec, NetworkSpec):
        return spec
    return replace(
        spec,
        zero_padding=spec.zero_padding if spec.shortcut == "A" else "after",
        stride_in=spec.stride_in if spec.block == "bottleneck" else "1x1",
        norm="batch" if spec.norm == "frozen" else spec.norm,
        init="he-fan-in",
        zero_gamma=False,
        dropout=0.0,
        stochastic_depth=0.0,
        input_size=224,
        checkpointing=False,
    )


@cache
def _named() -> dict[str, Entry]:
    named: dict[str, Entry] = {}
    for depth in IMAGENET_BLOCKS:
        named[f"resnet-{depth}"] = Entry(partial(imagenet, depth))
        named[f"plain-{depth}"] = Entry(imagenet(depth).plain)
        named[f"gated-resnet-{depth}"] = Entry(partial(imagenet, depth, shortcut="gated"))
        named[f"resnet-{depth}-v1.5"] = Entry(
            partial(replace, imagenet(depth, shortcut="B"), stride_in="3x3", pool="padded", init="he-fan-out"),
            asserts=("shortcut", "stride_in", "pool"),
        )
    for depth in CIFAR_DEPTHS:
        named[f"resnet-{depth}"] = FAMILIES["cifar-resnet"](depth)
        named[f"plain-{depth}"] = FAMILIES["cifar-plain"](depth)
        named[f"gated-resnet-{depth}"] = Entry(partial(cifar, depth, shortcut="gated"), takes_block=True)
    for depth, factor in WIDE:
        named[f"wrn-{depth}-{factor}"] = Entry(partial(wide, depth, factor))
    for name, make in NAMED.items():
        named[name] = Entry(make)
    return dict(sorted(named.items(), key=lambda item: natural_key(item[0])))


def _entry(name: str) -> Entry:
    if not isinstance(name, str):
        raise UserError(f"a network's name is text, not {name!r}; write 'resnet-50'")
    # Before hyphens go: wrn-16-4 is not wrn-1-64.
    match = re.fullmatch(r"wrn[-_. ]?(\d+)[-_. x](\d+)", name.lower())
    if match:
        return Entry(partial(wide, int(match[1]), int(match[2])))
    squeezed = _squeeze(name)
    for known, entry in _named().items():
        if _squeeze(known) == squeezed:
            return entry
    for family, entry_of_depth in FAMILIES.items():
        match = re.fullmatch(rf"{_squeeze(family)}(\d+)", squeezed)
        if match:
            return entry_of_depth(int(match[1]))
    raise UserError(_unknown(name, squeezed))


def _unknown(name: str, squeezed: str) -> str:
    match = re.fullmatch(r"(resnet|plain)(\d+)", squeezed)
    if match:
        family, depth = f"cifar-{match[1]}", int(match[2])
        if depth > 7 and (depth - 2) % 6 == 0:
            return f"'{name}' is not an ImageNet network; write '{family}-{depth}' for the CIFAR network of that depth"
        below = max(1, (depth - 2) // 6) * 6 + 2
        return (
            f"'{name}' has depth {depth}, which is neither an ImageNet depth "
            f"({choices(IMAGENET_BLOCKS)}) nor a CIFAR depth (6n+2); "
            f"try '{family}-{below}' or '{family}-{below + 6}'"
        )
    if squeezed in map(_squeeze, PUBLISHED_ONLY):
        return f"'{name}' is a published number only and cannot be built; `reslab networks` lists the networks"
    hint = suggest(name.lower().replace("_", "-"), [*_named(), *FAMILIES, *PUBLISHED_ONLY])
    return f"there is no network '{name}'{hint or '; `reslab networks` lists the names'}"


def _nearest(spec: Spec) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each name of a like network with the fields in which `spec` differs from it."""
    names, block = list(_named()), {}
    if isinstance(spec, NetworkSpec):
        branch = {"none": "plain", "gated": "gated-resnet"}.get(spec.shortcut, "resnet")
        stem = f"{branch}-{spec.depth}"
        names = [stem, f"{stem}-v1.5", *[f"{family}-{spec.depth}" for family in FAMILIES], *_wide_names(spec)]
        block = {"block": spec.block}
    for name in names:
        for overrides in ({}, block) if block else ({},):
            try:
                base = find(name, overrides)
            except UserError:
                continue
            if _likeness(base) == _likeness(spec):
                differing = overrides | _differing(spec, base)
                if overrides or "block" not in differing or not _entry(name).takes_block:
                    yield name, differing


def _wide_names(spec: NetworkSpec) -> list[str]:
    """Return the WRN name of a network that is wide in their sense; thin ones keep the names they have."""
    factor = spec.stages[0].width // 16
    return (
        [f"wrn-{spec.depth + WIDE_EXTRA}-{factor}"]
        if factor > 1 and (spec.order, spec.shortcut) == ("pre", "B")
        else []
    )


def _likeness(spec: Spec) -> tuple[object, ...]:
    """What a spec and its nearest name must have in common."""
    if isinstance(spec, TorchvisionSpec):
        return spec.kind, spec.architecture
    if isinstance(spec, NetworkSpec):
        return spec.kind, spec.depth, spec.dimensions == 0, len(spec.stages)
    return spec.kind, spec.depth, len(getattr(spec, "stages", ()))


def _differing(spec: Spec, base: Spec) -> dict[str, Any]:
    """Return the fields to override in `base` for `spec`: leaves, or all stages where their number differs."""
    mine, theirs = comparable(spec), comparable(base)
    stages = {}
    if len(mine.get("stages", ())) != len(theirs.get("stages", ())):
        stages = {"stages": mine.pop("stages")}
        theirs.pop("stages")
    return {key: value for key, (value, _) in differing_leaves(mine, theirs).items()} | stages


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _squeeze(name: str) -> str:
    return re.sub(r"[-_. ]", "", name.lower())


def natural_key(text: str) -> list[tuple[int, str]]:
    """Sort key that puts resnet-20 before resnet-110."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text)]
