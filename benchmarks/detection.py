"""Faster R-CNN on a GPU beside torchvision's, training and inference, in turns in one run.

    python benchmarks/detection.py [--batch 8] [--shorter 600] [--skip c4] [--profile] [--json FILE]

All are given the same noise with boxes on it, on the device. The peer is `fasterrcnn_resnet50_fpn`, trained as
torchvision's references do: autocast bfloat16, channels-last, the stem and conv2 frozen, torch's SGD. Ours is what
`reslab train` runs, `task.head=fpn`. Beside them is the paper's form, `task.head=c4` with 64 regions of each image,
two images an iteration: torchvision has no such network.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch import Tensor, nn
from torchvision.models.detection import FasterRCNN
from torchvision.models.detection.backbone_utils import resnet_fpn_backbone
from torchvision.ops import FrozenBatchNorm2d

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import kernel_times
from benchmarks.arguments import whole
from benchmarks.race import PEER, Advance, Contender, Race, tabulate
from benchmarks.record import Record, describe_machine
from reslab.data.feed import Feed
from reslab.networks import build
from reslab.networks.inference import Inference
from reslab.runtime.execution import FAST, Execution
from reslab.spec import Spec, find
from reslab.spec.boxes import ABSENT, FRAME
from reslab.spec.detection import MULTIPLE, Detection
from reslab.spec.recipe import find_recipe
from reslab.spec.trial import DataSpec, Trial
from reslab.tasks.task import find_task
from reslab.tasks.trial_task import TrialTask
from reslab.training.stepping import assemble, reproducible

ASPECT = 4 / 3
OBJECTS = 6  # in each image
LEARNING_RATE = 1e-9  # noise has nothing to be learnt from, and constant norms of random weights hold nothing back


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Images of one size, each with so many objects."""

    batch: int
    shorter: int
    classes: int
    device: str

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.shorter, round(self.shorter * ASPECT)

    def make_images(self) -> Tensor:
        """Return noise of deviation 1 on the device, padded as batches are."""
        generator = torch.Generator(self.device).manual_seed(0)
        height, width = self.size
        images = torch.randn(self.batch, 3, height, width, generator=generator, device=self.device)
        return nn.functional.pad(images, (0, -width % MULTIPLE, 0, -height % MULTIPLE))

    def make_targets(self) -> Tensor:
        """Return the frames and the objects of the images."""
        height, width = self.size
        random = torch.Generator().manual_seed(0)
        corners = torch.rand(self.batch, OBJECTS, 2, 2, generator=random) * torch.tensor([width, height])
        boxes = torch.cat([corners.amin(2), corners.amax(2) + 1], dim=-1)
        boxes = torch.minimum(boxes, torch.tensor([width, height] * 2))
        targets = torch.full((self.batch, OBJECTS + 2, 7), float(ABSENT))
        targets[:, 0] = torch.tensor([0, 0, width, height, FRAME, width, height])
        targets[:, 1:-1, :4] = boxes
        targets[:, 1:-1, 4] = torch.randint(0, self.classes, (self.batch, OBJECTS), generator=random)
        targets[:, 1:-1, 5] = 0
        targets[:, 1:-1, 6] = (boxes[..., 2:] - boxes[..., :2]).prod(-1)
        return targets.to(self.device)


@dataclass(frozen=True, kw_only=True)
class NoiseFeed(Feed):
    """One batch that lies on the device, to train on and on; nothing is tested here."""

    batch: tuple[Tensor, Tensor]

    @property
    def image_shape(self) -> tuple[int, ...]:
        """What the network is given."""
        return tuple(self.batch[0].shape[1:])

    def load(self, step: int, count: int) -> tuple[Tensor, ...]:
        """Return the batch, as often as it is wanted."""
        return tuple(torch.stack([part] * count) for part in self.batch)


def make_peer(scene: Scene) -> nn.Module:
    """Return torchvision's detector; images are not resized again."""
    height, width = scene.size
    body = resnet_fpn_backbone(backbone_name="resnet50", weights=None, norm_layer=FrozenBatchNorm2d, trainable_layers=3)
    network = FasterRCNN(body, scene.classes + 1, min_size=min(height, width), max_size=max(height, width))
    return network.to(scene.device).to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]


def unpad(scene: Scene) -> list[Tensor]:
    """Return the images as torchvision takes them: a list, without padding."""
    height, width = scene.size
    return [image[:, :height, :width].contiguous() for image in scene.make_images()]


def train_peer(scene: Scene) -> Advance:
    """Return what trains torchvision's detector."""
    network, images = make_peer(scene).train(), unpad(scene)
    targets = [{"boxes": rows[1:-1, :4], "labels": rows[1:-1, 4].long() + 1} for rows in scene.make_targets()]
    trained = [weight for weight in network.parameters() if weight.requires_grad]
    optimizer = torch.optim.SGD(trained, LEARNING_RATE, momentum=0.9, weight_decay=5e-4)

    def advance(iterations: int) -> None:
        for _ in range(iterations):
            with torch.autocast(scene.device, torch.bfloat16):
                loss = torch.stack([*network(images, targets).values()]).sum()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()

    return advance


def make_trial(scene: Scene, task: Detection) -> Trial:
    """Return ours: what `reslab train` would be told."""
    spec: Spec = find("resnet-50", {"classes": scene.classes})
    fields = {
        "precision": "bf16",
        "channels_last": True,
        "batch": scene.batch,
        "optimizer.learning_rate": LEARNING_RATE,
    }
    data = DataSpec(name="noise", fingerprint="")
    return Trial(data=data, network=spec, recipe=find_recipe("voc-paper", fields), task=task)


def train_ours(scene: Scene, task: Detection) -> Advance:
    """Return what trains our detector as `reslab train` does."""
    trial = make_trial(scene, task)
    feed = NoiseFeed(batch=(FAST.prepare(scene.make_images()), scene.make_targets()))
    wanted = TrialTask(trial=trial, task=find_task(trial.task), feed=feed)
    stepper = assemble(build(trial.network, task=trial.task), wanted, trial.recipe, seed=0, device=scene.device)
    numbers = itertools.count()

    def advance(iterations: int) -> None:
        with reproducible():
            for step in itertools.islice(numbers, iterations):
                stepper.advance(step, warmed_at=None)

    return advance


def infer_peer(scene: Scene) -> Advance:
    """Return what finds objects with torchvision's detector."""
    network, images = make_peer(scene).eval(), unpad(scene)

    def advance(iterations: int) -> None:
        with torch.inference_mode(), torch.autocast(scene.device, torch.bfloat16):
            for _ in range(iterations):
                network(images)

    return advance


def infer_ours(scene: Scene, task: Detection) -> Advance:
    """Return what finds objects with ours, captured."""
    trial = make_trial(scene, task)
    network = build(trial.network, task=trial.task).to(scene.device).eval()
    execution = Execution(channels_last=True, precision="bf16")
    execution.prepare_network(network)

    def run(images: Tensor) -> Tensor:
        with execution.autocast(scene.device):
            return network(images)

    images = FAST.prepare(scene.make_images())
    inference = Inference(run, precision="fp32", execution=execution, device=scene.device)

    def advance(iterations: int) -> None:
        for _ in range(iterations):
            inference(images)

    return advance


def list_contenders(scene: Scene, *, iterations: int) -> list[Contender]:
    """Return all contenders; a pyramid as torchvision's, and the paper's form with two images an iteration."""
    fpn, c4 = Detection(head="fpn", shorter=scene.shorter), Detection(shorter=scene.shorter)

    def sized(batch: int) -> Scene:
        return Scene(batch=batch, shorter=scene.shorter, classes=scene.classes, device=scene.device)

    def compete(kind: str, label: str, batch: int, make: Callable[[Scene], Advance]) -> Contender:
        one, name = sized(batch), f"{kind}, batch {batch}"
        return Contender(kind=name, label=label, make=lambda: make(one), images=batch, iterations=iterations)

    return [
        compete("training fpn", PEER, scene.batch, train_peer),
        compete("training fpn", "ours", scene.batch, lambda one: train_ours(one, fpn)),
        compete("training c4", "ours", 2, lambda one: train_ours(one, c4)),
        *[
            compete("inference fpn", label, batch, make)
            for batch in (scene.batch, 1)
            for label, make in ((PEER, infer_peer), ("ours", lambda one: infer_ours(one, fpn)))
        ],
        compete("inference c4", "ours", 1, lambda one: infer_ours(one, c4)),
    ]


def profile(race: Race) -> dict[str, Any]:
    """Return which kernels take an iteration's time, of each who is ready."""
    found: dict[str, Any] = {}
    for name, (_, advance) in race.ready.items():
        kernels = kernel_times.record_kernels(lambda advance=advance: advance(1))
        longest = kernel_times.longest(kernels, 25)
        found[name] = {"milliseconds": kernel_times.milliseconds(kernels), "longest": longest, "kernels": len(kernels)}
    return found


def main() -> None:
    """Prepare, take turns, print."""
    cuda = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=whole, default=8 if cuda else 2)
    parser.add_argument("--shorter", type=whole, default=600 if cuda else 128)
    parser.add_argument("--classes", type=whole, default=20)
    parser.add_argument("--rounds", type=whole, default=5 if cuda else 1, help="turns after all are ready")
    parser.add_argument("--iterations", type=whole, default=20 if cuda else 1)
    parser.add_argument("--skip", default="", help="contenders with any of these words in their names")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.profile and not cuda:
        sys.exit("detection.py: --profile is about kernels of a GPU, and there is none; leave it out")
    device = "cuda" if cuda else "cpu"
    scene = Scene(batch=given.batch, shorter=given.shorter, classes=given.classes, device=device)
    about = f"{describe_machine(device)}; Faster R-CNN with ResNet-50, {' x '.join(map(str, scene.size))} pixels"

    kept = Record(given.json)
    race = Race(device=device, save=lambda known: kept.keep(about=about, **known))
    skipped = [word for word in given.skip.split(",") if word]
    for contender in list_contenders(scene, iterations=given.iterations):
        if not any(word in contender.name for word in skipped):
            race.join(contender)
            race.turn()
    for _ in range(given.rounds):
        race.turn()
    console = Console(width=140)
    console.print(f"{about}; medians of {given.rounds} turns and more, each of {given.iterations} iterations or more")
    console.print(tabulate(race.record["images_per_second"]))
    if given.profile:
        race.record["profile"] = profile(race)
        race.save(race.record)
    for name, error in race.record["failed"].items():
        console.print(f"{name} failed: {error[:300]}", highlight=False)


if __name__ == "__main__":
    main()
