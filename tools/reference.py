"""Write docs/reference from the program itself: `make reference`, or `python -m tools.reference`.

Verbs come from the command line's help, fields from the docstrings of specs, recipes from their presets, Python from
the docstrings of public names, what is found in photographs from the checks. What stands around these blocks is written
by hand; a test compares the pages.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from docstring_parser.google import GoogleParser, Section, SectionType

import reslab
from reslab.cli import app
from reslab.data.photos.findings import KINDS
from reslab.numbers import count
from reslab.report.markdown import write_table
from reslab.spec import NetworkSpec, Preprocess, StageSpec, StemSpec
from reslab.spec.codec import LEFT_OUT, encode, flatten
from reslab.spec.comparators import TYPES
from reslab.spec.recipe import RECIPES, Recipe
from reslab.spec.task import TASKS, TaskSpec
from reslab.spec.trial import DataSpec, Trial
from tools import REPOSITORY
from tools.pages import replace_blocks, write_pages

MAKER = "make reference"
PAGES = REPOSITORY / "docs" / "reference"
CHECKS = REPOSITORY / "docs" / "how-to" / "check-photographs.md"
PARSER = GoogleParser([Section("Fields", "attribute", SectionType.MULTIPLE)])
LONGEST_LINE, LONGEST_CODE = 116, 76
UNBROKEN = "\N{NO-BREAK SPACE}"
ELSEWHERE = {Recipe: "recipes.md#recipe", TaskSpec: "#tasks"}  # specs that have their tables on another page, or none
USES = {  # what each preset is for, in a sentence
    "cifar-paper": "The paper's training on CIFAR-10 (section 4.2).",
    "cifar-paper-110": "The same, with the warm-up that the paper uses for 110 layers.",
    "highway": "How Highway networks were trained, as far as a recipe can describe it.",
    "fast": "100 epochs of CIFAR-10 in one cycle: the same networks in a fraction of the time.",
    "imagenet-paper": "The paper's training on ImageNet (section 3.4); the rate drops where it does in Fig. 4.",
    "imagenet-common": "90 epochs of ImageNet, as in fb.resnet.torch and torchvision.",
    "imagenet-modern": "100 epochs of ImageNet with later methods: one cycle, growing crops, mixup, averaged weights.",
    "photos": "A few hundred photographs of your own, also on a laptop. The default for folders.",
    "finetune": "The same, starting from trained weights. The default for folders with `weights=`.",
    "voc-paper": "The paper's training of detectors on PASCAL VOC (appendix A): Faster R-CNN, trained jointly.",
    "coco-paper": "The same on COCO, with seven times as many iterations.",
    "voc-proposals": "The steps of alternating training on PASCAL VOC that train proposals (`task.form=alternating`).",
    "voc-regions": "The steps of alternating training on PASCAL VOC that train regions.",
    "coco-proposals": "The same on COCO, for proposals.",
    "coco-regions": "The same on COCO, for regions.",
    "detection": "Detectors since: warm-up, several scales, 12 epochs of the data; the iterations are those of COCO.",
    "objects": "A few hundred photographs with boxes, from trained weights. The default for images with boxes.",
    "svhn": "House numbers. Like cifar-paper, without flips: a flipped digit is another sign.",
    "digits": "A short run on small digits. The lower rate lets 56 layers start within it.",
}


def main() -> None:
    """Write every page that differs from what it should be."""
    write_pages(render())


def render() -> dict[Path, str]:
    """Return what each page should hold."""
    blocks = {
        "commands": {"verbs": write_verbs()},
        "networks": {
            "network-fields": write_fields(NetworkSpec, StemSpec, StageSpec),
            "comparator-fields": write_fields(*TYPES),
        },
        "recipes": {
            "presets": write_presets(),
            "changes": write_changes(),
            "recipe-fields": write_fields(Recipe, *list_parts(Recipe)),
        },
        "trials": {
            "trial-fields": write_fields(Trial),
            "data-fields": write_fields(DataSpec),
            "tasks": write_tasks(),
            "preprocess-fields": write_fields(Preprocess),
        },
        "python": {"names": write_names()},
    }
    written = {PAGES / f"{page}.md": parts for page, parts in blocks.items()} | {CHECKS: {"findings": write_findings()}}
    return {page: replace_blocks(page, parts, MAKER) for page, parts in written.items()}


def write_verbs() -> str:
    """Write every verb's help; what is written field=value becomes code."""
    text = app.generate_docs(output_format="markdown", usage_name="reslab")
    text = text.partition("**Commands**:\n\n")[2].strip()
    text = re.sub(r"^(reslab [a-z -]+?) -m \S+", r"\1", text, flags=re.MULTILINE)  # this program's own name
    text = re.sub(r"(?<=\n\n)(reslab [a-z]+.*)\n", r"```console\n\1\n```\n", text)
    parts = re.split(r"(^```.*?^```$|`[^`\n]+`)", text, flags=re.MULTILINE | re.DOTALL)
    marked = [part if index % 2 else _mark_fields(part) for index, part in enumerate(parts)]
    return re.sub(r"^\* .*(?:\n    .*)*", lambda found: _wrap(found[0]), "".join(marked), flags=re.MULTILINE)


def _mark_fields(text: str) -> str:
    """Turn what is written field=value into code."""
    return re.sub(r"(?<![\w=])[a-z_.]+(?:\.FIELD)?=[^\s,;()]*[^\s,;().:]", r"`\g<0>`", text)


def _wrap(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), LONGEST_LINE, subsequent_indent="    ", break_on_hyphens=False)


def list_parts(spec: type) -> list[type]:
    """Return the specs that are fields of a spec, in their order."""
    hints = typing.get_type_hints(spec)
    kinds = [kind for hint in hints.values() for kind in (hint, *get_args(hint))]
    return [kind for kind in kinds if isinstance(kind, type) and is_dataclass(kind)]


def write_fields(*specs: type) -> str:
    """Write a table for each spec: its fields, what they take, their defaults, and what they mean."""
    return "\n\n".join(_write_spec(spec) for spec in specs)


def _write_spec(spec: type) -> str:
    hints = typing.get_type_hints(spec)
    meanings = {
        name: meaning for base in reversed(spec.__mro__) for name, meaning in _read_meanings(base.__doc__ or "").items()
    }
    declared = fields(spec)
    if missing := [field.name for field in declared if field.name not in meanings]:
        raise ValueError(f"the docstring of {spec.__name__} does not say under 'Fields:' what {missing} are")
    rows = [
        [f"`{field.name}`", _write_type(hints[field.name]), _write_default(field), meanings[field.name]]
        for field in declared
    ]
    table = write_table(("field", "takes", "default", "meaning"), rows, left=(0, 1, 2, 3))
    return f"### {spec.__name__}\n\n{_summarize(spec)}\n\n{table}"


def _read_meanings(docstring: str) -> dict[str, str]:
    found = PARSER.parse(inspect.cleandoc(docstring)).params
    return {param.arg_name: " ".join((param.description or "").split()) for param in found}


def _write_type(hint: Any) -> str:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in args)
    if origin in (Union, types.UnionType):
        kinds = [_write_type(kind) for kind in args if kind is not type(None)]
        if bool in args and len(kinds) > 1:
            return f"{kinds[0]}, `true`, or `none`"
        return "[a network](networks.md)" if len(kinds) > 1 else f"{kinds[0]}, or `none`"
    if origin is tuple:
        plurals = {int: "whole numbers", float: "numbers"}
        return f"a list of {plurals.get(args[0]) or _write_type(args[0])}"
    if isinstance(hint, type) and is_dataclass(hint):
        return f"[{hint.__name__}]({ELSEWHERE.get(hint, f'#{hint.__name__.lower()}')})"
    return {int: "a whole number", float: "a number", bool: "`true`, `false`", str: "text"}[hint]


def _write_default(field: Any) -> str:
    if field.default is MISSING and field.default_factory is MISSING:
        return "required"
    if field.default is MISSING or is_dataclass(field.default):
        return ""
    default = field.metadata.get(LEFT_OUT, field.default)
    value = list(default) if isinstance(default, tuple) else default
    words = {True: "true", False: "false", None: "none"}
    return f"`{words[value] if isinstance(value, bool) or value is None else value}`"


def write_presets() -> str:
    """Write the recipes in a table."""
    rows = [
        [
            f"`{name}`",
            USES[name],
            count(recipe.iterations),
            count(recipe.batch),
            f"{recipe.optimizer.learning_rate:g}, {recipe.schedule.kind}",
            recipe.precision,
        ]
        for name, recipe in RECIPES.items()
    ]
    heads = ("recipe", "use", "iterations", "batch", "learning rate", "precision")
    return write_table(heads, rows, left=(0, 1, 4, 5))


def write_changes() -> str:
    """Write in what each recipe differs from the defaults of the fields."""
    rows = [
        [f"`{name}`", " ".join(f"`{field}={_plain(value)}`" for field, value in changed.items()) or "all defaults"]
        for name, changed in ((name, flatten(encode(recipe, sparse=True))) for name, recipe in RECIPES.items())
    ]
    return write_table(("recipe", "fields that are not at their default"), rows, left=(0, 1))


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(_plain, value))}]"
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def write_tasks() -> str:
    """Write the tasks in a table, then the fields of those that have some."""
    rows = [[f"`{name}`", task.needs, _summarize(task)] for name, task in TASKS.items()]
    table = write_table(("task", "target of an image", "for"), rows, left=(0, 1, 2))
    return "\n\n".join([table, *[write_fields(task) for task in TASKS.values() if fields(task)]])


def _summarize(spec: type) -> str:
    return PARSER.parse(inspect.cleandoc(spec.__doc__ or "")).short_description or ""


def write_findings() -> str:
    """Write what `reslab data check` can find, in the words that it prints."""
    rows = [[kind.severity, f"`{name}`", _mark_fields(kind.meaning)] for name, kind in KINDS.items()]
    return write_table(("level", "printed", "what it means, and what to do"), rows, left=(0, 1, 2))


def write_names() -> str:
    """Write signature and docstring of every public function and class; specs have their tables elsewhere."""
    return "\n\n".join(f"### {name}\n\n{_write_name(name)}" for name in reslab.__all__ if not _is_spec(name))


def _is_spec(name: str) -> bool:
    return is_dataclass(getattr(reslab, name))


def _write_name(name: str) -> str:
    value = getattr(reslab, name)
    parts = [f"```python\n{_write_signature(value)}\n```"] if name != "UserError" else []
    parts += [inspect.getdoc(value) or ""]
    if inspect.isclass(value):
        members = {key: item for key, item in vars(value).items() if key[0] != "_" and inspect.isfunction(item)}
        parts += ["\n".join(_wrap(f"- `{key}`: {inspect.getdoc(item)}") for key, item in members.items())]
    return "\n\n".join(filter(None, parts))


def _write_signature(value: Any) -> str:
    """Return how a function is called, or a class is made, as the source has it."""
    source = inspect.getsource(value.__init__ if inspect.isclass(value) else value)
    (definition,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(definition, ast.FunctionDef)
    arguments = ast.unparse(definition.args).removeprefix("self, ")
    returned = "" if inspect.isclass(value) or definition.returns is None else f" -> {ast.unparse(definition.returns)}"
    arguments = re.sub(r"(: [^,=]+)=", r"\1 = ", arguments)
    if len(arguments) > LONGEST_CODE:
        kept = re.sub("(?<!,) ", UNBROKEN, arguments)
        arguments = f"\n{textwrap.indent(textwrap.fill(kept, LONGEST_CODE), '    ')}\n".replace(UNBROKEN, " ")
    return f"reslab.{value.__name__}({arguments}){returned}"


if __name__ == "__main__":
    main()
