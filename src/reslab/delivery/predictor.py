"""What a trained network takes pictures for: its first few guesses, each with its probability.

One trained for several labels per image gives those above a threshold; each has a probability of its own.

The preprocessing travels with the weights, so a predictor needs a network and nothing else.
"""

import abc
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from reslab.data.geometry import Pixels
from reslab.delivery.explanation import find_evidence, paint
from reslab.delivery.intake import Intake, make_batches, make_intake, refuse_detector, tell_misfit
from reslab.delivery.pictures import Image, OnBad, as_sequence, read_images
from reslab.delivery.prediction import Guess, Looker, Prediction, number_classes, read_top
from reslab.errors import UserError, choices
from reslab.networks import Network
from reslab.networks.finite import rows_not_finite, tell_not_finite
from reslab.networks.inference import Inference, Served, serve
from reslab.runtime.execution import Execution, choose_device
from reslab.runtime.listener import DEAF, Listener
from reslab.spec import Preprocess, name_of
from reslab.spec.codec import convert
from reslab.tasks.multilabel.thresholds import HALF

BATCH = 32
GUESSES = 5


class Guesser(Looker):
    """Whatever gives logits for prepared pictures, with the names of its classes and how pictures are prepared.

    `thresholds` are the probabilities from which an image has each label, where it may have
    several and they were tuned; else a half.
    """

    intake: Intake
    thresholds: tuple[float, ...] | None

    @abc.abstractmethod
    def logits(self, prepared: Tensor, names: Sequence[str]) -> Tensor:
        """Return the logits of prepared pictures, which have `names`; refuse any that are not finite."""

    @property
    def preparation(self) -> Preprocess:
        """How a picture is prepared, wherever each part of that is done."""
        return self.intake.preprocess

    def describe_preparation(self) -> str:
        """Say it in words."""
        return self.preparation.describe()

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
        """Return the `top` guesses for each image, by default five, in their order.

        Where an image may have several labels, it has those whose probability reaches `threshold`, by default the
        label's own where thresholds were tuned, else a half; all of them are among its guesses.
        An image that cannot be used raises an error that names it; with `on_bad` it is handed there and left out.
        """
        top = read_top(top) or GUESSES
        several = self.task == "multi-label"
        if threshold is not None and not (several and 0 <= threshold <= 1):
            raise UserError(
                f"threshold is {threshold:g}; give a probability from 0 to 1"
                if several
                else "threshold is for multi-label networks, but this one predicts one class per image; leave out "
                "threshold"
            )
        least = torch.tensor(self.thresholds or HALF) if threshold is None else torch.tensor(threshold)
        predictions: list[Prediction] = []
        for pictures, prepared in make_batches(
            read_images(as_sequence(images), on_bad=on_bad), self.intake, size=BATCH
        ):
            logits = self.logits(prepared, [picture.name for picture in pictures])
            probabilities = (logits.sigmoid() if several else logits.softmax(1)).cpu()
            for picture, row in zip(pictures, probabilities, strict=True):
                had = set((row >= least).nonzero().flatten().tolist()) if several else set()
                order = row.topk(len(row) if had else min(top, len(row))).indices.tolist()
                labels = tuple(self.class_names[index] for index in order if index in had) if several else None
                guesses = tuple(self._guess(row, i) for rank, i in enumerate(order) if rank < top or i in had)
                predictions.append(Prediction(picture.name, guesses, labels))
            listener.progress(len(predictions), {})
        return predictions

    def _guess(self, probabilities: Tensor, index: int) -> Guess:
        name = self.class_names[index]
        return Guess(name, probabilities[index].item(), self.class_words.get(name))


class Predictor(Guesser):
    """A trained network that classifies images: files, Pillow images, or byte arrays (height, width, RGB).

    A Pillow image is prepared as its file would be, EXIF orientation included. An array is used as it is. The network
    is put into eval mode and moved to `device`; the default is a GPU if there is one. `preprocess` replaces the
    preprocessing that came with the weights. `channels_last` chooses the memory layout. `precision="bf16"` is faster
    on a GPU; probabilities then differ by the rounding of bfloat16.
    """

    def __init__(
        self,
        network: Network,
        *,
        preprocess: Preprocess | None = None,
        channels_last: bool = True,
        precision: Served = "fp32",
        device: str | None = None,
    ) -> None:
        refuse_detector(network)
        device = choose_device(device)
        precision = convert(Served, precision, where="precision")
        execution = Execution(channels_last=channels_last)
        self.intake = make_intake(network, preprocess=preprocess, execution=execution, device=device)
        self.network = network.eval().to(device)
        execution.prepare_network(self.network)
        served = serve(self.network, precision, device=device)
        self.run = Inference(served, precision=precision, execution=execution, device=device)
        self.origin, self.network_name, self.task = network.origin, name_of(network.spec), network.task.name
        self.class_names = network.class_names or number_classes(network.spec.classes)
        self.class_words, self.thresholds = network.class_words, network.thresholds

    def logits(self, prepared: Tensor, names: Sequence[str]) -> Tensor:
        """Return the network's logits."""
        with tell_misfit(self.network, prepared):
            logits = self.run(prepared)
        if bad := rows_not_finite(logits).nonzero().flatten().tolist():
            raise tell_not_finite(self.network, f"for {names[bad[0]]}")
        return logits

    def explain(self, image: Image, *, target: str | None = None) -> Pixels:
        """Return what the network sees of an image, with the evidence for a class laid over it (Grad-CAM).

        `target` is the class's name, by default the first guess.
        """
        if target is not None and target not in self.class_names:
            raise UserError(
                f"the network has no class '{target}'; choose one that it has, such as {choices(self.class_names[:10])}"
            )
        (picture,) = read_images(as_sequence(image))
        chosen = None if target is None else self.class_names.index(target)
        evidence = find_evidence(self.network, self.intake.prepare(picture), chosen)
        return paint(self.intake.frame(picture)[0].cpu(), evidence[0].cpu())
