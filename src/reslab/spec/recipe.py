"""How a network is trained, complete: optimizer, schedule, augmentation, precision, length.

`cifar-paper` is section 4.2 to the letter; `cifar-paper-110` adds its warm-up for 110 layers; `fast` is what was learnt
since, for the same networks in a fraction of the time; `highway` is how Highway networks were trained, as far as a
recipe can say it. `imagenet-paper` is section 3.4, `photos` the everyday job. docs/paper/deviations.md lists what the
paper leaves open.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from reslab.errors import UserError, choices, suggest
from reslab.spec.augmentation import AugmentationSpec, ResizingSpec
from reslab.spec.codec import decode, encode, flatten, overlay, override
from reslab.spec.optimization import USUAL, OptimizerSpec, ScheduleSpec, WarmupSpec, demand, refuse_without_effect
from reslab.spec.toml import read_toml

Precision: TypeAlias = Literal["fp32", "bf16", "fp16"]
MOST = {"iterations": 1_000_000_000, "batch": 10_000_000}
HEADLINE = "true"  # for the name of a task's first score, until the task is known
EVALUATIONS = 10  # of a run whose length is its user's


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything about a training run except the network, the data and the seed.

    Fields:
        iterations: How many updates of the weights. On the command line, recipe.epochs=N sets it by epochs.
        batch: Images per update, over all processes.
        optimizer: Fields of the optimizer.
        schedule: Fields of the learning rate schedule.
        warmup: Fields of the warm-up, or none.
        augmentation: Fields of the augmentation.
        resizing: Fields of progressive resizing.
        centring: What is subtracted from images: the `mean-image` of the training images, or the mean colour of
            `imagenet`, whose standard deviation then divides them.
        freeze: Keep layers fixed up to this stage (stem, conv2, conv3, ...), statistics included. `body` trains the
            classifier only.
        label_smoothing: Label smoothing, from 0 up to 1, 1 excluded.
        class_weights: `balanced` gives images of rare classes more weight in the loss.
        sampling: `balanced` shows images of rare classes more often.
        accumulate: Compute each batch in this many parts. Each part is normalized separately.
        average_decay: Decay per iteration of the moving average of the weights. 0 for no average.
        average_from: The fraction of the run after which the average starts.
        exact_norms: After training, recompute the normalization statistics over training images.
        sync_norms: With several processes, normalize over the whole batch instead of each process's part.
        precision: Number format of the forward and backward pass.
        channels_last: Store images in channels-last order, which is faster on most devices.
        evaluate_every: Iterations between tests.
        keep_best: Name of a score, or `true` for the task's first one. The run ends with the weights that were best
            by it on the images that data.validation holds out.
        stop_after: Stop after this many evaluations without a better score for keep_best. 0 never stops early.
    """

    iterations: int = 64_000
    batch: int = 128
    optimizer: OptimizerSpec = field(default_factory=OptimizerSpec)
    schedule: ScheduleSpec = field(default_factory=ScheduleSpec)
    warmup: WarmupSpec | None = None
    augmentation: AugmentationSpec = field(default_factory=AugmentationSpec)
    resizing: ResizingSpec = field(default_factory=ResizingSpec)
    centring: Literal["mean-image", "imagenet"] = "mean-image"
    freeze: str | None = None
    label_smoothing: float = 0.0
    class_weights: Literal["none", "balanced"] = "none"
    sampling: Literal["shuffled", "balanced"] = "shuffled"
    accumulate: int = 1
    average_decay: float = 0.0
    average_from: float = 0.0
    exact_norms: bool = False
    sync_norms: bool = False
    precision: Precision = "fp32"
    channels_last: bool = True
    evaluate_every: int = 1_000
    keep_best: str | bool | None = None
    stop_after: int = 0

    def __post_init__(self) -> None:
        if str(self.keep_best).lower() in ("true", "false"):
            object.__setattr__(self, "keep_best", HEADLINE if str(self.keep_best).lower() == "true" else None)
        least: dict[str, float] = dict.fromkeys(("iterations", "batch", "accumulate", "evaluate_every"), 1)
        where = demand(self, "recipe.", least=least | {"stop_after": 0})
        if self.batch % self.accumulate:
            raise UserError(f"{where}accumulate is {self.accumulate}; it must divide the batch of {self.batch}")
        for name, most in MOST.items():
            if getattr(self, name) > most:
                raise UserError(f"{where}{name} is {getattr(self, name)}; it must be at most {most:,}")
        for name in ("label_smoothing", "average_decay", "average_from"):
            if not 0 <= getattr(self, name) < 1:
                raise UserError(f"{where}{name} is {getattr(self, name)}; give a number from 0 to below 1")
        if self.stop_after and self.keep_best is None:
            raise UserError(
                f"{where}stop_after is {self.stop_after}, but no score is chosen to watch; add {where}keep_best=true"
            )
        if self.sampling == self.class_weights == "balanced":
            raise UserError(
                f"{where}class_weights and {where}sampling are both balanced, which would favour rare classes twice; "
                "choose one of them"
            )


# docs/paper/deviations.md: the paper does not say what decays; kernels and matrices alone give its errors.
PAPER = Recipe(optimizer=OptimizerSpec(decay="weights"))
# A few hundred photographs of one's own, on a laptop too.
PHOTOS = Recipe(
    iterations=400,
    batch=32,
    optimizer=OptimizerSpec(learning_rate=0.05, nesterov=True, weight_decay=5e-4, decay="weights"),
    schedule=ScheduleSpec(kind="one-cycle", fall="cosine"),
    augmentation=AugmentationSpec(crop="resized", areas=(0.25, 1.0)),
    centring="imagenet",
    label_smoothing=0.1,
    precision="bf16",
    evaluate_every=40,
)
# Faster R-CNN's approximate joint training (paper, appendix A): 50k updates of two images, then 20k at a tenth. Its
# files have biases at twice the rate, and let them decay.
VOC_PAPER = replace(
    PAPER,
    iterations=70_000,
    batch=2,
    optimizer=OptimizerSpec(learning_rate=0.001, bias_rate=2.0, weight_decay=5e-4, decay="all"),
    schedule=ScheduleSpec(drops=(5 / 7,)),
    centring="imagenet",
    evaluate_every=10_000,
)
COCO_STEP = replace(VOC_PAPER, iterations=320_000, schedule=ScheduleSpec(drops=(0.75,)), evaluate_every=40_000)
RECIPES: dict[str, Recipe] = {
    "cifar-paper": PAPER,
    "cifar-paper-110": replace(PAPER, warmup=WarmupSpec(window=391)),  # an epoch of CIFAR-10
    # By its authors' files, but for how they normalize images and draw two layers: docs/paper/deviations.md.
    "highway": replace(
        PAPER,
        iterations=200_000,
        batch=100,
        optimizer=OptimizerSpec(
            learning_rate=0.025,
            bias_rate=2.0,
            nesterov=True,
            weight_decay=1e-3,
            decay="weights",
            head_decay=10.0,
        ),
        schedule=ScheduleSpec(drops=(0.5, 0.75, 0.875)),
    ),
    # A hundred epochs of CIFAR-10 in one cycle; docs/how-to/fast-cifar.md says what each part is for.
    "fast": Recipe(
        iterations=9_766,
        batch=512,
        optimizer=OptimizerSpec(learning_rate=0.4, nesterov=True, weight_decay=5e-4, decay="weights"),
        schedule=ScheduleSpec(kind="one-cycle"),
        augmentation=AugmentationSpec(edges="reflect", alternating_flips=True),
        label_smoothing=0.1,
        precision="bf16",
        evaluate_every=2_442,
    ),
    # Section 3.4 to the letter; the rate drops where it does in Fig. 4.
    "imagenet-paper": replace(
        PAPER,
        iterations=600_000,
        batch=256,
        schedule=ScheduleSpec(drops=(0.25, 0.5)),
        augmentation=AugmentationSpec(crop="shorter-side", colour=0.1),
        exact_norms=True,
        evaluate_every=5_000,
    ),
    # Ninety epochs as fb.resnet.torch and torchvision have them.
    "imagenet-common": Recipe(
        iterations=450_410,
        batch=256,
        schedule=ScheduleSpec(drops=(1 / 3, 2 / 3)),
        augmentation=AugmentationSpec(crop="resized"),
        centring="imagenet",
        evaluate_every=5_004,
    ),
    # What was learnt since: a hundred epochs in one cycle, small crops first, images mixed, weights averaged.
    "imagenet-modern": Recipe(
        iterations=125_114,
        batch=1024,
        optimizer=OptimizerSpec(learning_rate=2.0, nesterov=True, weight_decay=5e-5, decay="weights"),
        schedule=ScheduleSpec(kind="one-cycle", rise=0.05, fall="cosine"),
        augmentation=AugmentationSpec(crop="resized", policy="trivial", mixup=0.2, cutmix=1.0),
        resizing=ResizingSpec(initial=0.5),
        centring="imagenet",
        label_smoothing=0.1,
        average_decay=0.9998,
        precision="bf16",
        evaluate_every=1_251,
    ),
    "photos": PHOTOS,
    # The same from trained weights, which know most of it already: docs/how-to/fine-tune.md says how it was chosen.
    "finetune": replace(
        PHOTOS,
        iterations=200,
        optimizer=replace(PHOTOS.optimizer, learning_rate=0.005),
        evaluate_every=20,
    ),
    "voc-paper": VOC_PAPER,
    "coco-paper": replace(VOC_PAPER, iterations=490_000, evaluate_every=35_000),
    # The steps of alternating training: those that train proposals, and those that train regions.
    "voc-proposals": replace(VOC_PAPER, iterations=80_000, batch=1, schedule=ScheduleSpec(drops=(0.75,))),
    "voc-regions": replace(VOC_PAPER, iterations=60_000, schedule=ScheduleSpec(drops=(0.5,))),
    "coco-proposals": replace(COCO_STEP, batch=8),
    "coco-regions": replace(COCO_STEP, batch=16),
    # The usual training of detectors since, as Detectron2 has it: sixteen images, warmed up, at several scales; its
    # length is given by EPOCHS, and the iterations are those of COCO.
    "detection": Recipe(
        iterations=90_000,
        batch=16,
        optimizer=OptimizerSpec(learning_rate=0.02, decay="weights"),
        schedule=ScheduleSpec(drops=(2 / 3, 8 / 9)),
        warmup=WarmupSpec(iterations=500, initial=0.001),
        augmentation=AugmentationSpec(scales=(0.8, 0.84, 0.88, 0.92, 0.96, 1.0)),
        centring="imagenet",
        precision="bf16",
        evaluate_every=9_000,
    ),
    # A few hundred photographs with boxes, from trained weights.
    "objects": Recipe(
        iterations=400,
        batch=2,
        optimizer=OptimizerSpec(learning_rate=0.002, weight_decay=5e-4, decay="weights"),
        schedule=ScheduleSpec(kind="one-cycle", fall="cosine"),
        centring="imagenet",
        precision="bf16",
        evaluate_every=100,
    ),
    # House numbers: a flipped digit is another sign, or none.
    "svhn": replace(PAPER, augmentation=AugmentationSpec(flip=False)),
    # A short run in the paper's form; the smaller rate lets 56 layers start within it.
    "digits": replace(
        PAPER,
        iterations=640,
        batch=64,
        optimizer=OptimizerSpec(learning_rate=0.02, decay="all"),
        augmentation=AugmentationSpec(padding=1, flip=False),
        evaluate_every=40,
        precision="bf16",
    ),
}

# How long these are on whatever data they are used on, unless told otherwise.
EPOCHS: dict[str, float] = {"detection": 12}


def find_recipe(name: str, overrides: Mapping[str, Any] | None = None) -> Recipe:
    """Return the recipe with this name, or from this TOML file, with dotted fields overridden."""
    if name not in RECIPES and not name.endswith(".toml"):
        known = f"; choose {', '.join(RECIPES)}, or a file that ends in .toml"
        raise UserError(f"there is no recipe '{name}'{suggest(name, RECIPES) or known}")
    return change_recipe(RECIPES[name] if name in RECIPES else _read_recipe(Path(name)), overrides or {})


def change_recipe(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """Return a recipe with dotted fields overridden; refuse those without effect on its kinds of optimizer and such."""
    changed = override(recipe, changes, where="recipe.")
    whole = set(changes) & {"optimizer", "schedule", "warmup"}  # given with all their fields, or their defaults
    return _complete(changed, recipe, _list_given(changes), whole=whole)


def _complete(recipe: Recipe, base: Recipe, given: Collection[str], *, whole: Collection[str] = ()) -> Recipe:
    """Return a recipe with the usual rate and decay of its optimizer, where that is no longer its base's kind.

    Refuse fields given that have no effect on its kinds of optimizer, schedule and warm-up.
    """
    optimizer = recipe.optimizer
    refuse_without_effect(given, optimizer=optimizer, schedule=recipe.schedule, warmup=recipe.warmup)
    if optimizer.kind == base.optimizer.kind or "optimizer" in whole:
        return recipe
    usual = {name: value for name, value in USUAL[optimizer.kind].items() if f"optimizer.{name}" not in given}
    return replace(recipe, optimizer=replace(optimizer, **usual))


def _list_given(changes: Mapping[str, Any]) -> set[str]:
    """Return the dotted fields that changes give, one by one or in tables; tables on a command line are JSON."""
    given: set[str] = set()
    for name, value in changes.items():
        table = json.loads(value) if isinstance(value, str) and value.lstrip().startswith("{") else value
        given |= flatten(table, f"{name}.").keys()
    return given


def find_epochs(recipe: str | Recipe) -> float | None:
    """Return the epochs that a preset is long, or the base of a file that says nothing else; None for iterations."""
    if isinstance(recipe, Recipe):
        return None
    if recipe in RECIPES:
        return EPOCHS.get(recipe)
    fields = read_toml(Path(recipe))
    return None if "iterations" in fields else EPOCHS.get(fields.get("base", ""))


def spaces_evaluations(recipe: str | Recipe) -> bool:
    """Whether a file, or a recipe that is no preset, says itself how often to evaluate."""
    if isinstance(recipe, Recipe):
        return recipe not in RECIPES.values() and recipe.evaluate_every != Recipe.evaluate_every
    return recipe not in RECIPES and "evaluate_every" in read_toml(Path(recipe))


def space_evaluations(recipe: Recipe, base: Recipe) -> Recipe:
    """Return a recipe that is longer or shorter than its `base` with about ten evaluations.

    A base with more than twice as many draws curves by them, as the paper's do: they become no rarer.
    """
    if recipe.iterations == base.iterations:
        return recipe
    every = max(1, round(recipe.iterations / EVALUATIONS))
    if base.iterations > 2 * EVALUATIONS * base.evaluate_every:
        every = min(every, base.evaluate_every)
    return replace(recipe, evaluate_every=every)


def _read_recipe(path: Path) -> Recipe:
    """Read the fields a file gives, over those of the recipe it names as its `base`, or the paper's."""
    fields = read_toml(path)
    if "recipe" in fields:
        raise UserError(f"{path} is a whole trial, not a recipe; train it with `reslab train {path}`")
    base = fields.pop("base", "cifar-paper")
    if not isinstance(base, str) or base not in RECIPES:
        raise UserError(f"{path}: base is {base!r}; choose {choices(RECIPES)}")
    try:
        usual = flatten({"warmup": encode(WarmupSpec())}) | flatten(encode(RECIPES[base]))
        given = [name for name, value in flatten(fields).items() if name not in usual or usual[name] != value]
        recipe = _complete(decode(Recipe, overlay(encode(RECIPES[base]), fields)), RECIPES[base], given)
        return recipe if "evaluate_every" in fields else space_evaluations(recipe, RECIPES[base])
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
