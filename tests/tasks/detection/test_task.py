"""The task of finding objects: its losses are counted by name, and what is about classifiers is refused."""

from __future__ import annotations

import pytest
import torch
from tests.networks.detection.scenes import draw_scenes, make_detector

from reslab.errors import UserError
from reslab.runtime.execution import EAGER
from reslab.spec.recipe import find_recipe
from reslab.tasks.detection.task import TASK
from reslab.training.stepping import assemble


def test_the_loss_is_the_sum_of_what_is_counted() -> None:
    """Each is logged as the mean over the images."""
    detector, batch = make_detector().train(), draw_scenes(2)
    detector.generator = torch.Generator().manual_seed(0)
    loss, sums = TASK.train_loss(detector, batch, execution=EAGER, smoothing=0, weights=None)
    assert sums.shape == (len(TASK.tallied),)
    torch.testing.assert_close(2 * loss.detach().double(), sums.sum())
    told = TASK.describe_tally(dict(zip(TASK.tallied, sums.tolist(), strict=True)), 2)
    assert sum(told.values()) == pytest.approx(float(loss.detach()))
    assert set(told) == {f"train_{name}" for name in TASK.tallied}


@pytest.mark.parametrize(("trains", "named"), [("proposals", "rpn"), ("regions", "roi")])
def test_what_is_not_trained_counts_zero(trains: str, named: str) -> None:
    """The names stay, so that logs of all steps of a training are alike."""
    detector, batch = make_detector(trains=trains, freeze="shared").train(), draw_scenes(2)
    detector.generator = torch.Generator().manual_seed(0)
    loss, sums = TASK.train_loss(detector, batch, execution=EAGER, smoothing=0, weights=None)
    counted = dict(zip(TASK.tallied, sums.tolist(), strict=True))
    assert {name for name, value in counted.items() if value} == {f"{named}_class_loss", f"{named}_box_loss"}
    assert sum(counted.values()) == pytest.approx(2 * float(loss.detach()))


def test_its_answers_are_detections() -> None:
    """As the detector gives them."""
    detector, (images, targets) = make_detector().eval(), draw_scenes(2)
    with torch.no_grad():
        assert torch.equal(TASK.answer(detector, images, targets), detector(images, targets))


def test_a_test_takes_as_long_as_it_looks() -> None:
    """Refinement and several scales look again; an instrument looks once."""
    once, *more = (TASK.count_looks(protocol) for protocol in TASK.protocols)
    assert once == TASK.count_looks("responses") == 1
    assert all(looks > 1 for looks in more)
    assert more[-1] == max(more)


def test_what_compiles_a_trunk_is_refused() -> None:
    """A detector's losses go by other ways, so it would have no effect."""
    with pytest.raises(UserError, match="--compile is for networks that classify"):
        assemble(make_detector(), None, find_recipe("objects"), seed=0, device="cpu", compile=True)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"freeze": "conv3"}, r"recipe\.freeze=conv3 is for classifiers; leave it out, and set task\.freeze"),
        ({"label_smoothing": 0.1}, r"recipe\.label_smoothing is for classifiers"),
        ({"exact_norms": True}, r"recipe\.exact_norms is for classifiers"),
        ({"warmup.window": 10}, r"recipe\.warmup ends by the training error"),
    ],
)
def test_what_is_about_classifiers_is_refused(fields: dict[str, object], sentence: str) -> None:
    """A warm-up by iterations is not."""
    TASK.refuse_recipe(find_recipe("objects", {"warmup.iterations": 10}))
    with pytest.raises(UserError, match=sentence):
        TASK.refuse_recipe(find_recipe("objects", fields))
