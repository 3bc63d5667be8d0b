"""What a trained network takes pictures for: its first few guesses, each with its probability.

One trained for several labels per image gives those above a threshold; each has a probability of its own.

The preprocessing travels with the weights, so a predictor needs a network and nothing else.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from reslab.data.geometry import Pixels
from reslab.delivery.explanation import find_evidence, paint
from reslab.delivery.intake import make_batches, make_intake, tell_misfit
from reslab.delivery.pictures import Image, OnBad, as_sequence, read_images
from reslab.errors import UserError
from reslab.networks import Network
from reslab.networks.finite import rows_not_finite, tell_not_finite
from reslab.networks.inference import Inference, Served, serve
from reslab.runtime.execution import Execution, choose_device
from reslab.runtime.listener import DEAF, Listener
from reslab.spec import Preprocess
from reslab.spec.codec import convert

BATCH = 32
THRESHOLD = 0.5


@dataclass(frozen=True)
class Guess:
    """A class, by its name and, where the network knows them, in words, and how probable the network finds it."""

    name: str
    probability: float
    words: str | None = None


@dataclass(frozen=True)
class Prediction:
    """What a picture is taken for, the most probable first; `labels` are those it has, where it may have several."""

    image: str
    guesses: tuple[Guess, ...]
    labels: tuple[str, ...] | None = None


class Predictor:
    """A network ready for pictures: files, Pillow images, or arrays of bytes (height, width, RGB).

    A Pillow image is prepared as its file would be, EXIF's orientation included; an array is taken as it is.
    The network itself is put into eval mode and onto `device`, by default a GPU where there is one.
    `preprocess` replaces what came with the weights; `channels_last` is the layout of memory it runs in. `bf16`
    is for speed on a GPU: probabilities are then those of a test but for bfloat16's rounding.
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
        device = choose_device(device)
        precision = convert(Served, precision, where="precision")
        execution = Execution(channels_last=channels_last)
        self.intake = make_intake(network, preprocess=preprocess, execution=execution, device=device)
        self.network = network.eval().to(device)
        execution.prepare_network(self.network)
        served = serve(self.network, precision, device=device)
        self.run = Inference(served, precision=precision, execution=execution, device=device)
        self.class_names = network.class_names or tuple(f"class {number}" for number in range(network.spec.classes))

    @torch.no_grad()
    def predict(
        self,
        images: Image | Iterable[Image],
        *,
        top: int = 5,
        threshold: float | None = None,
        on_bad: OnBad | None = None,
        listener: Listener = DEAF,
    ) -> list[Prediction]:
        """Return the `top` guesses for each image, in their order.

        Where an image may have several labels, it has those whose probability reaches `threshold`, by default a half;
        all of them are among its guesses.
        An image that cannot be used raises an error that names it; with `on_bad` it is handed there and left out.
        """
        if top < 1:
            raise UserError(f"top is {top}; give a number of guesses above 0")
        several = self.network.task == "multi-label"
        if threshold is not None and not (several and 0 <= threshold <= 1):
            raise UserError(
                f"threshold is {threshold:g}; give a probability from 0 to 1"
                if several
                else "threshold is for networks of several labels per image, and this one is of one class; leave it out"
            )
        least = THRESHOLD if threshold is None else threshold
        predictions: list[Prediction] = []
        for pictures, prepared in make_batches(
            read_images(as_sequence(images), on_bad=on_bad), self.intake, size=BATCH
        ):
            with tell_misfit(self.network, prepared):
                logits = self.run(prepared)
            if bad := rows_not_finite(logits).nonzero().flatten().tolist():
                raise tell_not_finite(self.network, f"for {pictures[bad[0]].name}")
            probabilities = (logits.sigmoid() if several else logits.softmax(1)).cpu()
            for picture, row in zip(pictures, probabilities, strict=True):
                had = int((row >= least).sum()) if several else 0
                guesses = self._first(row, max(top, had))
                labels = tuple(guess.name for guess in guesses[:had]) if several else None
                predictions.append(Prediction(picture.name, guesses, labels))
            listener.progress(len(predictions), {})
        return predictions

    def explain(self, image: Image, *, target: str | None = None) -> Pixels:
        """Return what the network sees of an image, with the evidence for a class laid over it (Grad-CAM).

        `target` is the class's name, by default the first guess.
        """
        if target is not None and target not in self.class_names:
            raise UserError(f"there is no class '{target}'; the network knows {', '.join(self.class_names[:10])}")
        (picture,) = read_images(as_sequence(image))
        chosen = None if target is None else self.class_names.index(target)
        evidence = find_evidence(self.network, self.intake.prepare(picture), chosen)
        return paint(self.intake.frame(picture)[0].cpu(), evidence[0].cpu())

    def _first(self, probabilities: Tensor, top: int) -> tuple[Guess, ...]:
        best = probabilities.topk(min(top, len(probabilities)))
        names = [self.class_names[index] for index in best.indices.tolist()]
        return tuple(
            Guess(name, value, self.network.class_words.get(name))
            for name, value in zip(names, best.values.tolist(), strict=True)
        )


def to_plain(prediction: Prediction) -> dict[str, Any]:
    """Return a prediction as plain data."""
    guesses = [
        {"class": guess.name, **({"words": guess.words} if guess.words else {}), "probability": guess.probability}
        for guess in prediction.guesses
    ]
    labels = {} if prediction.labels is None else {"labels": list(prediction.labels)}
    return {"image": prediction.image, **labels, "guesses": guesses}
