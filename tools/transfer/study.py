"""Settings of fine-tuning compared on held-out images, and the recipe that follows: `benchmarks/finetune.py study`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from reslab.numbers import percent
from reslab.report.markdown import write_table
from reslab.spec.recipe import find_recipe
from reslab.tasks.classification.scores import ERROR
from tools.transfer import kept
from tools.transfer.kept import ANTS_BEES, CIFAR, IMAGENETTE, Data, Kept

FINETUNE, PHOTOS = find_recipe("finetune"), find_recipe("photos")
CHOSEN = f"rate={FINETUNE.optimizer.learning_rate:g} length={FINETUNE.iterations}"
HELD_OUT_ERROR = f"validation_{ERROR.name}"
ABOUT = f"""\
One or two fields at a time, from `recipe=photos` with its {PHOTOS.iterations} iterations at a rate of \
{PHOTOS.optimizer.learning_rate:g}. Of the words,
`rate` is `recipe.optimizer.learning_rate`, `length` is `recipe.iterations`, `freeze` is `recipe.freeze`, `body` is
`recipe.optimizer.body_rate`, `decay` is `recipe.optimizer.stage_decay`, `norm` is `network.norm`, and `kind` is
`recipe.optimizer.kind`. Training images that each seed draws are held out and decide; test errors stand beside them.
Trainings ran beside each other and other work, so their seconds say little about speed."""


@dataclass(frozen=True)
class Setting:
    """One setting on one set of photographs: what its seeds came to, or in a sentence why one did not."""

    name: str
    outcomes: Sequence[Data | str]

    @property
    def failure(self) -> str:
        """Why a seed came to nothing."""
        return next((outcome for outcome in self.outcomes if isinstance(outcome, str)), "")

    @property
    def ended(self) -> list[Data]:
        """What its seeds came to; nothing where one failed."""
        return [] if self.failure else [outcome for outcome in self.outcomes if not isinstance(outcome, str)]

    @property
    def held_out(self) -> float:
        """The mean error on images that were held out."""
        return kept.mean(self.ended, HELD_OUT_ERROR) if self.ended else math.inf

    def standard_error(self, images: int) -> float:
        """Return how far chance moves the mean: by its seeds, and at the least by so many images held out for each."""
        wrong = [outcome[HELD_OUT_ERROR] for outcome in self.ended]
        by_images = self.held_out * (100 - self.held_out) / (images * len(wrong))
        by_seeds = statistics.variance(wrong) / len(wrong) if len(wrong) > 1 else 0.0
        return math.sqrt(max(by_images, by_seeds))

    def row(self, *, best: bool) -> list[str]:
        """Write it, the best in bold."""
        name = f"`{self.name}`" + (", as `finetune`" if self.name == CHOSEN else "")
        if not self.ended:
            return [name, "failed", "", ""]
        held, test = (kept.tell(self.ended, metric) for metric in (HELD_OUT_ERROR, ERROR.name))
        return [name, f"**{held}**" if best else held, test, f"{kept.mean(self.ended, 'seconds'):.0f}"]


def write() -> list[str]:
    """Write what each setting came to, and what recipe follows."""
    records = kept.read("study")
    told = [(one, name) for one in records for name in dict.fromkeys(row["data"] for row in one.data["settings"])]
    parts, missing = [ABOUT], []
    for about, found in kept.sort_by_data(told, (ANTS_BEES, CIFAR, IMAGENETTE)):
        if not found:
            parts.append(f"{about.words}: not run.")
            record = f"--json results/transfer/study-{about.saved}.json"
            missing.append(f"python benchmarks/finetune.py study {about.given} {record}")
        for one, name in found:
            settings = list_settings(one, name)
            best = find_best(settings)
            failed = [f"`{one.name}` failed: {one.failure}" for one in settings if one.failure]
            heads = ("setting", "held-out error %, mean ± std (n)", "test error %", "s")
            together = one.data["together"]
            words = f"{kept.name_images(about, one, name)}; {100 * one.data['held_out']:.0f} % of those for training "
            words += "are held out. " + (f"{together} ran at once." if together > 1 else "")
            parts += [kept.fold_prose(words.strip())]
            parts += [write_table(heads, [setting.row(best=setting in best) for setting in settings])]
            parts += [kept.list_items(failed)] if failed else []
            held_out = int(one.data["held_out"] * one.data["images"][name]["train"])
            parts += [kept.fold_prose(judge(settings, images=held_out))]
    if len(told) > 1:
        parts += [kept.fold_prose(judge_together([list_settings(one, name) for one, name in told]))]
    return [*parts, *kept.cite(records, missing)]


def list_settings(record: Kept, name: str) -> list[Setting]:
    """Return the settings of one set of photographs."""
    return [Setting(row["setting"], row["outcomes"]) for row in record.data["settings"] if row["data"] == name]


def find_best(settings: Sequence[Setting]) -> list[Setting]:
    """Return the settings with the lowest mean error on held-out images, as it is printed; none where none ended."""
    least = min(one.held_out for one in settings)
    return [one for one in settings if one.ended and percent(one.held_out) == percent(least)]


def judge(settings: Sequence[Setting], *, images: int) -> str:
    """Say which is best on held-out images, how many are as good, and where the recipe stands that reslab has."""
    best = find_best(settings)
    if not best:
        return "No setting ended, so no recipe follows."
    least, error = best[0].held_out, best[0].standard_error(images)

    def is_near(one: Setting) -> bool:
        return bool(one.ended) and one.held_out - least <= math.hypot(error, one.standard_error(images))

    near = [one for one in settings if one in best or is_near(one)]
    names = " and ".join(f"`{one.name}`" for one in best)
    said = (
        f"**{names} {'errs' if len(best) == 1 else 'err'} least on held-out images: {percent(least)} %.** "
        f"{len(near)} of {len(settings)} settings are within one standard error of the difference, by seeds and images."
    )
    chosen = next((one for one in settings if one.name == CHOSEN), None)
    if chosen is None or not chosen.ended:
        return f"{said} `{CHOSEN}`, which is `recipe=finetune`, was not run to its end."
    if chosen in best:
        return f"{said} `{CHOSEN}` is `recipe=finetune`."
    place = sum(one.held_out < chosen.held_out for one in settings) + 1
    among = "one of them" if chosen in near else "none of them"
    more = percent(chosen.held_out - least)
    return f"{said} `recipe=finetune` is {among}: {percent(chosen.held_out)} %, {more} points more, place {place}."


def judge_together(studies: Sequence[Sequence[Setting]]) -> str:
    """Say which setting is best on several sets of photographs, all counting the same."""
    means = [{one.name: one.held_out for one in settings if one.ended} for settings in studies]
    shared = {
        name: statistics.fmean(one[name] for one in means) for name in means[0] if all(name in one for one in means)
    }
    if not shared:
        return "No setting ended on all of them."
    best = min(shared, key=lambda name: shared[name])
    said = f"Over these {len(studies)}, all counting the same, `{best}` has the lowest mean, {percent(shared[best])} %"
    if CHOSEN not in shared:
        return f"{said}."
    return (
        f"{said}: `recipe=finetune`." if best == CHOSEN else f"{said}; `recipe=finetune` has {percent(shared[CHOSEN])}."
    )
