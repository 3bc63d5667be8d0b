"""Fine-tuning: other classes get a classifier of their own, the rest starts as it was trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.counting import count_weights
from tests.trials import DIGITS, PHOTO_FIELDS, make_digits_trial, make_photo_trial, outcome, stop_after

from reslab.cli import main
from reslab.data.photos.folder import PhotoDataset
from reslab.data.preprocessing import preprocess_images
from reslab.errors import UserError
from reslab.experiments.evaluate import evaluate_subject
from reslab.experiments.run import run_trial
from reslab.experiments.starting import initialize, keep_preparation, warn_of_other_preparation
from reslab.experiments.trained import choose_inputs, load_run
from reslab.experiments.trials import go_on_with_earlier, read_trial
from reslab.networks import Weights, build, create_model, load_model, save_model
from reslab.runs.directory import RunDirectory, list_runs
from reslab.runtime.listener import Listener
from reslab.spec import NetworkSpec, Preprocess, cifar
from reslab.spec.preprocess import AUTHORS, IMAGENET_MEAN, IMAGENET_STD, PER_PIXEL_MEAN, TORCHVISION
from reslab.spec.trial import Trial, trial_from_dict, trial_to_dict
from reslab.tasks.trial_task import make_task
from reslab.training.loop import Stopped


@pytest.fixture
def weights(tmp_path: Path) -> str:
    torch.manual_seed(3)
    return str(save_model(create_model("cifar-resnet-8", num_classes=5), tmp_path / "before.safetensors"))


def test_the_seed_alone_draws_the_weights_and_the_callers_generator_is_left() -> None:
    """Whatever was drawn before, and as torch.manual_seed would; a notebook goes on with its own numbers."""
    trial = replace(make_digits_trial(), seed=5)
    torch.manual_seed(3)
    numbers = torch.rand(4)
    torch.manual_seed(3)
    network = initialize(trial)
    assert torch.equal(torch.rand(4), numbers)
    torch.manual_seed(5)
    drawn = build(trial.network).state_dict()
    assert all(torch.equal(tensor, drawn[name]) for name, tensor in network.state_dict().items())


def start(photos: PhotoDataset, weights: str, **fields: str) -> Trial:
    return make_photo_trial(photos, weights=weights, recipe__optimizer__weight_decay="0", **fields)


def test_what_is_frozen_stays_and_the_rest_moves(photos: PhotoDataset, weights: str, tmp_path: Path) -> None:
    """The classifier has the new classes; what was loaded is what was trained before."""
    trial = start(photos, weights, recipe__freeze="conv2")
    run = run_trial(trial, photos, tmp_path / "runs", weights=weights)
    before, after = load_model(weights).state_dict(), load_model(run.weights).state_dict()
    assert after["classifier.weight"].shape == (2, 64)
    for name in before:
        if name.startswith(("stem.", "blocks.conv2")):
            assert torch.equal(before[name], after[name])
    assert not torch.equal(before["blocks.conv4_1.layers.0.conv.weight"], after["blocks.conv4_1.layers.0.conv.weight"])


@pytest.mark.parametrize("field", ["exact_norms", "average_decay", "accumulate"])
def test_a_frozen_stage_keeps_its_statistics(field: str, photos: PhotoDataset, weights: str, tmp_path: Path) -> None:
    """All of it is left as it was, bit for bit, through exact statistics and averages, and after going on."""
    value = {"exact_norms": "true", "average_decay": "0.9", "accumulate": "2"}[field]
    trial = start(photos, weights, recipe__freeze="conv3", **{f"recipe__{field}": value})
    with pytest.raises(Stopped):
        run_trial(trial, photos, tmp_path, weights=weights, listener=Listener(should_stop=stop_after(4)))
    run = run_trial(trial, photos, tmp_path)
    before, after = load_model(weights).state_dict(), load_model(run.weights).state_dict()
    frozen = [name for name in before if name.startswith(("stem.", "blocks.conv2", "blocks.conv3"))]
    assert [name for name in frozen if not torch.equal(before[name], after[name])] == []
    assert not torch.equal(
        before["blocks.conv4_1.layers.0.norm.running_mean"], after["blocks.conv4_1.layers.0.norm.running_mean"]
    )


def test_the_body_learns_at_its_own_rate(photos: PhotoDataset, weights: str, tmp_path: Path) -> None:
    """After one iteration without momentum gathered, a tenth of the way."""
    name = "blocks.conv3_1.layers.0.conv.weight"
    before = load_model(weights).state_dict()[name]
    moved = {}
    for rate in ("1", "0.1"):
        trial = start(photos, weights, recipe__iterations="1", recipe__optimizer__body_rate=rate)
        run = run_trial(trial, photos, tmp_path / "runs", weights=weights)
        moved[rate] = load_model(run.weights).state_dict()[name] - before
    assert torch.allclose(moved["0.1"], 0.1 * moved["1"], rtol=1e-3, atol=1e-7)


def test_each_stage_learns_at_its_own_rate(photos: PhotoDataset, weights: str, tmp_path: Path) -> None:
    """After one iteration a stage has come half as far as the next, for its share; the body's share is on top."""
    names = {"blocks.conv4_1.layers.0.conv.weight": 1, "blocks.conv3_1.layers.0.conv.weight": 2, "stem.conv.weight": 4}
    before, moved = load_model(weights).state_dict(), {}
    for body, decay in (("1", "1"), ("1", "0.5"), ("0.1", "0.5")):
        rates = {"recipe__optimizer__body_rate": body, "recipe__optimizer__stage_decay": decay}
        trial = start(photos, weights, recipe__iterations="1", **rates)
        run = run_trial(trial, photos, tmp_path / "runs", weights=weights)
        moved[body, decay] = load_model(run.weights).state_dict()
    for name, stages in names.items():
        whole = moved["1", "1"][name] - before[name]
        for body, decay in (("1", "0.5"), ("0.1", "0.5")):
            share = float(body) * float(decay) ** stages
            assert torch.allclose(moved[body, decay][name] - before[name], share * whole, rtol=1e-3, atol=1e-6)
    assert torch.equal(moved["0.1", "0.5"]["classifier.weight"], moved["1", "1"]["classifier.weight"])


def test_frozen_normalizations_keep_their_statistics(photos: PhotoDataset, weights: str, tmp_path: Path) -> None:
    """By the network's own field."""
    trial = start(photos, weights, network__norm="frozen")
    run = run_trial(trial, photos, tmp_path / "runs", weights=weights)
    before, after = load_model(weights).state_dict(), load_model(run.weights).state_dict()
    for name in before:
        if name.endswith(("running_mean", "running_var", "norm.weight")):
            assert torch.equal(before[name], after[name])


def test_a_trial_knows_its_start_by_content(photos: PhotoDataset, weights: str, tmp_path: Path) -> None:
    """Copied it is the same trial; other weights make another; it survives being written down."""
    trial = start(photos, weights)
    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(Path(weights).read_bytes())
    assert start(photos, str(copy)).id == trial.id
    other = str(save_model(create_model("cifar-resnet-8", num_classes=5), tmp_path / "other.safetensors"))
    assert start(photos, other).id != trial.id
    assert make_photo_trial(photos).id != trial.id
    assert trial_from_dict(trial_to_dict(trial)) == trial
    with pytest.raises(UserError, match=r"other\.safetensors is not the weight file that this trial starts from"):
        run_trial(trial, photos, tmp_path / "runs", weights=other)
    with pytest.raises(
        UserError, match=r"starts from trained weights \(digest .*\); give their file with weights=FILE"
    ):
        run_trial(trial, photos, tmp_path / "runs")


def test_weights_are_read_once_to_name_a_trial(
    photos: PhotoDataset, weights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One digest says that the file is whole, another what the trial starts from."""
    read, hashed = count_weights(monkeypatch)
    start(photos, weights, recipe__iterations="1")
    assert (len(read), len(hashed)) == (1, 2)


@pytest.mark.parametrize("change", ["replaced", "rewritten in place", "gone"])
def test_a_file_that_changes_after_the_trial_is_named_is_noticed(
    change: str, photos: PhotoDataset, weights: str, tmp_path: Path
) -> None:
    """What was read of it is not taken for what is there."""
    trial, file = start(photos, weights), Path(weights)
    other = save_model(create_model("cifar-resnet-8", num_classes=5), tmp_path / "other.safetensors")
    if change == "replaced":
        other.replace(file)
    elif change == "rewritten in place":
        assert other.stat().st_size == file.stat().st_size
        file.write_bytes(other.read_bytes())
    else:
        file.unlink()
    sentence = "there is no weight file" if change == "gone" else "is not the weight file that this trial starts from"
    with pytest.raises(UserError, match=sentence):
        run_trial(trial, photos, tmp_path / "runs", weights=weights)


def test_resuming_needs_no_weights(photos: PhotoDataset, weights: str, tmp_path: Path) -> None:
    """The checkpoint has them; the end is that of a run never stopped."""
    trial = start(photos, weights, recipe__freeze="conv2", recipe__optimizer__stage_decay="0.5")
    whole = run_trial(trial, photos, tmp_path / "whole", weights=weights)
    with pytest.raises(Stopped):
        run_trial(trial, photos, tmp_path / "parts", weights=weights, listener=Listener(should_stop=stop_after(4)))
    parts = run_trial(trial, photos, tmp_path / "parts")
    assert outcome(whole) == outcome(parts)


def test_from_the_command_line(photos: PhotoDataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Shipped weights, with a word about their preparation where another is asked for; lists of runs name them."""
    words = [f"{name}={text}" for name, text in PHOTO_FIELDS.items() if name != "network"]
    words += [f"data={photos.root}", "network=resnet-20", "recipe.freeze=body", "--runs", str(tmp_path / "runs")]
    main(["train", "weights=cifar10", "recipe.centring=imagenet", *words])
    told = capsys.readouterr().err
    assert "the weights to start from were trained with pixels 0-1, per-pixel mean, but this run" in told
    assert "; leave out recipe.centring to prepare them the same way" in told
    (run,) = list_runs(tmp_path / "runs")
    assert RunDirectory(run.path).trial().start
    main(["runs", "--runs", str(tmp_path / "runs")])
    assert "weights=cifar10" in capsys.readouterr().out
    main(["runs", "show", "resnet", "--runs", str(tmp_path / "runs")])
    assert ", started from weights=cifar10\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("before", "crop", "remedy"),
    [
        (TORCHVISION, 32, "leave out recipe.centring to prepare them the same way"),
        (TORCHVISION, None, "leave out recipe.freeze, so that every layer can adapt"),
        (AUTHORS, 32, "leave out recipe.centring to prepare them the same way"),
    ],
)
def test_other_preparation_comes_with_a_remedy(before: Preprocess, crop: int | None, remedy: str) -> None:
    """Photographs are prepared otherwise only where that was asked for; others cannot be, but weights can adapt."""
    said: list[str] = []
    started = Weights(spec=cifar(8), tensors={}, preprocess=before)
    warn_of_other_preparation(started, replace(PER_PIXEL_MEAN, crop=crop), Listener(warn=said.append))
    assert said[0].endswith(f"; {remedy}")


def test_weights_are_not_passed_over(photos: PhotoDataset, weights: str, tmp_path: Path) -> None:
    """A trial that starts from scratch says so to whoever gives it weights."""
    with pytest.raises(UserError, match="this trial starts from random weights, so weights="):
        run_trial(make_photo_trial(photos), photos, tmp_path / "runs", weights=weights)


@pytest.mark.parametrize("network", ["cifar-resnet-8", cifar(8)])
def test_what_the_data_implies_is_nobodys_mistake(network: str | NetworkSpec, weights: str) -> None:
    """The data's channels are not the weights': whoever gave no such field is not told to leave it out."""
    with pytest.raises(UserError) as caught:
        read_trial({"network": network}, DIGITS, weights=weights)
    assert str(caught.value) == (
        f"the weights {weights} take images with channels=3, but digits has channels=1; "
        "choose other data, or another weight file"
    )


@pytest.mark.parametrize(("field", "found"), [("channels=1", "channels=3"), ("shortcut=B", "shortcut=A")])
def test_what_was_given_is_told_as_it_was_given(field: str, found: str, photos: PhotoDataset, weights: str) -> None:
    """With its whole name, where weights contradict it."""
    name, value = field.split("=")
    sentence = rf"^network\.{field} contradicts .*, which was trained with {found}; leave out network\.{name}$"
    with pytest.raises(UserError, match=sentence):
        start(photos, weights, **{f"network__{name}": value})


def test_weights_that_are_not_finite_are_no_start(photos: PhotoDataset, weights: str, tmp_path: Path) -> None:
    """Said before the first iteration, whose loss would take the blame; a classifier that is replaced may be."""
    network = load_model(weights)
    torch.nn.init.constant_(network.classifier.weight, torch.nan)  # pyright: ignore[reportAttributeAccessIssue]
    save_model(network, weights)
    run_trial(start(photos, weights, recipe__iterations="1"), photos, tmp_path / "runs", weights=weights)
    torch.nn.init.constant_(network.stem.norm.bias, torch.nan)  # pyright: ignore[reportAttributeAccessIssue]
    save_model(network, weights)
    with pytest.raises(UserError, match=rf"weights={weights}: stem\.norm\.bias is not finite"):
        run_trial(start(photos, weights), photos, tmp_path / "others", weights=weights)
    assert not list((tmp_path / "others").iterdir())


@pytest.fixture
def authors(tmp_path: Path) -> str:
    """Weights that know their images as the paper's authors prepared them, on crops of 48."""
    network = create_model("cifar-resnet-8", num_classes=5)
    network.preprocess = replace(AUTHORS, resize=60, crop=48)
    return str(save_model(network, tmp_path / "authors.safetensors"))


def test_photographs_are_prepared_as_the_weights_know_them(photos: PhotoDataset, authors: str, tmp_path: Path) -> None:
    """In training and in tests, for crops of the run's size; its own weights say so, and nobody is warned."""
    trial = make_photo_trial(photos, weights=authors)
    side = trial.network.input_shape[-1]
    assert trial.preprocess == replace(AUTHORS, resize=round(60 * side / 48), crop=side)
    plain = replace(trial, preprocess=None)
    assert trial.id != plain.id
    assert trial_from_dict(trial_to_dict(trial)) == trial
    (theirs, *_), (ours, *_) = (make_task(one, photos, device="cpu").feed.load(0, 1) for one in (trial, plain))
    pixels = ours * torch.tensor(IMAGENET_STD)[:, None, None] + torch.tensor(IMAGENET_MEAN)[:, None, None]
    expected = pixels.flip(-3) * 255 - torch.tensor(AUTHORS.mean)[:, None, None]
    torch.testing.assert_close(theirs, expected, rtol=1e-4, atol=1e-2)
    tests, _, _ = next(iter(make_task(trial, photos, device="cpu").feed.tests()))
    image = preprocess_images(photos.test.read(0)[None], trial.preprocess, brightest=255)
    torch.testing.assert_close(tests[:1], image)
    said: list[str] = []
    run = run_trial(trial, photos, tmp_path / "runs", weights=authors, listener=Listener(warn=said.append))
    assert load_model(run.weights).preprocess == trial.preprocess
    assert not any("prepares images" in sentence for sentence in said)
    tested = evaluate_subject(choose_inputs(load_run(run), photos))
    assert tested["loss"] == pytest.approx(run.result()["test_loss"], rel=1e-5)


def test_another_preparation_is_to_be_had(photos: PhotoDataset, authors: str) -> None:
    """By the field that says how; what the recipe would do anyway is not recorded, so that such runs keep their ids."""
    assert make_photo_trial(photos, weights=authors, recipe__centring="imagenet").preprocess is None
    side = make_photo_trial(photos).network.input_shape[-1]
    trial = make_photo_trial(photos)
    for known, kept in (
        (replace(TORCHVISION, resize=256, crop=224), None),
        (replace(TORCHVISION, resize=232), replace(TORCHVISION, resize=round(232 * side / 224), crop=side)),
        (replace(TORCHVISION, resize=None, crop=None), None),
        (replace(TORCHVISION, resize=37, crop=32), None),  # 256 for 224 too, rounded
        (None, None),
    ):
        assert keep_preparation(trial, Weights(spec=trial.network, tensors={}, preprocess=known)) == kept
    mean_image = torch.stack([torch.full((4, 4), value) for value in (0.25, 0.5, 0.75)])
    own = Weights(spec=trial.network, tensors={}, preprocess=PER_PIXEL_MEAN, mean_image=mean_image)
    kept = keep_preparation(trial, own)
    assert kept is not None
    assert (kept.mean, kept.std, kept.per_pixel_mean, kept.crop) == ((0.25, 0.5, 0.75), (1.0, 1.0, 1.0), False, side)
    by_mean_image = replace(trial, recipe=replace(trial.recipe, centring="mean-image"))
    assert keep_preparation(by_mean_image, own) is None


def test_a_run_of_before_is_named(photos: PhotoDataset, authors: str, tmp_path: Path) -> None:
    """It prepared images as the recipe says, and is resumed only by the field that says so."""
    trial = make_photo_trial(photos, weights=authors)
    before = RunDirectory.of(replace(trial, preprocess=None), tmp_path)
    before.path.mkdir()
    said: list[str] = []
    go_on_with_earlier(lambda data: [trial], photos, tmp_path, weights=authors, listener=Listener(warn=said.append))
    assert len(said) == 1 and said[0].startswith(f"{before.path} was begun by an earlier version")
    assert said[0].endswith("add recipe.centring=imagenet to resume the old one")
