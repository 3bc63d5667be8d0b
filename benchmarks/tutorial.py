"""PyTorch's tutorial on transfer learning, followed with a network of ours that has trained weights.

https://pytorch.org/tutorials/beginner/transfer_learning_tutorial.html: batches of 4, SGD at 0.001, a tenth of it every
seven epochs. Photographs are prepared as the weights know them. Its error is told after each epoch with the seconds so
far, and once more at the moment when ours was done: an epoch of a large set is longer than all of our training.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

from reslab.data.preprocessing import preprocess_images
from reslab.networks.network import Network

EPOCHS, BATCH, WORKERS = 25, 4, 4
SIDE = 224


def follow_tutorial(
    network: Network, data: Path, *, epochs: int, ours: float, seed: int, device: str
) -> dict[str, Any]:
    """Train as the tutorial does; tell errors and seconds after each epoch, and the error after `ours` seconds.

    Testing counts as in the tutorial, after each epoch. The test when our time is over does not.
    """
    torch.manual_seed(seed)
    network = network.to(device)
    batches, tests = load_folder(data, seed=seed)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.001, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)
    ends: list[dict[str, float]] = []
    then: dict[str, float] | None = None
    began = time.perf_counter()
    for epoch in range(epochs):
        for number, (images, labels) in enumerate(batches, 1):
            network.train()
            optimizer.zero_grad()
            F.cross_entropy(classify(network, images, device), labels.to(device)).backward()
            optimizer.step()
            if then is None and (stopped := time.perf_counter()) - began >= ours:
                error = measure_error(network, tests, device)
                then = {"seconds": stopped - began, "error_percent": error, "epochs": epoch + number / len(batches)}
                began += time.perf_counter() - stopped
        schedule.step()
        error = measure_error(network, tests, device)
        ends.append({"seconds": time.perf_counter() - began, "error_percent": error})
    # Where it was done before us, what it ended with is what it has when our time is over.
    return {"seed": seed, "epochs": ends, "in_our_time": then or {**ends[-1], "epochs": float(epochs)}}


def load_folder(data: Path, *, seed: int) -> tuple[DataLoader[Any], DataLoader[Any]]:
    """Return the tutorial's batches of random crops, and those of the centre that are tested."""
    crops = [transforms.RandomResizedCrop(SIDE), transforms.RandomHorizontalFlip(), transforms.PILToTensor()]
    centre = [transforms.Resize(256), transforms.CenterCrop(SIDE), transforms.PILToTensor()]
    training, tested = (
        ImageFolder(str(data / part), transforms.Compose(steps)) for part, steps in (("train", crops), ("val", centre))
    )
    shared: dict[str, Any] = {"batch_size": BATCH, "num_workers": WORKERS, "persistent_workers": WORKERS > 0}
    # Tests draw seeds of their own: an additional one leaves the training as it would be.
    own = torch.Generator().manual_seed(seed)
    return DataLoader(training, shuffle=True, **shared), DataLoader(tested, generator=own, **shared)


def classify(network: Network, images: Tensor, device: str) -> Tensor:
    """Return the logits of images, which the transforms have resized and cropped."""
    assert network.preprocess is not None
    cropped = replace(network.preprocess, resize=None, crop=None)
    return network(preprocess_images(images.to(device), cropped, brightest=255))


@torch.no_grad()
def measure_error(network: Network, batches: DataLoader[Any], device: str) -> float:
    """Return the error on all test images, in percent."""
    network.eval()
    wrong = images = 0
    for shown, labels in batches:
        wrong += int((classify(network, shown, device).argmax(1).cpu() != labels).sum())
        images += len(labels)
    return 100 * wrong / images
