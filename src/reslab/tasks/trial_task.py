"""A trial's task with what feeds it: what the loop trains, and how it is tested on the way and at the end."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.swa_utils import update_bn

from reslab.data.dataset import Dataset
from reslab.data.feed import Feed
from reslab.networks import Network
from reslab.networks.dropout import draw_from
from reslab.networks.synchronized import synchronize_norms
from reslab.runtime.capture import capture as record
from reslab.runtime.execution import Execution
from reslab.runtime.listener import DEAF, Listener
from reslab.runtime.processes import ALONE, Processes
from reslab.runtime.randomness import mix_seed
from reslab.spec.trial import Trial
from reslab.tasks.catalogue import find_shown
from reslab.tasks.opinions import OpinionMeter
from reslab.tasks.task import Scores, Task, find_task

TEST, VALIDATION = "test", "validation"  # what metric logs call the images of a score


@dataclass(frozen=True, kw_only=True)
class TrialTask:
    """What one trial trains and tests. `class_weights`, on the device, say what images count in the loss."""

    trial: Trial
    task: Task
    feed: Feed
    processes: Processes = ALONE
    class_weights: Tensor | None = None

    @property
    def tallied(self) -> tuple[str, ...]:
        """What an iteration is counted by, beside its loss."""
        return self.task.tallied

    @property
    def execution(self) -> Execution:
        """Memory layout and precision."""
        return Execution(channels_last=self.trial.recipe.channels_last, precision=self.trial.recipe.precision)

    @property
    def image_shape(self) -> tuple[int, ...]:
        """What the network is given: channels, height, width."""
        return self.feed.image_shape

    def load(self, step: int, count: int) -> tuple[Tensor, ...]:
        """Return the batches of iterations from `step` on, as the network is asked about them."""
        images, targets, *mixed = self.feed.load(step, count)
        if type(self.task).pose is not Task.pose:
            processes = self.processes  # of which each poses other images
            numbers = ((step + one) * processes.count + processes.rank for one in range(len(images)))
            seeds = [mix_seed(self.trial.seed, number) for number in numbers]
            posed = [self.task.pose(*pair, seed=seed) for *pair, seed in zip(images, targets, seeds, strict=True)]
            images, targets = map(torch.stack, zip(*posed, strict=True))
        return images, targets, *mixed

    def loss(self, network: Network, batch: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        """Return the mean loss of a batch, and what it is counted by."""
        smoothing, weights = self.trial.recipe.label_smoothing, self.class_weights
        return self.task.train_loss(network, batch, execution=self.execution, smoothing=smoothing, weights=weights)

    def describe_tally(self, sums: Mapping[str, float], images: int) -> dict[str, float]:
        """Return what the log says of the training."""
        return self.task.describe_tally(sums, images)

    def warmup_percent(self, sums: Mapping[str, float], images: int) -> float:
        """Return the training error that decides on the end of a warm-up."""
        return self.task.warmup_percent(sums, images)

    def name_images(self, step: int) -> str:
        """Say which training images iteration `step` sees."""
        return self.feed.name_images(step)

    def make_evaluation(self, network: Network, *, capture: bool) -> Callable[[], dict[str, float]]:
        """Return what gives the scores that go into the metric log, on images held back to choose by too."""
        feeds = {TEST: self.feed} | ({} if self.feed.validation is None else {VALIDATION: self.feed.validation})
        tests = {part: self._make_test(network, feed, capture=capture) for part, feed in feeds.items()}
        return lambda: {name: value for part, test in tests.items() for name, value in log_scores(test(), part).items()}

    def rate_choice(self, metrics: Mapping[str, float]) -> float:
        """Return how good the score is that the best weights are kept by, more being better."""
        score = next(score for score in find_shown(self.trial).scores if score.name == self.trial.recipe.keep_best)
        value = metrics[f"{VALIDATION}_{score.name}"]
        return value if score.better == "higher" else -value

    def _make_test(self, network: Network, feed: Feed, *, capture: bool) -> Callable[[], Scores]:
        """Return what scores the network, captured where all images to test on are resident."""
        if not capture or self.processes.count > 1 or not feed.is_resident:
            return lambda: self._score(network, feed)
        device = next(network.parameters()).device
        meter = self._make_meter(device, feed)
        replay: Callable[[], None] | None = None

        @torch.no_grad()
        def count() -> None:
            meter.clear()
            for images, targets, _ in self._tests(feed):
                meter.add(self.task.answer(network, images, targets), targets)

        def evaluate() -> Scores:
            nonlocal replay
            if replay is None:
                network.eval()
                replay = record(count, device=device, rehearsals=1)
            replay()
            return meter.read()

        return evaluate

    def score(self, network: Network, *, opinions: OpinionMeter | None = None) -> Scores:
        """Score the network on every test image, and note its opinions; each process tests its share of them."""
        return self._score(network, self.feed, opinions)

    @torch.no_grad()
    def _score(self, network: Network, feed: Feed, opinions: OpinionMeter | None = None) -> Scores:
        network.eval()
        meter = self._make_meter(next(network.parameters()).device, feed)
        for images, targets, indices in self._tests(feed):
            outputs = self.task.answer(network, images, targets)
            meter.add(outputs, targets)
            if opinions is not None:
                opinions.add(outputs, targets, indices)
        meter.merge(self.processes)
        if opinions is not None:
            opinions.merge(self.processes)
        return meter.read()

    def take_exact_norms(self, network: Network) -> None:
        """Give the network its average statistics over one more epoch of training, where the recipe asks for that.

        Images are augmented as they were: of images as they are, networks know too much (docs/inside/log.md).
        """
        recipe, processes = self.trial.recipe, self.processes
        if not recipe.exact_norms:
            return
        device = next(network.parameters()).device
        draw_from(network, torch.Generator(device).manual_seed(mix_seed(self.trial.seed, recipe.iterations)))  # dropout
        with contextlib.ExitStack() as afterwards:
            if recipe.sync_norms and processes.count > 1:
                afterwards.callback(synchronize_norms(network, processes))
            update_bn(self._images_to_come(), network)
        for norm in (module for module in network.modules() if isinstance(module, _BatchNorm)):
            for name in ("running_mean", "running_var"):
                processes.average(norm.get_buffer(name))

    def _images_to_come(self) -> Iterator[Tensor]:
        """Yield this process's share of the batches that an epoch after the last would bring, part by part."""
        recipe = self.trial.recipe
        for step in range(recipe.iterations, recipe.iterations + -(-len(self.feed.targets) // recipe.batch)):
            images, *_ = self.load(step, 1)
            yield from images[0].chunk(recipe.accumulate)

    def _tests(self, feed: Feed) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        for images, targets, indices in feed.tests():
            for question in range(self.task.questions):
                yield self.task.pose_test(images, question), self.task.answers(targets, question), indices

    def _make_meter(self, device: torch.device, feed: Feed):
        outputs, asked = self.trial.network.classes, self.task.questions
        images, first = asked * feed.num_tests, asked * feed.tested.start
        return self.task.make_meter(outputs=outputs, images=images, device=device, first=first)


def make_task(
    trial: Trial,
    dataset: Dataset,
    *,
    device: torch.device | str,
    processes: Processes = ALONE,
    folder: Path | None = None,
    listener: Listener = DEAF,
) -> TrialTask:
    """Pair a trial with its data. What is found out about the images is kept in `folder`."""
    task = find_task(trial.task)
    feed = dataset.make_feed(trial, device=device, processes=processes, folder=folder, listener=listener)
    weights = None
    if trial.recipe.class_weights != "none":
        weights = torch.from_numpy(task.weigh(np.asarray(feed.targets), classes=trial.network.classes)).to(device)
    return TrialTask(trial=trial, task=task, feed=feed, processes=processes, class_weights=weights)


def log_scores(scores: Scores, part: str = TEST) -> dict[str, float]:
    """Return scores under the names they have in metric logs."""
    return {f"{part}_{name}": value for name, value in scores.logged().items()}
