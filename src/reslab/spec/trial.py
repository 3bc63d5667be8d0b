"""One experiment, complete: data, network, recipe, seed. Equal trials share a run, so repeating one is free."""

import functools
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from reslab.errors import UserError, suggest
from reslab.spec.catalogue import Spec, comparable, name_of, spec_from_dict, spec_to_dict
from reslab.spec.codec import convert, decode, differing_fields, encode, flatten, normalize, override
from reslab.spec.preprocess import Preprocess
from reslab.spec.recipe import Recipe, change_recipe
from reslab.spec.task import CLASSIFICATION, encode_task, find_task
from reslab.spec.task_spec import TaskSpec

SplitName: TypeAlias = Literal["full", "tuning"]
OnBadImage: TypeAlias = Literal["stop", "skip"]
PARTS = ("task", "data", "network", "recipe", "seed")
MOST_FLATTENED = 4096  # trials
GROUPS = ("task", "data", "network", "recipe")
START, PREPARED = "start", "preprocess"
RECIPE_FIELDS = tuple(Recipe.__dataclass_fields__)
USUAL_WORDS = {  # other libraries' names for fields of a trial
    "recipe.optimizer.learning_rate": ("lr", "learning_rate"),
    "recipe.optimizer.momentum": ("momentum",),
    "recipe.optimizer.weight_decay": ("weight_decay", "wd"),
    "recipe.epochs": ("epochs",),
    "recipe.iterations": ("iterations", "steps"),
    "recipe.batch": ("batch", "batch_size"),
    "recipe.freeze": ("freeze",),
    "recipe.precision": ("precision",),
    "network": ("model",),
    "network.input_size": ("input_size", "image_size"),
    "data": ("dataset",),
}


@dataclass(frozen=True, kw_only=True)
class DataSpec:
    """A dataset, identified by its contents rather than by its path.

    Fields:
        name: Name of the dataset or folder. A run's folder is named after it.
        fingerprint: Hash of the contents, computed when the data are read.
        split: `full` uses the dataset's own split. `tuning` tests on the last tenth of the training images.
        on_bad_image: What to do with a photograph that cannot be read: `stop`, or `skip` and use the next one.
        held_out_seed: Seed that draws the images held out: for `validation`, and for tests where a folder has none.
        validation: Fraction of the training images that is held out, for recipe.keep_best to choose by.
    """

    name: str
    fingerprint: str
    split: SplitName = "full"
    on_bad_image: OnBadImage = "stop"
    held_out_seed: int = 0
    validation: float = 0.0

    def __post_init__(self) -> None:
        normalize(self, usual="data.")
        if not re.fullmatch(r"[\w.-]+", self.name):  # a run's folder is named after it
            raise UserError(f"data.name is {self.name!r}; it takes letters, digits, '.', '_' and '-' only")
        if not 0 <= self.validation < 1:
            raise UserError(
                f"data.validation is {self.validation:g}; give a fraction of the training images, such as 0.1"
            )


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What a run is made from, and what its folder is named after.

    Fields:
        data: Fields of the dataset.
        network: Fields of the network.
        recipe: Fields of the recipe.
        seed: Seed of everything random: initial weights, order, augmentation.
        start: SHA-256 of the weights that training starts from, or none.
        task: What the network is trained for.
        preprocess: How photographs are prepared, as the weights of `start` know them. None: as the recipe says.
    """

    data: DataSpec
    network: Spec
    recipe: Recipe
    seed: int = 0
    start: str | None = None
    task: TaskSpec = CLASSIFICATION
    preprocess: Preprocess | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "task", find_task(self.task))  # a name will do
        normalize(self)
        read_seed(self.seed)

    @property
    def id(self) -> str:
        """Network and data in words, then twelve digits of the SHA-256 of all that is not as by default.

        So a field that is new in a later version leaves the ids of earlier trials as they were. Where it brings a new
        meaning, what they meant counts as the default, and the new one has ids of its own.
        """
        text = json.dumps(trial_to_dict(self, sparse=True), sort_keys=True, separators=(",", ":"))
        words = name_of(self.network).split()[0]
        return f"{words}-{self.data.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def read_seed(value: Any) -> int:
    """Read a seed, as a trial takes it."""
    seed = convert(int, value, where="seed")
    # Each iteration draws from a generator seeded with seed and step together, 32 bits each.
    if not 0 <= seed < 2**31:
        raise UserError(f"seed is {seed}; it must be from 0 to {2**31 - 1:,}")
    return seed


def trial_to_dict(trial: Trial, *, sparse: bool = False) -> dict[str, Any]:
    """Return a trial as plain data, complete; `sparse` leaves out what is as by default."""
    parts = {
        "task": encode_task(trial.task, sparse=sparse),
        "data": encode(trial.data, sparse=sparse),
        "network": spec_to_dict(trial.network, sparse=sparse),
        "recipe": encode(trial.recipe, sparse=sparse),
        "seed": trial.seed,
    }
    parts |= {} if trial.start is None else {START: trial.start}
    return parts | ({} if trial.preprocess is None else {PREPARED: encode(trial.preprocess, sparse=sparse)})


def trial_from_dict(data: Mapping[str, Any]) -> Trial:
    """Rebuild a trial from `trial_to_dict`'s data."""
    for part in data:
        if part not in (*PARTS, START, PREPARED):
            if part in RECIPE_FIELDS or part == "base":
                raise UserError(f"this is a recipe, not a trial: it has '{part}'; use it with recipe=FILE")
            raise UserError(f"a trial has no '{part}'{suggest(part, PARTS) or '; it has ' + ', '.join(PARTS)}")
    missing = [part for part in PARTS if part not in data]
    if missing == list(PARTS):
        raise UserError(f"this is not a trial, which has {', '.join(PARTS)}; `reslab train ... --dry-run` prints one")
    if missing:
        remedy = f"add {'it' if len(missing) == 1 else 'them'}"
        raise UserError(
            f"the trial lacks {', '.join(missing)}; {remedy} (`reslab train ... --dry-run` prints a complete trial)"
        )
    return Trial(
        data=decode(DataSpec, data["data"], where="data."),
        network=spec_from_dict(data["network"], where="network."),
        recipe=decode(Recipe, data["recipe"], where="recipe."),
        seed=data["seed"],
        start=convert(str, data[START], where=START) if START in data else None,
        task=find_task(data["task"]),
        preprocess=decode(Preprocess, data[PREPARED], where=f"{PREPARED}.") if PREPARED in data else None,
    )


def trial_differences(one: Trial, other: Trial) -> dict[str, tuple[Any, Any]]:
    """Return the dotted fields in which two trials differ, with both values (None where one lacks the field)."""
    return differing_fields(_flatten(one), _flatten(other))


@functools.lru_cache(maxsize=MOST_FLATTENED)  # verdicts compare each run with the setting of each claim
def _flatten(trial: Trial) -> dict[str, Any]:
    return flatten(trial_to_dict(trial) | {"network": comparable(trial.network)}, into_lists=True)


def hint_at_field(word: str) -> str:
    """Say which field is meant by another library's word for it; an empty string if none is known."""
    word = word.replace("-", "_")
    meant = (field for field, words in USUAL_WORDS.items() if word.removeprefix("recipe.") in words)
    field = word if word in (*GROUPS, "seed") else next(meant, "")
    return field and f"write {field}=..."


def group_fields(fields: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Sort dotted fields under the part of a trial they are fields of."""
    groups: dict[str, dict[str, Any]] = {group: {} for group in GROUPS}
    for field, value in fields.items():
        group, dot, rest = field.partition(".")
        if dot and group == "recipe" and rest not in RECIPE_FIELDS and (hint := hint_at_field(field)):
            raise UserError(f"there is no field '{field}'; {hint}")
        if dot and group in groups:
            groups[group][rest] = value
        elif field not in (*groups, "seed"):
            nearest = suggest(field, (*groups, "seed", "weights")).removeprefix("; ")
            hint = hint_at_field(field) or nearest or "it has data, network, recipe, seed and their fields"
            raise UserError(f"a trial has no field '{field}'; {hint}")
    return groups


def change_trial(trial: Trial, fields: Mapping[str, Any]) -> Trial:
    """Return a trial with its seed and dotted fields overridden."""
    groups = group_fields(fields)
    for group in GROUPS:
        if group in fields:
            raise UserError(f"the trial already has its {group}; change it with {group}.FIELD=value")
    return replace(
        trial,
        task=override(trial.task, groups["task"], where="task."),
        data=override(trial.data, groups["data"], where="data."),
        network=override(trial.network, groups["network"], where="network."),
        recipe=change_recipe(trial.recipe, groups["recipe"]),
        seed=fields.get("seed", trial.seed),
    )
