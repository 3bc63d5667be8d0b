"""The objects that a trained detector finds in pictures: each with its class, its score and its box.

Pictures are shown whole and resized as in tests (`tasks.detection.showing`); boxes are in pixels of the picture as it
is read, which EXIF has turned upright.
"""

import abc
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from reslab.data.objects.fitting import Fitting
from reslab.delivery.intake import arithmetic, make_intake, take_in, to_channels
from reslab.delivery.pictures import Image, OnBad, Picture, as_sequence, read_images
from reslab.delivery.prediction import FoundObject, Looker, Prediction, number_classes, read_top
from reslab.errors import UserError
from reslab.networks import Network
from reslab.networks.detection.detector import Detector
from reslab.networks.finite import rows_not_finite, tell_not_finite
from reslab.runtime.execution import Execution, choose_device
from reslab.runtime.listener import DEAF, Listener
from reslab.spec import Preprocess, name_of
from reslab.spec.boxes import BOTTOM, FOUND, SCORE
from reslab.tasks.detection.showing import show_whole, to_stored

THRESHOLD = 0.5  # of scores: what is shown if nothing is said


class Finder(Looker):
    """Whatever finds objects in pictures."""

    finds_objects: ClassVar[bool] = True

    @abc.abstractmethod
    def find(self, picture: Picture) -> Tensor:
        """Return the detections in a picture (kept, 6), the best first, with boxes in its pixels."""

    @torch.no_grad()
    def predict(
        self,
        images: Image | Iterable[Image],
        *,
        top: int | None = None,
        threshold: float | None = None,
        on_bad: OnBad | None = None,
        listener: Listener = DEAF,
    ) -> list[Prediction]:
        """Return the objects of each image whose score reaches the `threshold`, by default a half, the best first.

        `top` is how many at most, by default all. A detector itself leaves out scores below its `detection_score`.
        An image that cannot be used raises an error that names it; with `on_bad` it is handed there and left out.
        """
        read_top(top)
        if threshold is not None and not 0 <= threshold <= 1:
            raise UserError(f"threshold is {threshold:g}; give a score from 0 to 1")
        least = THRESHOLD if threshold is None else threshold
        predictions: list[Prediction] = []
        for picture, rows in take_in(read_images(as_sequence(images), on_bad=on_bad), self.find):
            kept = rows[(rows[:, FOUND] >= 0) & (rows[:, SCORE] >= least)]
            objects = tuple(self._name(row) for row in kept[:top].cpu().double())
            height, width = picture.pixels.shape[-2:]
            predictions.append(Prediction(picture.name, objects=objects, size=(width, height)))
            listener.progress(len(predictions), {})
        return predictions

    def _name(self, row: Tensor) -> FoundObject:
        left, top, right, bottom = row[: BOTTOM + 1].tolist()
        name = self.class_names[int(row[FOUND])]
        return FoundObject(name, row[SCORE].item(), (left, top, right, bottom), self.class_words.get(name))


class DetectorPredictor(Finder):
    """A trained detector for files, Pillow images, or byte arrays (height, width, RGB), as `Predictor` takes them.

    The network is put into eval mode and moved to `device`; the default is a GPU if there is one. `preprocess` replaces
    the preprocessing that came with the weights; how large images are shown, the detector's task says.
    """

    def __init__(
        self,
        network: Network,
        *,
        preprocess: Preprocess | None = None,
        channels_last: bool = True,
        device: str | None = None,
    ) -> None:
        if not isinstance(network, Detector):
            raise UserError(f"{name_of(network.spec)} finds no objects; give a detector, or use Predictor")
        self.device = choose_device(device)
        self.preprocess = arithmetic(make_intake(network, preprocess=preprocess).preprocess)
        self.network = network.eval().to(self.device)
        self.execution = Execution(channels_last=channels_last)
        self.execution.prepare_network(self.network)
        self.fitting = Fitting(*network.plan.sides)
        self.origin, self.network_name, self.task = network.origin, name_of(network.spec), network.task.name
        self.class_names = network.class_names or number_classes(network.spec.classes)
        self.class_words = network.class_words

    def describe_preparation(self) -> str:
        """Say how a picture is prepared, and how large it is shown."""
        shown = f"shorter side {self.fitting.shorter}, longer side at most {self.fitting.longest}"
        return f"{self.preprocess.describe()}, {shown}"

    def find(self, picture: Picture) -> Tensor:
        """Return what the network finds."""
        image = to_channels(picture.pixels, self.network.spec.channels)[None].to(self.device)
        prepared, targets = show_whole(image, self.fitting, self.preprocess, brightest=picture.brightest)
        rows = self.network(self.execution.prepare(prepared), targets)
        if rows_not_finite(rows).any():
            raise tell_not_finite(self.network, f"for {picture.name}", what="detections")
        return to_stored(rows, targets)[0]


def keep_best(prediction: Prediction, least: float, top: int | None = None) -> Prediction:
    """Return a prediction with those of its objects whose score reaches `least`, `top` at most."""
    kept = [found for found in prediction.objects or () if found.score >= least]
    return replace(prediction, objects=tuple(kept[:top]))
