"""A published statement, what is trained to test it, and the data it is about."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from reslab.paper.figures import Curve
from reslab.paper.measurements import AtTheEnd, ByEnsemble, ByProtocol, Logged, Measurement
from reslab.spec import find
from reslab.spec.recipe import find_recipe
from reslab.spec.task import CLASSIFICATION, find_task
from reslab.spec.trial import DataSpec, Trial

CIFAR10 = DataSpec(name="cifar10", fingerprint="58faef7e467ee0860a93acdc9dcf6e90f83e3f55e8d4b7818f77d70931960668")
# ILSVRC-2012. What is prepared from its publisher's files has a fingerprint that nobody wrote down. So it is with all
# data here whose fingerprint is empty: they are told by their numbers, and others may stand for them.
IMAGENET = DataSpec(name="imagenet", fingerprint="")
IMAGENET_IMAGES = (1_281_167, 50_000)
# At the high rate the test error jumps from evaluation to evaluation, and the paper shows one run: our allowance.
HIGH_RATE_SCATTER = 2.0


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is trained: a network, its name followed by fields it overrides, on data by a recipe, for a task likewise.

    `images` is how many there are to train and to test on, or in all where their division is not known, if these tell
    the data and no fingerprint is known; `classes` and `input_size` are those of the data where the network is made for
    others. `start` names the data on which the weights were trained that it starts from; nothing for random ones.
    `lacks` is what the published training had and ours cannot have.
    """

    network: str
    recipe: str
    data: DataSpec = CIFAR10
    task: str = CLASSIFICATION.name
    start: str = ""
    images: tuple[int, ...] | None = None
    classes: int | None = None
    input_size: int | None = None
    lacks: str = ""

    def trial(self, seed: int) -> Trial:
        """Return the trial that tests a claim about this setting; what it starts from is only known with the file."""
        name, fields = _split(self.network)
        of_data = {"classes": self.classes, "input_size": self.input_size}
        given = {field: value for field, value in of_data.items() if value is not None}
        recipe, task = find_recipe(self.recipe), find_task(*_split(self.task))
        return Trial(data=self.data, network=find(name, fields | given), recipe=recipe, seed=seed, task=task)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One published statement.

    About one setting it is a number: near, below or above `published`; where nothing was published, it only asks. About
    several it is that the numbers rise, or fall, in the order of the settings; then a step may go the other way by
    `tolerance`, the whole may not. About none it is a number of others' that is only shown. `lacks` is what no trial of
    ours can have of what was published.
    """

    table: str
    row: str
    quantity: str
    settings: tuple[Setting, ...] = ()
    measurement: Measurement
    relation: Literal["near", "below", "above", "rises", "falls"] = "near"
    published: float | None = None
    published_std: float | None = None
    published_n: int | None = None
    tolerance: float = 0.0
    note: str = ""
    lacks: str = ""

    def members(self, seed: int) -> list[tuple[Setting, int]]:
        """Return what is trained for the ensemble of a seed, each with its own seed; nothing where there is none."""
        if not isinstance(self.measurement, ByEnsemble) or not self.settings:
            return []
        networks = [replace(self.settings[0], network=network) for network in self.measurement.members]
        return list(zip(networks, self.measurement.seeds(seed), strict=True))

    @property
    def of_class(self) -> str:
        """The class that it is about; nothing where it is about all."""
        measurement = self.measurement
        return measurement.of_class if isinstance(measurement, AtTheEnd | ByProtocol) else ""

    @property
    def published_words(self) -> str:
        """What was published, as one reads it: 6.61 ± 0.16, > 60, rises; nothing where nothing was."""
        if self.published is None:
            return self.relation if len(self.settings) > 1 else ""
        sign = {"below": "< ", "above": "> "}.get(self.relation, "")
        spread = f" ± {self.published_std:g}" if self.published_std else ""
        return f"{sign}{self.published:g}{spread}"


@dataclass(frozen=True, kw_only=True)
class Substitute:
    """Data that stand for the paper's, so that the setting is a reduced one: how many `images` to train and to test on.

    Those for classification stand for ImageNet, those with objects for VOC, COCO and DET. Photographs have no
    `input_size` of their own.
    """

    data: DataSpec
    images: tuple[int, int]
    class_names: tuple[str, ...] = ()
    classes: int
    input_size: int | None = None
    task: str = CLASSIFICATION.name

    def stand_in(self, claims: Iterable[Claim]) -> tuple[Claim, ...]:
        """Return claims, those about data without a fingerprint about these, but for those of classes not in them."""
        train, test = self.images
        missing = "ImageNet" if self.task == CLASSIFICATION.name else "the paper's images"
        lacks = f"{missing}: {train:,} and {test:,} images of {self.data.name} instead"
        changes = {"data": self.data, "images": None, "lacks": lacks}
        changes |= {"classes": self.classes, "input_size": self.input_size}

        def is_replaced(setting: Setting) -> bool:
            return not setting.data.fingerprint and setting.task.split()[0] == self.task

        def is_kept(claim: Claim) -> bool:
            return claim.of_class in ("", *self.class_names) or not any(map(is_replaced, claim.settings))

        return tuple(
            replace(
                claim,
                settings=tuple(
                    replace(setting, **changes) if is_replaced(setting) else setting for setting in claim.settings
                ),
            )
            for claim in claims
            if is_kept(claim)
        )


TINY_IMAGENET = Substitute(
    data=DataSpec(name="tiny-imagenet", fingerprint="f220c5d4d693d45362e97a500f7300b22335deee3546ee3382b8661507aae248"),
    images=(100_000, 10_000),
    classes=200,
    input_size=64,
)


def claim_order(
    table: str,
    relation: Literal["rises", "falls"],
    settings: Sequence[Setting],
    *,
    quantity: str,
    measurement: Measurement,
    tolerance: float = 0.0,
) -> Claim:
    """Return the claim that a quantity rises, or falls, from network to network."""
    return Claim(
        table=table,
        row=(" < " if relation == "rises" else " > ").join(setting.network for setting in settings),
        quantity=quantity,
        settings=tuple(settings),
        measurement=measurement,
        relation=relation,
        tolerance=tolerance,
    )


def claim_curve(
    table: str,
    curve: Curve,
    setting: Setting,
    *,
    quantity: str,
    ending: Logged,
    at_high_rate: Callable[[int], bool],
    tolerance: Callable[..., float],
    read_to: float,
) -> Iterator[Claim]:
    """Yield what one curve claims, near each of its readings and over its `ending`; `tolerance` is that of a value."""
    claim = Claim(
        table=table,
        row=curve.network,
        quantity=f"{quantity} over {ending.after // 1000}k-{ending.upto // 1000}k",
        settings=(setting,),
        measurement=ending,
        relation=curve.relation,
        published=curve.ends,
        tolerance=tolerance(curve.ends, read_to=read_to) if curve.relation == "near" else read_to,
        note="in the text" if curve.in_text else "read off the figure",
    )
    for iteration, value in curve.at.items():
        yield replace(
            claim,
            quantity=f"{quantity} at {iteration // 1000}k",
            measurement=replace(ending, after=iteration - ending.log_every, upto=iteration),
            relation="near",
            published=value,
            tolerance=HIGH_RATE_SCATTER if at_high_rate(iteration) else tolerance(value, read_to=read_to),
            note="read off the figure",
        )
    yield claim


def _split(words: str) -> tuple[str, dict[str, str]]:
    """Split a name from the fields after it."""
    name, *fields = words.split()
    return name, dict(field.split("=", 1) for field in fields)


def round_up(value: float) -> float:
    """Round up to 0.05."""
    return math.ceil(round(value * 20, 6)) / 20
