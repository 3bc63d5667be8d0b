"""How weights are moved: the optimizer, the schedule of its rate, and the warm-up before it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from reslab.errors import UserError
from reslab.spec.codec import LEFT_OUT, normalize, place

# What a kind of optimizer has unless someone says otherwise: the paper's, and torch's for AdamW.
USUAL = {
    "sgd": {"learning_rate": 0.1, "weight_decay": 1e-4},
    "adamw": {"learning_rate": 1e-3, "weight_decay": 1e-2},
}


def _by_kind(name: str) -> Any:
    """Return a field whose default is that of the optimizer's kind."""
    return field(default=None, metadata={LEFT_OUT: USUAL["sgd"][name]})


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
    """SGD as in the paper: v <- momentum * v + rate * gradient; weights <- weights - v. Or AdamW.

    Fields:
        kind: `sgd`, or `adamw` (Loshchilov and Hutter, 2019).
        learning_rate: The learning rate, which the schedule multiplies. For adamw the default is 0.001.
        body_rate: Learning rate of all layers but the classifier, as a fraction of learning_rate.
        stage_decay: Each stage learns at this fraction of the rate of the next one; the last at this fraction of the
            body's. 1 gives all stages the same rate.
        bias_rate: Learning rate of the biases of convolutions and fully-connected layers, as a multiple of that of
            their weights. The shifts of normalizations keep the latter.
        momentum: The momentum, from 0 up to 1, 1 excluded. For sgd.
        nesterov: Use Nesterov momentum. For sgd.
        weight_decay: The weight decay. For adamw the default is 0.01.
        decay: What decays: `all` parameters, or `weights` for kernels and matrices only.
        head_decay: Weight decay of the classifier, as a multiple of weight_decay.
        clip_norm: Clip the norm of the gradient to this value. 0 does not clip.
        betas: Decay of the averages of the gradient and of its square. For adamw.
        epsilon: Added to the divisor. For adamw.
    """

    kind: Literal["sgd", "adamw"] = "sgd"
    learning_rate: float = _by_kind("learning_rate")
    body_rate: float = 1.0
    stage_decay: float = 1.0
    bias_rate: float = 1.0
    momentum: float = 0.9
    nesterov: bool = False
    weight_decay: float = _by_kind("weight_decay")
    decay: Literal["all", "weights"] = "all"
    head_decay: float = 1.0
    clip_norm: float = 0.0
    betas: tuple[float, ...] = (0.9, 0.999)
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        for name, usual in USUAL.get(str(self.kind).lower(), USUAL["sgd"]).items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, usual)
        positive, least = (
            ("learning_rate", "body_rate", "bias_rate", "epsilon"),
            ("weight_decay", "head_decay", "clip_norm"),
        )
        where = demand(self, "recipe.optimizer.", positive=positive, least=dict.fromkeys(least, 0))
        if not 0 <= self.momentum < 1:
            raise UserError(f"{where}momentum is {self.momentum:g}; give a number from 0 to below 1")
        if not 0 < self.stage_decay <= 1:
            raise UserError(f"{where}stage_decay is {self.stage_decay:g}; give a fraction, such as 0.5")
        if len(self.betas) != 2 or any(not 0 <= beta < 1 for beta in self.betas):
            raise UserError(
                f"{where}betas is {list(self.betas)}; give two numbers from 0 to below 1, such as [0.9,0.999]"
            )


@dataclass(frozen=True, kw_only=True)
class ScheduleSpec:
    """The learning rate as a function of progress.

    Fields:
        kind: `steps` multiplies the rate by `factor` at each drop. `cosine` falls along half a cosine. `one-cycle`
            rises linearly from zero, then falls. `constant` does not change it.
        drops: Where the rate drops, as fractions of the run. For steps.
        factor: What the rate is multiplied by at each drop. For steps.
        rise: The fraction of the run in which the rate rises. For one-cycle.
        fall: How the rate falls after the rise. For one-cycle.
        final: The rate at the end, as a fraction of learning_rate. For cosine and one-cycle.
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
    """A smaller learning rate at the start: for a number of iterations, or until the training error is low enough.

    Fields:
        learning_rate: The learning rate during a warm-up that ends by the error (paper, section 4.2).
        until_error_percent: That warm-up ends when the training error is below this value.
        window: The training error is the mean over this many iterations.
        iterations: The rate rises linearly over this many iterations. 0 ends the warm-up by the error instead.
        initial: Where that rise begins, as a fraction of the rate.
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
        how = "without recipe.warmup.iterations" if warmup.is_by_error else "together with recipe.warmup.iterations"
        for name in ("initial",) if warmup.is_by_error else by_error:
            if f"warmup.{name}" in given:
                raise UserError(f"recipe.warmup.{name} has no effect {how}; leave out one of them")
