"""How much of a task frozen features already know: a linear classifier on them, and their nearest neighbours.

Features are centred and scaled by the training ones. The linear probe is multinomial logistic regression by L-BFGS in
float64; its L2 penalty is the one of `PENALTIES` that does best on a fifth of the training features, drawn by a seed,
and is then used on all of them. Neighbours vote by cosine; where they tie, the more similar win.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from reslab.errors import UserError

PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
NEIGHBOURS = (1, 5, 20)
HELD_OUT = 5  # one in so many
ITERATIONS = 100
CHUNK = 1024


@dataclass(frozen=True, kw_only=True)
class Probe:
    """Accuracy in percent on features not trained on. `neighbours` has the voters' number, and theirs."""

    linear: float
    penalty: float
    neighbours: dict[int, float]
    chance: float
    images: int


def probe(train: Tensor, train_labels: Tensor, *, test: Tensor, test_labels: Tensor, seed: int = 0) -> Probe:
    """Measure a linear probe and neighbours of features (images, channels) with their labels."""
    classes = int(max(train_labels.max(), test_labels.max())) + 1
    if len(train) < 2 * HELD_OUT:
        raise UserError(
            f"there are {len(train)} training images, but a probe needs {2 * HELD_OUT} or more; give more images"
        )
    mean, deviation = train.double().mean(0), train.double().std(0).clamp_min(1e-8)
    learned, tested = ((part.double() - mean) / deviation for part in (train, test))
    penalty = choose_penalty(learned, train_labels, classes=classes, seed=seed)
    weights = fit_linear(learned, train_labels, classes=classes, penalty=penalty)
    return Probe(
        linear=_accuracy(_logits(weights, tested).argmax(1), test_labels),
        penalty=penalty,
        neighbours={
            count: _accuracy(vote(learned, train_labels, tested, count=count, classes=classes), test_labels)
            for count in NEIGHBOURS
        },
        chance=_accuracy(torch.full_like(test_labels, int(train_labels.bincount().argmax())), test_labels),
        images=len(test),
    )


def choose_penalty(features: Tensor, labels: Tensor, *, classes: int, seed: int) -> float:
    """Return the penalty that does best on a fifth of the features, the stronger of equals."""
    order = torch.randperm(len(features), generator=torch.Generator().manual_seed(seed))
    held, kept = order[: len(order) // HELD_OUT], order[len(order) // HELD_OUT :]

    def accuracy(penalty: float) -> float:
        weights = fit_linear(features[kept], labels[kept], classes=classes, penalty=penalty)
        return _accuracy(_logits(weights, features[held]).argmax(1), labels[held])

    return max(PENALTIES, key=lambda penalty: (accuracy(penalty), penalty))


def fit_linear(features: Tensor, labels: Tensor, *, classes: int, penalty: float) -> Tensor:
    """Return weights (classes, channels and a bias) that minimize the mean cross-entropy and half the penalty."""
    weights = torch.zeros(classes, features.shape[1] + 1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=ITERATIONS, line_search_fn="strong_wolfe", tolerance_grad=1e-6)

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = F.cross_entropy(_logits(weights, features), labels) + penalty / 2 * weights[:, :-1].square().sum()
        value.backward()
        return value

    with torch.enable_grad():
        optimizer.step(loss)  # pyright: ignore[reportArgumentType]
    return weights.detach()


def vote(known: Tensor, labels: Tensor, asked: Tensor, *, count: int, classes: int) -> Tensor:
    """Return the class most of the `count` nearest known features have, by cosine."""
    count = min(count, len(known))
    known = F.normalize(known, dim=1)
    winners = []
    for part in F.normalize(asked, dim=1).split(CHUNK):
        nearest = (part @ known.T).topk(count, dim=1)
        # A vote is worth one, and less than half a vote more or less for all similarities together.
        votes = 1 + nearest.values / (2 * count + 1)
        tally = torch.zeros(len(part), classes, dtype=votes.dtype)
        winners.append(tally.scatter_add_(1, labels[nearest.indices], votes).argmax(1))
    return torch.cat(winners)


def _logits(weights: Tensor, features: Tensor) -> Tensor:
    return features @ weights[:, :-1].T + weights[:, -1]


def _accuracy(guesses: Tensor, labels: Tensor) -> float:
    return 100 * float((guesses == labels).double().mean())
