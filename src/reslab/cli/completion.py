"""What a shell offers after TAB: verbs and flags by cyclopts, and by this the words of reslab's own.

`reslab --install-completion` writes a script for bash, zsh, fish or PowerShell, which asks `reslab __complete` at each
TAB. That must answer in a moment, so nothing here imports torch.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from cyclopts import App, Parameter
from cyclopts.completion.detect import ShellDetectionError, detect_shell

from reslab.errors import UserError

if typing.TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

Shell: TypeAlias = Literal["zsh", "bash", "fish", "powershell"]
KEYS = ("data", "network", "recipe", "seed", "weights")
GROUPS = ("data", "network", "recipe")  # that have fields
# Those of data/catalogue.py, which imports torch.
DATASETS = ("digits", "cifar10", "cifar100", "svhn", "fashion-mnist", "tiny-imagenet")

# bash takes `=` for the end of a word: its words are put together again, and the answers cut to what comes after it.
BASH_WORDS = """
_{name}_words() {{
  local -a words=()
  local i last word cword=0 cur
  for ((i = 0; i < ${{#COMP_WORDS[@]}}; i++)); do
    word="${{COMP_WORDS[i]}}" last=$((${{#words[@]}} - 1))
    if ((i > 1)) && [[ "${{words[last]}}" != -* ]] && [[ "$word" == "=" || "${{words[last]}}" == *= ]]; then
      words[last]+="$word"
    else
      words+=("$word")
    fi
    ((i == COMP_CWORD)) && cword=$((${{#words[@]}} - 1))
  done
  local -a COMP_WORDS=("${{words[@]}}")
  local COMP_CWORD=$cword
  _{name}
  cur="${{words[cword]}}"
  if [[ "$cur" != -* && "$cur" == *=* ]]; then
    COMPREPLY=("${{COMPREPLY[@]#"${{cur%%=*}}="}}")
  fi
  [[ ${{#COMPREPLY[@]}} -eq 1 && "${{COMPREPLY[0]}}" == *[=./] ]] && compopt -o nospace 2>/dev/null
  return 0
}}
complete -o default -F _{name}_words {name}
"""


def write_script(app: App, shell: Shell) -> str:
    """Return what a shell is to run; in bash, words may hold a `=`."""
    script = app.generate_completion(shell=shell)
    return script + BASH_WORDS.format(name=app.name[0]) if shell == "bash" else script


def install_completion(app: App, *, shell: Shell, output: Path | None = None, add_to_startup: bool = True) -> Path:
    """Write the script where the shell looks for it, and have the shell load it; or write it to `output` alone."""
    try:
        path = app.install_completion(shell=shell, output=output, add_to_startup=add_to_startup and output is None)
        path.write_text(write_script(app, shell), encoding="utf-8")
    except OSError as error:
        place = f"{error.filename} cannot be written: {error.strerror}"
        raise UserError(f"{place}; name another file with --install-completion --output FILE") from error
    return path


def make_installer(app: App) -> Callable[..., None]:
    """Return the command that installs the completion, and says what it changed."""

    def install(
        *, shell: Shell | None = None, output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None
    ) -> None:
        """Install shell completion.

        Parameters
        ----------
        shell
            The shell. Default: the one that runs this command.
        output
            Only write the script to this file.
        """
        try:
            shell = shell or detect_shell()
        except ShellDetectionError as error:
            raise UserError("the shell is unknown; add --shell bash, zsh, fish or powershell") from error
        path = install_completion(app, shell=shell, output=output)
        print(f"wrote {path}; " + ("start a new shell to use it" if output is None else "no startup file was changed"))

    return install


def complete(context: CompletionContext) -> list[str]:
    """Return what a word may become: that of a parameter which says nothing about it itself."""
    begun, field = context.incomplete, context.argument.field_info
    if field.is_keyword_only:
        return list(_list_paths(begun)) if "Path" in str(field.annotation) else []
    key, equals, value = begun.partition("=")
    if equals:
        values = (*_list_values(key), *_list_files(key, value))
        return [f"{key}={choice}" for choice in values if choice.startswith(value)]
    words = {"fields": _list_keys, "name": lambda begun: DATASETS, "run": _list_runs}.get(field.name, _list_subjects)
    return [word for word in (*words(begun), *_list_paths(begun)) if word.startswith(begun)]


def complete_places(context: CompletionContext) -> list[str]:
    """Return the tables and figures of the paper, and what may be changed in their trials."""
    from reslab.cli.reproduce import PLACES

    begun = context.incomplete
    words = (*PLACES, *_list_keys(begun))
    return complete(context) if "=" in begun else [word for word in words if word.startswith(begun)]


def complete_instruments(context: CompletionContext) -> list[str]:
    """Return the instruments, what they are told, and the subjects."""
    from reslab.analysis.catalogue import find_settings, list_instruments

    kinds = [find_settings(name) for name in list_instruments()]
    words = [*list_instruments(), *dict.fromkeys(f"{field.name}=" for kind in kinds for field in fields(kind))]
    return [word for word in words if word.startswith(context.incomplete)] + complete(context)


def _list_keys(begun: str) -> Iterator[str]:
    """Yield what describes a trial: `recipe=`, and where that is written, `recipe.batch=`."""
    yield from (f"{key}=" for key in KEYS)
    yield from (f"{group}." for group in GROUPS)
    if "." in begun:
        yield from (f"{name}=" for name in _list_fields())


def _list_subjects(begun: str) -> Iterator[str]:
    """Yield what a network may be named by: a run, or its own name; and the fields of what is named."""
    from reslab.spec import list_models

    yield from _list_runs(begun)
    yield from list_models()
    yield from _list_keys(begun)


def _list_runs(_: str) -> Iterator[str]:
    from reslab.runs.directory import default_root, list_runs

    yield from (run.path.name for run in list_runs(default_root()))


def _list_values(key: str) -> Iterable[str]:
    """Return what a field may be set to, where that is one of a few."""
    from reslab.shipped import SETS
    from reslab.spec import list_models
    from reslab.spec.recipe import RECIPES

    if key == "weights":
        return (*SETS, "torchvision", *_list_runs(""))
    if key in KEYS:
        return {"data": DATASETS, "network": list_models(), "recipe": RECIPES}.get(key, ())
    hint = _list_fields().get(key)
    if hint is bool:
        return ("true", "false")
    return [str(choice) for choice in _flatten(hint) if isinstance(choice, str)]


def _list_fields() -> dict[str, Any]:
    """Return the fields of a trial by their dotted names, with their types."""
    from reslab.spec import NetworkSpec
    from reslab.spec.recipe import Recipe
    from reslab.spec.trial import DataSpec

    found: dict[str, Any] = {"recipe.epochs": float}

    def collect(kind: Any, before: str) -> None:
        for name, hint in typing.get_type_hints(kind).items():
            inner = next((part for part in (hint, *typing.get_args(hint)) if is_dataclass(part)), None)
            if inner is not None:
                collect(inner, f"{before}{name}.")
            elif not name.startswith("_"):
                found[f"{before}{name}"] = hint

    for group, kind in zip(GROUPS, (DataSpec, NetworkSpec, Recipe), strict=True):
        collect(kind, f"{group}.")
    return found


def _flatten(hint: Any) -> Iterator[Any]:
    """Yield what a Literal allows, at any depth of a union."""
    if typing.get_origin(hint) is Literal:
        yield from typing.get_args(hint)
    else:
        for part in typing.get_args(hint):
            yield from _flatten(part)


def _list_files(key: str, begun: str) -> Iterator[str]:
    """Yield paths where a field may be one."""
    return _list_paths(begun) if key in ("data", "recipe", "weights") else iter(())


def _list_paths(begun: str) -> Iterator[str]:
    """Yield the files and folders whose path begins so; hidden ones where they are asked for."""
    folder, slash, name = begun.rpartition("/")
    try:
        entries = sorted(Path(folder + slash or ".").expanduser().iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(name) and (name or not entry.name.startswith(".")):
            yield f"{folder}{slash}{entry.name}{'/' if entry.is_dir() else ''}"
