"""The learning-rate range test (Smith, 2015): a short training whose rate rises from far too small to far too large.

It trains a copy that is thrown away: no run begins, goes on or changes by it. The rate to train by lies well below the
one at which the loss is lowest, for there it is about to diverge.
"""

import math
import statistics
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reslab.data.catalogue import open_data
from reslab.data.dataset import Dataset
from reslab.drawing.rates import draw_rates
from reslab.errors import UserError
from reslab.experiments.preflight import preflight
from reslab.experiments.sizes import telling_of_memory
from reslab.experiments.starting import initialize, load_start
from reslab.experiments.threads import suitable_threads
from reslab.experiments.train import name_fields
from reslab.experiments.trials import read_held_out_seed, read_trial
from reslab.networks.freezing import freeze
from reslab.runtime.execution import choose_device
from reslab.runtime.listener import DEAF, Listener
from reslab.spec import Spec, name_of
from reslab.spec.augmentation import ResizingSpec
from reslab.spec.recipe import Recipe
from reslab.spec.trial import Trial
from reslab.tasks.trial_task import make_task
from reslab.training.loop import Stopped
from reslab.training.state import Tally
from reslab.training.stepping import assemble, reproducible

STEPS = 100
RANGES = {"sgd": (1e-4, 10.0), "adamw": (1e-6, 1.0)}
DIVERGED = 1.5  # times the loss at the beginning
NEAR = 4  # losses on each side that one is averaged with
BELOW = 10  # times below the rate of the lowest loss


@dataclass(frozen=True, kw_only=True)
class RateSweep:
    """The losses of single batches at rising rates. `suggested` is a rate to train by, None where none lowers the loss.

    A notebook shows it as its plot.
    """

    network: str
    rates: tuple[float, ...]
    losses: tuple[float, ...]

    @property
    def smoothed(self) -> tuple[float, ...]:
        """Each loss, averaged with its neighbours'."""
        ends = range(len(self.losses))
        return tuple(statistics.fmean(self.losses[max(0, end - NEAR) : end + NEAR + 1]) for end in ends)

    @property
    def lowest_at(self) -> float:
        """The rate of the lowest loss."""
        return min(zip(self.smoothed, self.rates, strict=True))[1]

    @property
    def suggested(self) -> float | None:
        """A tenth of the rate of the lowest loss, to a digit; None where it falls no more than losses scatter."""
        first = self.losses[: 2 * NEAR + 1]
        if statistics.fmean(first) - min(self.smoothed) <= statistics.stdev(first):
            return None
        return float(f"{self.lowest_at / BELOW:.0e}")

    @property
    def still_falls(self) -> bool:
        """Whether the loss is lowest at the highest rate there was, so that a higher one might be better still."""
        return self.lowest_at == self.rates[-1]

    def draw(self) -> str:
        """Draw the losses over the rates, as SVG."""
        title = f"Loss of {self.network} while the learning rate rises"
        return draw_rates(self.rates, self.losses, smoothed=self.smoothed, suggested=self.suggested, title=title)

    _repr_svg_ = draw


@telling_of_memory()
def sweep_rates(
    trial: Trial, dataset: Dataset, *, weights: str | Path | None = None, device: str = "cpu", listener: Listener = DEAF
) -> RateSweep:
    """Train a copy of what `trial` starts from, the rate rising from iteration to iteration until the loss explodes."""
    lowest, highest = RANGES[trial.recipe.optimizer.kind]
    recipe = replace(trial.recipe, iterations=STEPS, warmup=None, resizing=ResizingSpec(), keep_best=None, stop_after=0)
    task = make_task(replace(trial, recipe=recipe), dataset, device=device, listener=listener)
    network = initialize(trial)
    load_start(network, trial, weights)
    if recipe.freeze is not None:
        freeze(network, recipe.freeze)

    def rate(step: int) -> float:
        return lowest * (highest / lowest) ** (step / (STEPS - 1))

    losses: list[float] = []
    with reproducible():
        stepper = assemble(network, task, recipe, seed=trial.seed, device=device, rate=rate)
        for step in range(STEPS):
            if listener.should_stop():
                raise Stopped
            stepper.advance(step, warmed_at=None)
            tally = stepper.state.read_tally()
            stepper.state.set_tally(Tally())
            if tally.failed_at is not None or not math.isfinite(tally.loss):
                break
            losses.append(tally.loss)
            listener.progress(step + 1, {})
            if statistics.fmean(losses[-2 * NEAR :]) > DIVERGED * statistics.fmean(losses[: 2 * NEAR]):
                break
    if len(losses) <= 2 * NEAR:
        raise UserError(
            f"the loss of {name_of(trial.network)} is not finite or rises steeply from the first iterations; check "
            "the data and weights="
        )
    rates = tuple(rate(step) for step in range(len(losses)))
    return RateSweep(network=name_of(trial.network).split()[0], rates=rates, losses=tuple(losses))


def find_rate(
    data: str | Path,
    network: str | Spec | None = None,
    *,
    weights: str | Path | None = None,
    recipe: str | Path | Recipe | None = None,
    seed: int = 0,
    device: str | None = None,
    fields: Mapping[str, Any] | None = None,
    progress: Callable[[int], None] = lambda step: None,
    warn: Callable[[str], None] = warnings.warn,
) -> RateSweep:
    """Find a learning rate for what `reslab.train` would train with the same arguments. Nothing is written.

    Return the losses at rising rates. `suggested` is a rate to train by, and `draw()` returns the plot as SVG.
    `progress` receives the number of each iteration, at most 100.
    """
    device, listener = choose_device(device), Listener(warn=warn, progress=lambda step, _: progress(step))
    given = name_fields(network, recipe=recipe, seed=seed, fields=fields, function="find_rate")
    dataset = open_data(str(data), held_out_seed=read_held_out_seed(given))
    trial = read_trial(given, dataset, weights=weights)
    preflight(trial, dataset, device=device, listener=listener)
    with suitable_threads(trial, device=device, listener=listener):
        return sweep_rates(trial, dataset, weights=weights, device=device, listener=listener)
