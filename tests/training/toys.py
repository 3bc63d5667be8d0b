"""Toys for tests of training: networks of a layer or two, on made-up numbers, and whoever is told how it goes.

A slope's loss is its only output, so its bias falls by exactly the rate at every iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from reslab.networks import Network
from reslab.networks.dropout import Dropout
from reslab.networks.network import Chain
from reslab.runtime.execution import EAGER, Execution
from reslab.runtime.listener import Listener, Metrics
from reslab.runtime.processes import ALONE, Processes
from reslab.spec import find
from reslab.spec.optimization import OptimizerSpec
from reslab.spec.recipe import Recipe
from reslab.training.loop import Surroundings
from reslab.training.state import TrainingState
from reslab.training.stepping import Runtime, Stepper

BATCH = 10
# By the plain gradient; the rate drops after iterations 4 and 6.
RECIPE = Recipe(
    iterations=8, batch=BATCH, evaluate_every=3, optimizer=OptimizerSpec(momentum=0.0, weight_decay=0.0, decay="all")
)
SPEC = find("lenet-5")  # what networks must have; the toys heed nothing of it
FINE, NO_LOSS, NO_GRADIENT = range(3)


def make_learner(seed: int = 1) -> Network:
    """A network with weights, statistics, a counter, and something random."""
    torch.manual_seed(seed)
    hidden = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), Dropout(0.2))
    return Chain(SPEC, {"hidden": hidden, "logits": nn.Linear(8, 3)})


def make_slope() -> Network:
    """A network that gives its bias, zero, when it is given zeros."""
    network = Chain(SPEC, {"logits": nn.Linear(4, 1)})
    nn.init.zeros_(network.get_parameter("steps.logits.bias"))
    return network


@dataclass
class Toy:
    """Numbers to be classified, a function of the step.

    Iteration `i` counts `wrongs[i]` images as wrong; troubles make the loss or only the gradient of one not finite.
    `seen` has the loss of every iteration in its order.
    """

    wrongs: Sequence[int] = ()
    troubles: dict[int, int] = field(default_factory=dict)
    processes: Processes = ALONE
    seen: list[float] = field(default_factory=list)
    tallied: tuple[str, ...] = ("wrong",)
    execution: Execution = EAGER
    image_shape: tuple[int, ...] = (4,)

    def load(self, step: int, count: int) -> tuple[Tensor, ...]:
        made = [self._make(number) for number in range(step, step + count)]
        return tuple(torch.stack(parts) for parts in zip(*made, strict=True))

    def loss(self, network: Network, batch: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        assert network.training
        inputs, labels, wrong, trouble = batch
        loss = self.judge(network.weighted_logits(inputs)[0][1], labels)
        if trouble[0] == NO_LOSS:
            loss = loss * torch.inf
        if trouble[0] == NO_GRADIENT:
            loss = loss + (loss * 0).sqrt()  # the root rises without bounds at zero
        self.seen.append(loss.item())
        return loss, wrong.sum(0, keepdim=True)

    def describe_tally(self, sums: Mapping[str, float], images: int) -> dict[str, float]:
        return {"train_error_percent": self.warmup_percent(sums, images)}

    def warmup_percent(self, sums: Mapping[str, float], images: int) -> float:
        return 100 * sums["wrong"] / images

    def make_evaluation(self, network: Network, *, capture: bool) -> Callable[[], dict[str, float]]:
        inputs, labels, *_ = self._make(1000)

        @torch.no_grad()
        def evaluate() -> dict[str, float]:
            assert not network.training
            return {"test_loss": self.judge(network(inputs), labels).item()}

        return evaluate

    def rate_choice(self, metrics: Mapping[str, float]) -> float:
        return -metrics["test_loss"]

    def name_images(self, step: int) -> str:
        return f"{step}.1, {step}.2"

    def judge(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(logits, labels)

    def _make(self, step: int) -> tuple[Tensor, ...]:
        generator = torch.Generator().manual_seed(step)
        inputs, labels = torch.randn(BATCH, 4, generator=generator), torch.randint(3, (BATCH,), generator=generator)
        wrong = torch.arange(BATCH) < (self.wrongs[step] if step < len(self.wrongs) else 0)
        trouble = torch.full((BATCH,), self.troubles.get(step, FINE))
        share = self.processes.share(BATCH)
        return inputs[share], labels[share], wrong[share], trouble[share]


class Slope(Toy):
    """Zeros, of which the mean output is to fall."""

    def judge(self, logits: Tensor, labels: Tensor) -> Tensor:
        return logits.mean()

    def _make(self, step: int) -> tuple[Tensor, ...]:
        inputs, *others = super()._make(step)
        return torch.zeros_like(inputs), *others


def put_together(task: Toy, network: Network, recipe: Recipe = RECIPE, *, compile: bool = False) -> Stepper:
    """A training of a toy on the CPU."""
    state = TrainingState(network, recipe, tallied=task.tallied, processes=task.processes)
    return Stepper(state, task, recipe, seed=1, runtime=Runtime(compile=compile))


@dataclass
class Journal:
    """Keeps what the loop tells, as a run would; wishes to stop at a step, or fails there as a process that is killed.

    `moments` are all calls in their order, by name and step; `rewinds` from where a sitting went on.
    """

    folder: Path
    stop_at: int | None = None
    die_at: int | None = None
    records: list[dict[str, float]] = field(default_factory=list)
    moments: list[tuple[str, int]] = field(default_factory=list)
    shown: list[Metrics] = field(default_factory=list)
    rewinds: list[tuple[int, int]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    watch: Callable[[], None] = lambda: None
    snapshot_at: frozenset[int] = frozenset()
    snapshots: list[tuple[int, dict[str, Tensor]]] = field(default_factory=list)
    step: int = 0

    @property
    def surroundings(self) -> Surroundings:
        return Surroundings(
            checkpoints=self.folder,
            record=self._record,
            rewind=self._rewind,
            evaluating=lambda step, _: self.moments.append(("evaluating", step)),
            listener=Listener(
                progress=self._progress,
                warn=self.warnings.append,
                should_stop=lambda: self.step + 1 == self.stop_at,
            ),
            snapshot_at=self.snapshot_at,
            snapshot=self._snapshot,
        )

    @property
    def checkpoints(self) -> list[int]:
        """The steps that are saved, the newest last."""
        return sorted(int(path.stem.removeprefix("step-")) for path in self.folder.glob("step-*"))

    def _record(self, metrics: dict[str, float]) -> None:
        self.records.append(metrics)
        self.moments.append(("record", int(metrics["step"])))

    def _snapshot(self, step: int, network: Network) -> None:
        assert not network.training
        self.snapshots.append((step, {name: tensor.clone() for name, tensor in network.state_dict().items()}))

    def _rewind(self, step: int, judged_at: int) -> None:
        self.rewinds.append((step, judged_at))
        self.records = [record for record in self.records if record["step"] <= step]
        self.step = step

    def _progress(self, step: int, metrics: Metrics) -> None:
        self.step = step
        self.moments.append(("progress", step))
        self.shown.append(metrics)
        self.watch()
        if step == self.die_at:
            raise KeyboardInterrupt
