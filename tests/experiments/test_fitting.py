"""What does not go together is refused: trials with their data, networks with what they are shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.multilabel import make_labelled
from tests.photographs import make_photos
from tests.trials import DIGITS, make_photo_trial

from reslab.data.catalogue import open_data
from reslab.data.photos.folder import PhotoDataset
from reslab.errors import UserError
from reslab.experiments.fitting import refuse_misfit, refuse_other_classes, refuse_unfit_trial
from reslab.experiments.trials import read_trial
from reslab.networks import create_model
from reslab.spec import find

SMALL = {"network": "cifar-resnet-8", "network.input_size": "24", "recipe.batch": "4"}


def test_another_task_is_refused(tmp_path: Path) -> None:
    """A trial for images of one class does not train on those of several labels."""
    tagged = open_data(str(make_labelled(tmp_path / "tagged", count=4)))
    photos = open_data(str(make_photos(tmp_path / "photos", train=2, val=1)))
    trial = read_trial({**SMALL, "network.classes": str(len(tagged.class_names))}, photos)
    with pytest.raises(UserError, match="the trial's task is classification and tagged is for multi-label"):
        refuse_unfit_trial(trial, tagged)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"recipe": "cifar-paper"}, "crop is padded, which is for images of one size"),
        ({"data__split": "tuning"}, r"data\.split is tuning"),
        ({"network__classes": "5"}, "tells 5 classes apart and photos has 2"),
        (
            {"recipe__augmentation__cutout": "8"},
            r"augmentation\.cutout is 8, which is for images of one size; leave it out",
        ),
        (
            {"network": "vit-b-16", "network__input_size": "224", "recipe__resizing__initial": "0.5"},
            r"resizing\.initial is 0\.5, and crops of 128 pixels do not pass through vit",
        ),
        (
            {"network__input_size": "64", "recipe__resizing__initial": "0.9"},
            r"resizing\.initial is 0\.9, and no multiple of 32 .* than crops of 64",
        ),
        ({"network": "resnet-18", "network__input_size": "1"}, r"shape \(3, 1, 1\) do not pass through this network"),
        ({"recipe__freeze": "conv9"}, r"recipe\.freeze is conv9; cifar-resnet-8 .* has stem, conv2, .* or body"),
        (
            {"network": "resnet-18", "network__input_size": "32", "recipe__accumulate": "8"},
            "one image at a time goes through resnet-18 .* choose a larger recipe.batch",
        ),
    ],
)
def test_what_does_not_fit_photographs_is_told(fields: dict[str, str], sentence: str, photos: PhotoDataset) -> None:
    """A recipe for small images, a tuning split, a network for other classes; what would be recorded and not done."""
    with pytest.raises(UserError, match=sentence):
        refuse_unfit_trial(make_photo_trial(photos, **fields), photos)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("augmentation.mixup", "0.2"),
        ("augmentation.crop", "resized"),
        ("centring", "imagenet"),
        ("resizing.initial", "0.5"),
    ],
)
def test_what_does_not_fit_arrays_is_told(field: str, value: str) -> None:
    """Mixing, crops, other centring and growing crops are for photographs."""
    trial = read_trial({"network": "cifar-resnet-8", f"recipe.{field}": value}, DIGITS)
    with pytest.raises(UserError, match=rf"recipe\.{field} is {value}, which is for photographs"):
        refuse_unfit_trial(trial, DIGITS)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"classes": 9}, "it tells 9 classes apart and digits has 10; give another"),
        ({"channels": 3}, "it takes inputs of 3 x 8 x 8 and digits has images of 1 channel; give another"),
        ({"channels": 4, "input_size": 32}, "it takes inputs of 4 x 32 x 32 and digits has images of 1 channel"),
    ],
)
def test_a_network_of_other_inputs_or_outputs_is_refused(fields: dict[str, int], sentence: str) -> None:
    """With the remedy of whoever asks; another size is none of this."""
    fitting = {"channels": 1, "input_size": 8}
    refuse_misfit("it", find("cifar-resnet-8", {"channels": 1}), DIGITS, DIGITS.class_names, remedy="give another")
    with pytest.raises(UserError, match=sentence):
        refuse_misfit("it", find("cifar-resnet-8", fitting | fields), DIGITS, DIGITS.class_names, remedy="give another")


@pytest.mark.parametrize(
    ("known", "sentence"),
    [
        ("0123456798", "for its classes in another order than digits's: '9' where that has '8'"),
        ("012345678x", "for other classes than digits's: 'x' where that has '9'"),
        ("01234", "it tells 5 classes apart and digits has 10"),
    ],
)
def test_outputs_that_mean_something_else_are_refused(known: str, sentence: str) -> None:
    """By their names, where the network knows them; by their number else."""
    network = create_model("cifar-resnet-8", classes=len(known), channels=1, input_size=8)
    if len(known) == 10:
        refuse_other_classes("it", network, DIGITS, DIGITS.class_names)
    network.class_names = tuple(known)
    with pytest.raises(UserError, match=f"{sentence}; give the data it was trained for"):
        refuse_other_classes("it", network, DIGITS, DIGITS.class_names)
