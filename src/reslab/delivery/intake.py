"""How pictures enter a network: as the preprocessing that travels with its weights says, and not otherwise.

The preprocessing is `reslab.data.preprocessing`'s, the one evaluation uses, so a guess and a test see the same bits.
For a file that leaves the house it is cut in two: the geometry (resize, crop), left to whoever brings the picture, and
the arithmetic (scale, channel order, mean, deviation), which goes along.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from reslab.data.preprocessing import preprocess_images
from reslab.data.reading import BadImage
from reslab.delivery.pictures import Picture, note_bad
from reslab.errors import UserError
from reslab.networks import Network
from reslab.runtime.execution import EAGER, Execution
from reslab.spec import Preprocess, name_of

# Red, green and blue in grey, in 65536ths, as Pillow has them (ITU-R 601-2); they add up, so grey stays what it is.
LUMA = (19595, 38470, 7471)


@dataclass(frozen=True, kw_only=True)
class Intake:
    """What a network makes of a picture before its first layer."""

    network: str
    input_shape: tuple[int, ...]
    preprocess: Preprocess
    mean_image: Tensor | None = None
    execution: Execution = EAGER
    device: str = "cpu"

    @property
    def side(self) -> int:
        """Height and width of what the network is given, where photographs differ in theirs."""
        return self.preprocess.crop or self.input_shape[-1]

    def prepare(self, picture: Picture) -> Tensor:
        """Return a picture as the network takes it, as a batch of one."""
        return self.execution.prepare(self._apply(picture, self.preprocess, self.mean_image))

    def frame(self, picture: Picture) -> Tensor:
        """Return what the network sees of a picture, in RGB or grey from 0 to 255: resized and cropped, no more."""
        return self._apply(picture, geometry(self.preprocess), None)

    def _apply(self, picture: Picture, preprocess: Preprocess, mean_image: Tensor | None) -> Tensor:
        height, width = picture.pixels.shape[-2:]
        down, across = self.input_shape[-2:]
        said = self.preprocess.resize or self.preprocess.crop
        if not said and (height, width) != (down, across):
            raise BadImage(
                f"{picture.name} is {width}x{height}, but {self.network} takes {across}x{down} and does not resize; "
                f"add preprocess.resize={across} preprocess.crop={across}"
            )
        images = to_channels(picture.pixels, self.input_shape[0])[None].to(self.device)
        try:
            return preprocess_images(images, preprocess, brightest=picture.brightest, mean_image=mean_image)
        except UserError as error:
            raise BadImage(f"{picture.name}: {error}") from error


def make_intake(
    network: Network, *, preprocess: Preprocess | None = None, execution: Execution = EAGER, device: str = "cpu"
) -> Intake:
    """Return a network's intake, by the preprocessing of its weights or the one given instead."""
    name, shape = name_of(network.spec), network.spec.input_shape
    if len(shape) != 3 or shape[0] not in (1, 3):
        raise UserError(
            f"{name} takes inputs of {' x '.join(map(str, shape))}, which are not images; "
            "give a network with two dimensions and 1 or 3 channels"
        )
    chosen = preprocess or network.preprocess
    if chosen is None:
        raise UserError(
            f"{name} does not say how its images are prepared; set network.preprocess, or give preprocess.mean=[...]"
        )
    return Intake(
        network=name,
        input_shape=shape,
        preprocess=chosen,
        mean_image=network.mean_image if chosen.per_pixel_mean else None,
        execution=execution,
        device=device,
    )


def refuse_detector(network: Network) -> None:
    """Refuse a network that finds objects where one is needed that says what a whole image shows."""
    if network.task.needs == "boxes":
        raise UserError(
            f"{network.origin or name_of(network.spec)} finds objects, but this needs a network that classifies "
            "images; give one, or use `reslab predict` and `reslab evaluate`, which take detectors too"
        )


def take_in(pictures: Iterable[Picture], enter: Callable[[Picture], Tensor]) -> Iterator[tuple[Picture, Tensor]]:
    """Yield pictures, each with what `enter` makes of it: an intake's `prepare` or `frame`.

    One that does not fit is left out and told where someone takes note, like one that cannot be read.
    """
    for picture in pictures:
        try:
            entered = enter(picture)
        except BadImage as error:
            note_bad(error, picture.on_bad)
        else:
            yield picture, entered


def make_batches(pictures: Iterable[Picture], intake: Intake, *, size: int) -> Iterator[tuple[list[Picture], Tensor]]:
    """Yield prepared pictures in batches, in order; where their sizes differ a batch ends."""
    held: list[Picture] = []
    prepared: list[Tensor] = []
    for picture, image in take_in(pictures, intake.prepare):
        if prepared and (len(prepared) == size or image.shape != prepared[-1].shape):
            yield held, torch.cat(prepared)
            held, prepared = [], []
        held.append(picture)
        prepared.append(image)
    if prepared:
        yield held, torch.cat(prepared)


@contextlib.contextmanager
def tell_misfit(network: Network, images: Tensor) -> Iterator[None]:
    """Tell of prepared images whose size does not pass through the network."""
    try:
        yield
    except (RuntimeError, AssertionError) as error:
        raise UserError(
            f"images of {'x'.join(map(str, images.shape[1:]))} do not pass through {name_of(network.spec)} ({error}); "
            "set preprocess.resize and preprocess.crop"
        ) from error


def geometry(preprocess: Preprocess) -> Preprocess:
    """Return what of a preprocessing resizes and crops; pixels stay from 0 to 255."""
    return Preprocess(
        resize=preprocess.resize, crop=preprocess.crop, interpolation=preprocess.interpolation, pixel_range="0-255"
    )


def arithmetic(preprocess: Preprocess) -> Preprocess:
    """Return the rest of it: scale, channel order, mean and deviation."""
    return replace(preprocess, resize=None, crop=None)


def to_channels(pixels: Tensor, channels: int) -> Tensor:
    """Return bytes (channels, height, width) in colour or in grey, as a network takes them."""
    if pixels.shape[0] == channels:
        return pixels
    if channels == 3:
        return pixels.expand(3, -1, -1)
    weights = torch.tensor(LUMA, dtype=torch.int32)[:, None, None]
    return (((pixels.int() * weights).sum(0, keepdim=True) + (1 << 15)) >> 16).to(torch.uint8)
