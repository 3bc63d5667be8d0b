"""How weights are moved: the optimizer, the schedule of its rate, and the warm-up before it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from reslab.errors import UserError
from reslab.spec.codec import normalize, place


def demand(spec: object, usual: str, *, positive: Sequence[str] = (), least: Mapping[str, float] | None = None) -> str:
    """Normalize a part of a recipe, refuse a field below what it must be, and return what stands before its fields."""
    normalize(spec, usual=usual)
    where = place(usual)
    for name in positive:
        if getattr(spec, name) <= 0:
            raise UserError(f"{where}{name} is {getattr(spec, name):g}; it must be above 0")
    for name, bound in (least or {}).items():
        if getattr(spec, name) < bound:
            raise UserError(f"{where}{name} is {getattr(spec, name):g}; it must be at least {bound:g}")
    return where


@dataclass(frozen=True, kw_only=True)
class OptimizerSpec:
    """SGD as the paper has it: v <- momentum * v + rate * gradient; weights <- weights - v. Or AdamW.

    AdamW (Loshchilov and Hutter, 2019) has `betas` and an `epsilon` instead of a momentum; weight decay reaches the
    same weights with both.
    `body_rate` is the rate of everything but the classifier, in rates: below one where the body was trained before.
    `stage_decay` makes it fall stage by stage: each learns at that fraction of the rate of the one behind it, the last
    at that fraction of the body's.
    """

    kind: Literal["sgd", "adamw"] = "sgd"
    learning_rate: float = 0.1
    body_rate: float = 1.0
    stage_decay: float = 1.0
    momentum: float = 0.9
    nesterov: bool = False
    weight_decay: float = 1e-4
    decay: Literal["all", "weights"] = "all"
    clip_norm: float = 0.0
    betas: tuple[float, ...] = (0.9, 0.999)
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        positive, least = ("learning_rate", "body_rate", "epsilon"), {"weight_decay": 0, "clip_norm": 0}
        where = demand(self, "recipe.optimizer.", positive=positive, least=least)
        if not 0 <= self.momentum < 1:
            raise UserError(f"{where}momentum is {self.momentum:g}; give a number from 0 up to 1, 1 excluded")
        if not 0 < self.stage_decay <= 1:
            raise UserError(f"{where}stage_decay is {self.stage_decay:g}; give a fraction, such as 0.5")
        if len(self.betas) != 2 or any(not 0 <= beta < 1 for beta in self.betas):
            raise UserError(f"{where}betas is {list(self.betas)}; give two numbers from 0 up to 1, such as [0.9,0.999]")


@dataclass(frozen=True, kw_only=True)
class ScheduleSpec:
    """The rate as a function of progress: divided by ten at fractions of the run, a half cosine, or one cycle.

    One cycle is a linear rise from nothing over the fraction `rise` of the run, then the `fall`. A cosine and a cycle
    end at `final` times the rate.
    """

    kind: Literal["steps", "cosine", "constant", "one-cycle"] = "steps"
    drops: tuple[float, ...] = (0.5, 0.75)
    factor: float = 0.1
    rise: float = 0.2
    fall: Literal["linear", "cosine"] = "linear"
    final: float = 0.0

    def __post_init__(self) -> None:
        where = demand(self, "recipe.schedule.", positive=("factor",))
        if any(not 0 < drop < 1 for drop in self.drops):
            raise UserError(f"{where}drops is {self.drops}; drops are fractions of the run, such as 0.5")
        if not 0 <= self.rise < 1:
            raise UserError(f"{where}rise is {self.rise:g}; it is a fraction of the run, from 0 up to 1")
        if not 0 <= self.final <= 1:
            raise UserError(f"{where}final is {self.final:g}; it is a fraction of the rate, from 0 to 1")


@dataclass(frozen=True, kw_only=True)
class WarmupSpec:
    """A smaller rate at first, for so many `iterations`, or by the training error where these are 0.

    By iterations it rises linearly from the fraction `initial` of the rate that the schedule gives to all of it. By the
    error it is `learning_rate` until the training error over the last `window` iterations falls below
    `until_error_percent`, as the paper has it.
    """

    learning_rate: float = 0.01
    until_error_percent: float = 80.0
    window: int = 100
    iterations: int = 0
    initial: float = 0.01

    def __post_init__(self) -> None:
        positive, least = ("learning_rate", "until_error_percent"), {"window": 1, "iterations": 0}
        where = demand(self, "recipe.warmup.", positive=positive, least=least)
        if not 0 <= self.initial <= 1:
            raise UserError(f"{where}initial is {self.initial:g}; it is a fraction of the rate, from 0 to 1")

    @property
    def is_by_error(self) -> bool:
        """Whether what the training comes to decides on its end."""
        return not self.iterations


# Fields that some kinds heed, and which those are.
KINDS_WITH = {
    "schedule": {
        "drops": ("steps",),
        "factor": ("steps",),
        "rise": ("one-cycle",),
        "fall": ("one-cycle",),
        "final": ("cosine", "one-cycle"),
    },
    "optimizer": {"momentum": ("sgd",), "nesterov": ("sgd",), "betas": ("adamw",), "epsilon": ("adamw",)},
}
# What a kind of optimizer has unless someone says otherwise; torch's, for AdamW.
USUAL = {
    "sgd": {"learning_rate": 0.1, "weight_decay": 1e-4},
    "adamw": {"learning_rate": 1e-3, "weight_decay": 1e-2},
}


def refuse_without_effect(
    given: Iterable[str], *, optimizer: OptimizerSpec, schedule: ScheduleSpec, warmup: WarmupSpec | None
) -> None:
    """Refuse fields given for another kind of optimizer, schedule or warm-up than the recipe has."""
    given = set(given)
    for part, kind in (("schedule", schedule.kind), ("optimizer", optimizer.kind)):
        for name, kinds in KINDS_WITH[part].items():
            if f"{part}.{name}" in given and kind not in kinds:
                raise UserError(
                    f"recipe.{part}.{name} has no effect with recipe.{part}.kind={kind}; "
                    f"leave it out, or write recipe.{part}.kind={kinds[-1]}"
                )
    if warmup is not None:
        by_error = ("learning_rate", "until_error_percent", "window")
        how = "without recipe.warmup.iterations" if warmup.is_by_error else "beside recipe.warmup.iterations"
        for name in ("initial",) if warmup.is_by_error else by_error:
            if f"warmup.{name}" in given:
                raise UserError(f"recipe.warmup.{name} has no effect {how}; leave out one of them")
