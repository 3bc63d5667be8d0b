"""Photographs to train on, decoded and cropped ahead of their use, by worker processes where there are any.

A worker makes whole batches. Pixels stay bytes on their way: scale, mean and colour follow on the device. What a worker
gives depends on the seed, the epoch and the image alone. The names of the files lie in shared memory: there may be
millions, and every worker would copy them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from reslab.data.geometry import Geometry, Pixels, choose_box
from reslab.data.photos.folder import PhotoSplit
from reslab.data.photos.order import Key
from reslab.data.photos.pixels import read_crop
from reslab.data.reading import BadImage
from reslab.errors import UserError
from reslab.runtime.randomness import Stream, numbers_for, torch_seeded
from reslab.spec.recipe import AugmentationSpec

AHEAD = 2  # batches a worker makes in advance
MOST_WORKERS = 16
STARTING = threading.Lock()  # trials that run at once start workers in threads, and there is one __main__
Wanted = tuple[int, list[Key]]  # the side of a batch's crops, and what they are of


def count_workers(device: torch.device | str) -> int:
    """Return how many processes decode: ``RESLAB_WORKERS``, or every core beside a GPU, or one beside the CPU.

    Where several processes of this machine train together, they share the cores; what is set is each one's own.
    """
    text = os.environ.get("RESLAB_WORKERS")
    if not text:
        if torch.device(device).type != "cuda":
            return 1
        together = os.environ.get("LOCAL_WORLD_SIZE", "")
        share = len(os.sched_getaffinity(0)) // max(1, int(together) if together.isdecimal() else 1)
        return max(1, min(share, MOST_WORKERS))
    if not text.isdecimal():
        raise UserError(f"RESLAB_WORKERS is '{text}'; give a whole number, 0 for none, or unset it")
    return int(text)


@dataclass(frozen=True)
class Decoded:
    """A batch as bytes (count, height, width, RGB), its targets, its shifts of colour; bad images.

    It is empty where there is nothing to be had for a bad image.
    """

    pixels: Tensor
    targets: Tensor
    shifts: Tensor
    bad: tuple[BadImage, ...] = ()


class _Names:
    """Names as one text in shared memory."""

    def __init__(self, names: Iterable[str]) -> None:
        encoded = [os.fsencode(name) for name in names]
        self.text = torch.frombuffer(bytearray(b"".join(encoded)), dtype=torch.uint8).share_memory_()
        self.ends = torch.tensor([len(name) for name in encoded]).cumsum(0).share_memory_()

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int) -> str:
        first = int(self.ends[index - 1]) if index else 0
        return os.fsdecode(self.text[first : int(self.ends[index])].numpy().tobytes())


def _share(split: PhotoSplit) -> PhotoSplit:
    """Return a split whose names and arrays lie in shared memory, tensors instead of numpy's."""
    arrays = {name: value for name, value in vars(split).items() if isinstance(value, np.ndarray)}
    tensors = {name: torch.from_numpy(array.copy()).share_memory_() for name, array in arrays.items()}
    return replace(split, files=_Names(split.files), **tensors)


class TrainingCrops(Dataset[Decoded]):
    """Decodes, crops and flips a batch by its keys; with `skip`, the next image stands in for one that is bad."""

    def __init__(self, split: PhotoSplit, augmentation: AugmentationSpec, *, seed: int, skip: bool = False) -> None:
        self.split, self.augmentation, self.seed, self.skip = _share(split), augmentation, seed, skip

    def __getitem__(self, wanted: Wanted) -> Decoded:
        side, keys = wanted
        bad: list[BadImage] = []
        crops, indices, shifts = [], list[int](), []
        for epoch, image in keys:
            for tried in range(len(self.split) if self.skip else 1):
                index = (image + tried) % len(self.split)
                try:
                    crops.append(self._crop(epoch, index, side))
                    break
                except BadImage as error:
                    bad.append(error)
            else:
                return Decoded(torch.empty(0), torch.empty(0), torch.empty(0), tuple(bad))
            indices.append(index)
            shifts.append(self._shift(epoch, index))
        pixels, colours = torch.from_numpy(np.stack(crops)), torch.from_numpy(np.stack(shifts))
        return Decoded(pixels, torch.as_tensor(self.split.targets[indices]), colours, tuple(bad))

    def _crop(self, epoch: int, image: int, side: int) -> Pixels:
        random = numbers_for(Stream.CROP, seed=self.seed, epoch=epoch, item=image)
        flip = random.random() < 0.5 and self.augmentation.flip

        def choose(width: int, height: int) -> Geometry:
            box = choose_box(random, self.augmentation, size=(width, height), side=side)
            return Geometry(box, side, flip)

        crop, geometry = read_crop(self.split.path(image), choose)
        if self.augmentation.policy != "none":
            crop = self._follow_policy(crop, random)
        return geometry.flip_image(crop)

    def _shift(self, epoch: int, image: int) -> NDArray[np.float32]:
        """Return how far the colours go along each principal component, in eigenvalues."""
        if not self.augmentation.colour:
            return np.zeros(3, np.float32)
        random = numbers_for(Stream.COLOUR, seed=self.seed, epoch=epoch, item=image)
        return random.normal(0, self.augmentation.colour, 3).astype(np.float32)

    def _follow_policy(self, crop: Pixels, random: np.random.Generator) -> Pixels:
        from torchvision.transforms import v2

        policy = v2.TrivialAugmentWide() if self.augmentation.policy == "trivial" else v2.RandAugment()
        with torch_seeded(int(random.integers(2**62))):
            return np.asarray(policy(Image.fromarray(crop)))


def stream_batches(crops: TrainingCrops, wanted: Iterator[Wanted], *, workers: int) -> Iterator[Decoded]:
    """Yield the batches that are wanted, in their order, made ahead by `workers` processes."""
    context = None
    if workers:
        context = torch.multiprocessing.get_context("forkserver")  # the parent may have threads, and CUDA
        context.set_forkserver_preload([__name__])
    loader = DataLoader(
        crops,
        sampler=wanted,  # pyright: ignore[reportArgumentType]
        batch_size=None,
        num_workers=workers,
        prefetch_factor=AHEAD if workers else None,
        multiprocessing_context=context,
        worker_init_fn=_settle_worker,
        generator=torch.Generator(),  # else it draws from everyone's
    )
    try:
        with _main_unseen():
            batches = iter(loader)  # starts the workers
        yield from batches
    except (RuntimeError, ConnectionError, EOFError) as error:
        if isinstance(error, RuntimeError) and "DataLoader worker" not in str(error):
            raise
        raise UserError(
            "a process that decodes images was killed; memory may be short: set RESLAB_WORKERS to fewer"
        ) from error


@contextlib.contextmanager
def _main_unseen() -> Iterator[None]:
    """Start processes that do not run the user's script again: they need nothing of it, and it may have no guard."""
    with STARTING:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


def _settle_worker(number: int) -> None:
    """Leave Ctrl-C to the process that trains, and end with it even where it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # torch's workers watch their parent, which is the server they were forked from; and that one waits for them.
    parent = torch.multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
