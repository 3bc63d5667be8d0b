"""ResNet-50 on a GPU beside torchvision's, training and inference, in turns in one run.

    python benchmarks/resnet50.py [--batch 256] [--skip compiled] [--limit 140] [--profile] [--json FILE]

All are given the same images: bytes that lie on the device and are normalized there for training; for inference,
bfloat16 maps already prepared. The peer trains as torchvision's references do: autocast bfloat16, channels-last,
cuDNN's search for algorithms, torch's SGD; for inference it is bfloat16 throughout. Ours is what `reslab train` runs,
its loss checks, reproducible algorithms and kernels of our own included (and once without those, for the difference),
and what `Predictor(precision="bf16")` runs. Each contender joins
when it is ready, those that must be compiled last, and each turn is written to FILE: a run cut short loses nothing.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import torch
import torchvision
from rich.console import Console
from torch import Tensor, nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.arguments import whole
from benchmarks.race import PEER, TRAINING, Advance, Contender, Race, tabulate, tabulate_profile
from benchmarks.record import Record, describe_machine
from reslab.data.feed import Feed
from reslab.data.preprocessing import centre_pixels
from reslab.networks import build
from reslab.networks.folding import FoldedLayer
from reslab.networks.inference import Inference, serve
from reslab.runtime.execution import FAST
from reslab.spec import Preprocess, Spec, find
from reslab.spec.preprocess import IMAGENET_MEAN, IMAGENET_STD
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial
from reslab.tasks.task import find_task
from reslab.tasks.trial_task import TrialTask
from reslab.training.stepping import assemble, reproducible

# Ours, torchvision's, and the fields in which the paper's differs from that.
PEERS: dict[str, tuple[str, dict[str, str]]] = {
    "resnet-50-v1.5": ("resnet50", {}),
    "resnet-18": ("resnet18", {"shortcut": "B", "pool": "padded"}),
    "resnet-34": ("resnet34", {"shortcut": "B", "pool": "padded"}),
}
LEARNING_RATE = 0.01  # that of imagenet-common is for images, not for noise
PREPROCESS = Preprocess(mean=IMAGENET_MEAN, std=IMAGENET_STD)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What all contenders are given."""

    network: str = "resnet-50-v1.5"
    batch: int
    side: int
    classes: int
    device: str

    @property
    def spec(self) -> Spec:
        """Our network."""
        return find(self.network, {"classes": self.classes, "input_size": self.side, **PEERS[self.network][1]})

    def make_peer(self) -> nn.Module:
        """Return torchvision's network."""
        network = torchvision.models.get_model(PEERS[self.network][0], num_classes=self.classes).to(self.device)
        return network.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]

    def make_batch(self) -> tuple[Tensor, Tensor]:
        """Return bytes and labels on the device."""
        generator = torch.Generator(self.device).manual_seed(0)
        shape, where = (self.batch, 3, self.side, self.side), {"generator": generator, "device": self.device}
        images = torch.randint(0, 256, shape, dtype=torch.uint8, **where)
        return FAST.prepare(images), torch.randint(0, self.classes, (self.batch,), **where)


def normalize(images: Tensor) -> Tensor:
    """Return bytes as a network takes them, in float32."""
    return centre_pixels(images / 255, PREPROCESS)


def searching() -> AbstractContextManager[None]:
    """Let cuDNN try its algorithms and keep the fastest, as torchvision's references do."""
    return torch.backends.cudnn.flags(enabled=True, benchmark=True)


def train_peer(sizes: Sizes, *, compile: str | None = None) -> Advance:
    """Return what trains torchvision's network."""
    network = sizes.make_peer().train()
    run = torch.compile(network, mode=compile, dynamic=False) if compile else network
    optimizer = torch.optim.SGD(network.parameters(), LEARNING_RATE, momentum=0.9, weight_decay=1e-4)
    batch, labels = sizes.make_batch()

    def advance(iterations: int) -> None:
        with searching():
            for _ in range(iterations):
                images = normalize(batch)
                with torch.autocast(sizes.device, torch.bfloat16):
                    loss = F.cross_entropy(run(images), labels)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()

    return advance


@dataclass(frozen=True, kw_only=True)
class NoiseFeed(Feed):
    """One batch of bytes that lies on the device, to train on and on; nothing is tested here."""

    spec: Spec
    batch: tuple[Tensor, Tensor]

    @property
    def image_shape(self) -> tuple[int, ...]:
        """What the network is given."""
        return self.spec.input_shape

    def load(self, step: int, count: int) -> tuple[Tensor, ...]:
        """Return the batch, normalized anew each time."""
        images, labels = self.batch
        prepared = [FAST.prepare(normalize(images)) for _ in range(count)]
        return torch.stack(prepared), labels.expand(count, -1)


def train_ours(
    sizes: Sizes,
    *,
    compile: bool = False,
    own_kernels: bool = True,
    algorithms: Callable[[], AbstractContextManager[None]] = reproducible,
) -> Advance:
    """Return what trains our network as `reslab train` does, or as it would without kernels of our own."""
    fields = {"precision": "bf16", "batch": sizes.batch, "optimizer.learning_rate": LEARNING_RATE}
    recipe = find_recipe("imagenet-common", fields)
    trial = Trial(data=DataSpec(name="noise", fingerprint=""), network=sizes.spec, recipe=recipe)
    feed = NoiseFeed(spec=sizes.spec, batch=sizes.make_batch())
    task = TrialTask(trial=trial, task=find_task(trial.task), feed=feed)
    stepper = assemble(
        build(trial.network), task, recipe, seed=0, device=sizes.device, compile=compile, own_kernels=own_kernels
    )
    print(f"ours: {stepper.runtime}", file=sys.stderr)
    numbers = itertools.count()

    def advance(iterations: int) -> None:
        with algorithms():
            for step in itertools.islice(numbers, iterations):
                stepper.advance(step, warmed_at=None)

    return advance


def infer_peer(sizes: Sizes, count: int, *, compile: str | None = None) -> Advance:
    """Return what passes so many images at a time through torchvision's network."""
    network = sizes.make_peer().bfloat16().eval()
    return _infer(torch.compile(network, mode=compile, dynamic=False) if compile else network, sizes, count)


def infer_ours(sizes: Sizes, count: int) -> Advance:
    """Return what passes so many images at a time through ours."""
    network = serve(build(sizes.spec).to(sizes.device).eval(), "bf16", device=sizes.device)
    advance = _infer(Inference(network, precision="bf16", execution=FAST, device=sizes.device), sizes, count)
    advance(2)  # the second time it is captured
    folded = [module for module in network.modules() if isinstance(module, FoldedLayer)]
    joined = sum(layer.joins for layer in folded)
    print(f"batch {count}: cuDNN joins {joined} of {len(folded)} folded layers where it may", file=sys.stderr)
    return advance


def _infer(run: Callable[[Tensor], Tensor], sizes: Sizes, count: int) -> Advance:
    images = FAST.prepare(normalize(sizes.make_batch()[0][:count]).bfloat16())

    def advance(iterations: int) -> None:
        with torch.inference_mode(), searching():
            for _ in range(iterations):
                run(images)

    return advance


def list_contenders(sizes: Sizes, *, iterations: int) -> list[Contender]:
    """Return all contenders, what must be compiled last; a single image at a time is over soon, so more of those."""

    def training(label: str, make: Callable[[], Advance]) -> Contender:
        return Contender(kind=TRAINING, label=label, make=make, images=sizes.batch, iterations=iterations)

    def inference(count: int, label: str, make: Callable[[], Advance]) -> Contender:
        turns = iterations if count > 1 else 4 * iterations
        return Contender(kind=f"inference, batch {count}", label=label, make=make, images=count, iterations=turns)

    counts = dict.fromkeys((sizes.batch, 1))
    return [
        training(PEER, lambda: train_peer(sizes)),
        training("ours", lambda: train_ours(sizes)),
        training("ours, torch's kernels", lambda: train_ours(sizes, own_kernels=False)),
        training("ours, cuDNN searching", lambda: train_ours(sizes, algorithms=searching)),
        *[inference(count, PEER, lambda count=count: infer_peer(sizes, count)) for count in counts],
        *[inference(count, "ours", lambda count=count: infer_ours(sizes, count)) for count in counts],
        *[
            inference(count, "peer, compiled", lambda count=count: infer_peer(sizes, count, compile="reduce-overhead"))
            for count in counts
        ],
        training("peer, compiled", lambda: train_peer(sizes, compile="default")),
        training("ours, compiled", lambda: train_ours(sizes, compile=True)),
        training("peer, compiled, max-autotune", lambda: train_peer(sizes, compile="max-autotune-no-cudagraphs")),
    ]


def main() -> None:
    """Prepare, take turns, print."""
    cuda = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=PEERS, default="resnet-50-v1.5")
    parser.add_argument("--batch", type=whole, default=256 if cuda else 2)
    parser.add_argument("--side", type=whole, default=224 if cuda else 64)
    parser.add_argument("--classes", type=whole, default=1000)
    parser.add_argument("--rounds", type=whole, default=5, help="turns after all are ready")
    parser.add_argument("--iterations", type=whole, default=20 if cuda else 1)
    parser.add_argument("--skip", default="max-autotune", help="contenders with any of these words in their names")
    parser.add_argument("--limit", type=float, default=100, help="seconds after which nothing more is prepared")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.profile and not cuda:
        sys.exit("resnet50.py: --profile is about kernels of a GPU, and there is none; leave it out")
    started, device = time.perf_counter(), "cuda" if cuda else "cpu"
    sizes = Sizes(network=given.network, batch=given.batch, side=given.side, classes=given.classes, device=device)
    about = f"{describe_machine(device)}; {sizes.network}, {sizes.side} pixels"

    kept = Record(given.json)
    race = Race(device=device, save=lambda known: kept.keep(about=about, **known))
    skipped = [word for word in given.skip.split(",") if word]
    console = Console(width=140)
    everyone = list_contenders(sizes, iterations=given.iterations)
    contenders = [one for one in everyone if not any(word in one.name for word in skipped)]
    for group in (False, True):
        for contender in contenders:
            if ("compiled" in contender.label) != group:
                continue
            if time.perf_counter() - started > given.limit:
                race.record["failed"][contender.name] = f"not prepared within {given.limit:g} s; raise --limit"
                continue
            race.join(contender)
            race.turn()
        if given.profile:  # before the compilers too, which may take too long
            race.profile(sizes.spec, batch=sizes.batch)
    for _ in range(given.rounds):
        race.turn()
    console.print(f"{about}; medians of {given.rounds} turns and more, each of {given.iterations} iterations or more")
    console.print(tabulate(race.record["images_per_second"]))
    if "profile" in race.record:
        console.print(tabulate_profile(race.record))
    for name, error in race.record["failed"].items():
        console.print(f"{name} failed: {error[:300]}", highlight=False)


if __name__ == "__main__":
    main()
