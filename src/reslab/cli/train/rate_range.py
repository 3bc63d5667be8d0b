"""`reslab train ... --find-rate`: a learning-rate range test instead of a training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reslab.cli.terminal.progress import StopSignals, make_bars
from reslab.cli.terminal.show import SPEAKING, console, make_table, say
from reslab.errors import UserError
from reslab.files import refuse_closed_place, write_text
from reslab.runtime.listener import Listener
from reslab.spec.trial import Trial

if TYPE_CHECKING:
    from reslab.data.dataset import Dataset

ROWS = 12


def show_rates(trial: Trial, dataset: Dataset, *, weights: str | Path | None) -> None:
    """Print the loss at rising rates and the one to train by, and write their plot into the current folder."""
    from reslab.experiments.preflight import preflight
    from reslab.experiments.rates import STEPS, sweep_rates
    from reslab.experiments.threads import suitable_threads
    from reslab.runtime.execution import choose_device

    device = choose_device()
    path = Path(f"rates-{trial.id}.svg")
    refuse_closed_place(path)
    preflight(trial, dataset, device=device, listener=SPEAKING)
    with StopSignals() as stop, make_bars() as bars:
        bar = bars.add_task("raising the learning rate", total=STEPS)
        listener = Listener(
            warn=SPEAKING.warn,
            progress=lambda step, _: bars.update(bar, completed=step),
            should_stop=stop.wanted,
        )
        with suitable_threads(trial, device=device, listener=SPEAKING):
            sweep = sweep_rates(trial, dataset, weights=weights, device=device, listener=listener)
    table = make_table("Loss at rising learning rates", "learning rate", "loss")
    for number in range(0, len(sweep.rates), max(1, len(sweep.rates) // ROWS)):
        table.add_row(f"{sweep.rates[number]:.2g}", f"{sweep.smoothed[number]:.4f}")
    console.print(table)
    write_text(path, sweep.draw())
    say(f"wrote {path}")
    if sweep.suggested is None:
        raise UserError("no learning rate lowers the loss within these iterations; check the data, or give weights=")
    if sweep.still_falls:
        say(f"the loss still falls at {sweep.rates[-1]:g}, so a rate above the suggested one may also work")
    now = trial.recipe.optimizer.learning_rate
    console.print(f"suggested: recipe.optimizer.learning_rate={sweep.suggested:g}  (the recipe has {now:g})")
