"""`reslab networks [PATTERN]`."""

from reslab.cli.terminal.show import console, make_table, print_json
from reslab.cli.words.subjects import Json
from reslab.errors import UserError
from reslab.shipped import sets_of
from reslab.spec import NetworkSpec, depth_of, find, list_models
from reslab.spec.catalogue import FAMILIES, PUBLISHED_ONLY


def networks(pattern: str = "*", *, json: Json = False) -> None:
    """List the networks that can be built.

        reslab networks 'resnet*'

    Parameters
    ----------
    pattern
        A shell pattern, such as 'resnet*'.
    """
    names = list_models(pattern)
    if not names:
        raise UserError(f"no network name matches '{pattern}'; `reslab networks` lists them all")
    if json:
        print_json([{"name": name, "weights": list(sets_of(name))} for name in names])
        return
    give_way = ("input", "classes", "block", "shortcut")
    table = make_table(
        "Networks", "name", "depth", "shortcut<", "block<", "input", "classes", "weights<", give_way=give_way
    )
    for name in names:
        spec = find(name)
        residual = isinstance(spec, NetworkSpec)
        table.add_row(
            name,
            str(depth_of(spec) or ""),
            spec.shortcut if residual else "",
            spec.block if residual else spec.kind,
            " x ".join(map(str, spec.input_shape)),
            str(spec.classes),
            ", ".join(sets_of(name)),
        )
    console.print(table)
    if pattern == "*":
        families = ", ".join(f"{family}-N" for family in FAMILIES)
        console.print(f"\nFamilies, for other depths N: {families}.")
        console.print(f"Published numbers only, cannot be built: {', '.join(PUBLISHED_ONLY)}.")
