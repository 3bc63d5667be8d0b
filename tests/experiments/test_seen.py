"""Images that weights were trained on are counted among those they are tested on, however they got there."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.photographs import make_photos
from tests.trials import DIGITS, make_digits_trial, make_photo_trial, outcome, stop_after

from reslab.data.photos import folder
from reslab.data.photos.folder import PhotoDataset
from reslab.data.photos.reader import read_photos
from reslab.experiments.run import run_trial
from reslab.experiments.seen import Seen, describe_overlap, read_seen
from reslab.experiments.starting import start_from
from reslab.experiments.trained import choose_inputs, load_file
from reslab.networks import create_model, save_model
from reslab.networks.create import restore_model
from reslab.runs.directory import RunDirectory
from reslab.runtime.listener import Listener
from reslab.spec.codec import encode
from reslab.spec.trial import DataSpec
from reslab.training.loop import Stopped

TOLD = re.compile(r"was trained on (\d+) of the (\d+) test images of ([^ ,]+), so the test error is too low")


def train(photos: PhotoDataset, runs: Path, *, weights: Path | None = None, **changes: str) -> tuple[RunDirectory, str]:
    """Train shortly, and return the run with what it said of images seen before."""
    said: list[str] = []
    trial = make_photo_trial(photos, weights=str(weights) if weights else None, recipe__iterations="1", **changes)
    run = run_trial(trial, photos, runs, weights=weights, listener=Listener(warn=said.append))
    return run, "".join(sentence for sentence in said if "was trained on" in sentence)


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    return make_photos(tmp_path / "photos", train=12) / "train"


def swap_sides(photos: PhotoDataset) -> PhotoDataset:
    return replace(photos, train=photos.test, test=photos.train)


def test_the_same_folder_drawn_by_another_seed(flat: Path, tmp_path: Path) -> None:
    """By the file's digests; by the same seed there is nothing to say."""
    before, _ = train(first := read_photos(flat, seed=3), tmp_path / "a", data__held_out_seed="3")
    second = read_photos(flat, seed=4)
    shared = len(set(second.test.files) & set(first.train.files))
    _, said = train(second, tmp_path / "b", weights=before.weights, data__held_out_seed="4")
    assert shared > 0
    assert TOLD.search(said).groups() == (str(shared), str(len(second.test)), "train")
    assert train(first, tmp_path / "c", weights=before.weights, data__held_out_seed="3")[1] == ""


def test_a_folder_that_grew_keeps_its_sides(flat: Path, tmp_path: Path) -> None:
    """Nothing is said, because nothing that was trained on is tested on."""
    before, _ = train(read_photos(flat), tmp_path / "a")
    make_photos(flat.parent, train=30, classes=3)
    assert train(read_photos(flat), tmp_path / "b", weights=before.weights)[1] == ""


def test_a_copy_under_other_names(flat: Path, tmp_path: Path) -> None:
    """In another folder, with other files' names, where what was trained on is tested on."""
    run, _ = train(photos := read_photos(flat), tmp_path / "a")
    for number, file in enumerate(photos.train.files):
        for split in ("train", "val"):
            (tmp_path / "copy" / split / file.split("/")[0]).mkdir(parents=True, exist_ok=True)
        split = "val" if number % 3 else "train"
        shutil.copy(flat / file, tmp_path / "copy" / split / file.split("/")[0] / f"renamed-{number}.jpg")
    said: list[str] = []
    copy = read_photos(tmp_path / "copy")
    choose_inputs(load_file(run.weights), copy, listener=Listener(warn=said.append))
    (told,) = said
    assert TOLD.search(told).groups() == (str(len(copy.test)), str(len(copy.test)), "copy")


def test_what_was_before_is_remembered(flat: Path, tmp_path: Path) -> None:
    """Through a second training on other photographs: the weights that come out have seen both."""
    first = read_photos(flat)
    one, _ = train(swap_sides(first), tmp_path / "a")
    others = make_photos(tmp_path / "others", train=9, size=(40, 40))
    two, said = train(read_photos(others), tmp_path / "b", weights=one.weights)
    assert said == ""
    three, said = train(first, tmp_path / "c", weights=two.weights)
    assert TOLD.search(said).groups() == (str(len(first.test)), str(len(first.test)), "train")
    seen = load_file(three.weights).seen
    assert [data.name for data in seen.data] == ["train", "others", "train"]
    assert len(seen.digests) == len(first.train) + len(first.test) + len(read_photos(others).train)


def test_a_run_that_goes_on_remembers_what_it_started_from(flat: Path, tmp_path: Path) -> None:
    """It is written down when it begins; its end is that of a run never stopped."""
    photos = read_photos(flat)
    before, _ = train(swap_sides(photos), tmp_path / "before")
    trial = make_photo_trial(photos, weights=str(before.weights))
    whole = run_trial(trial, photos, tmp_path / "whole", weights=before.weights)
    with pytest.raises(Stopped):
        run_trial(
            trial, photos, tmp_path / "parts", weights=before.weights, listener=Listener(should_stop=stop_after(4))
        )
    assert outcome(run_trial(trial, photos, tmp_path / "parts")) == outcome(whole)


@pytest.mark.parametrize(
    ("before", "now", "seen"),
    [("full", "tuning", 144), ("full", "full", 0), ("tuning", "tuning", 0), ("tuning", "full", 0)],
)
def test_splits_of_a_dataset_by_name(before: str, now: str, seen: int, tmp_path: Path) -> None:
    """What the tuning split tests on, the full one trains on; a training from its weights says so, and so do tests."""
    run = run_trial(make_digits_trial(split=before, iterations=1), DIGITS, tmp_path / "a")
    trial = make_digits_trial(split=now, iterations=1)
    trial = start_from(trial, run.weights, network=trial.network, given={}, implied={}, prepares=False)
    trained: list[str] = []
    run_trial(trial, DIGITS, tmp_path / "b", weights=run.weights, listener=Listener(warn=trained.append))
    tested: list[str] = []
    choose_inputs(load_file(run.weights), DIGITS, split=now, listener=Listener(warn=tested.append))
    for said in (trained, tested):
        found = [TOLD.search(sentence) for sentence in said]
        assert [match[1] for match in found if match] == ([str(seen)] if seen else [])


def without_digests(run: RunDirectory, path: Path) -> Path:
    network, read = restore_model(run.weights, overrides={})
    return save_model(network, path, provenance={"data": read.provenance["data"]})


def test_files_without_digests_are_told_by_names(flat: Path, tmp_path: Path) -> None:
    """Those of versions before: as long as the folder is what it was; then only that nobody knows."""
    run, _ = train(first := read_photos(flat, seed=3), tmp_path / "a", data__held_out_seed="3")
    old = without_digests(run, tmp_path / "old.safetensors")
    second = read_photos(flat, seed=4)
    shared = len(set(second.test.files) & set(first.train.files))
    _, said = train(second, tmp_path / "b", weights=old, data__held_out_seed="4")
    assert TOLD.search(said)[1] == str(shared)
    make_photos(flat.parent, train=20)
    _, said = train(read_photos(flat), tmp_path / "c", weights=old)
    assert "was trained on another train, perhaps on some of these test images; test on other" in said


def test_what_is_too_much_to_digest_is_told_by_names(
    flat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of weights does not grow with it either."""
    monkeypatch.setattr(folder, "CHEAP", 0)
    run, _ = train(read_photos(flat, seed=3), tmp_path / "a", data__held_out_seed="3")
    assert load_file(run.weights).seen.digests is None
    _, said = train(read_photos(flat, seed=4), tmp_path / "b", weights=run.weights, data__held_out_seed="4")
    assert TOLD.search(said)


def test_digests_of_some_do_not_speak_for_others(flat: Path, tmp_path: Path) -> None:
    """Weights of a version before, fine-tuned on other photographs, then on the folder that has changed since."""
    run, _ = train(read_photos(flat), tmp_path / "a")
    old = without_digests(run, tmp_path / "old.safetensors")
    others = read_photos(make_photos(tmp_path / "others", train=9, size=(40, 40)))
    second, _ = train(others, tmp_path / "b", weights=old)
    make_photos(flat.parent, train=20)
    _, said = train(read_photos(flat), tmp_path / "c", weights=second.weights)
    assert "was trained on another train, perhaps on some of these test images" in said


@pytest.mark.parametrize("note", ["gone", "empty", "damaged"])
def test_a_run_without_its_note_takes_it_again(note: str, flat: Path, tmp_path: Path) -> None:
    """As one that an earlier version began: what it started from is read for it, where it is given once more."""
    photos = read_photos(flat)
    before, _ = train(swap_sides(photos), tmp_path / "before")
    trial = make_photo_trial(photos, weights=str(before.weights))
    with pytest.raises(Stopped):
        run_trial(trial, photos, tmp_path, weights=before.weights, listener=Listener(should_stop=stop_after(4)))
    file = RunDirectory.of(trial, tmp_path).path / "seen.json"
    file.unlink()
    if note != "gone":
        file.write_text("{}" if note == "empty" else "{")
    run = run_trial(trial, photos, tmp_path, weights=before.weights)
    seen = load_file(run.weights).seen
    assert len(seen.digests) == len(photos.train) + len(photos.test)
    assert len(seen.data) == len(seen.digested) == 2


@pytest.mark.parametrize(
    "provenance",
    [
        {},
        {"data": "my own"},
        {"data": 3},
        {"data": {"name": "x", "fingerprint": "y"}, "image_digests": "no base64"},
        {"data": {"name": "x", "fingerprint": "y"}, "data_before": 3},
    ],
)
def test_what_others_write_there_is_no_error(provenance: dict) -> None:
    """It says nothing."""
    assert read_seen(provenance) == Seen()


def test_what_is_described_is_read_back() -> None:
    """Data and digests, in order."""
    seen = Seen(
        data=(DataSpec(name="a", fingerprint="x"), DataSpec(name="b", fingerprint="y", split="tuning")),
        digests=np.array([-5, 2**60], np.int64),
        digested=("x",),
    )
    back = read_seen(seen.describe())
    assert (back.data, back.digested) == (seen.data, seen.digested)
    assert np.array_equal(back.digests, seen.digests)
    assert describe_overlap(seen, DIGITS, DIGITS.test, weights="w") == ""


def test_an_older_file_is_read(tmp_path: Path) -> None:
    """Its data alone."""
    data = DataSpec(name="digits", fingerprint=DIGITS.fingerprint)
    path = save_model(create_model("cifar-resnet-8"), tmp_path / "w.safetensors", provenance={"data": encode(data)})
    assert load_file(path).seen == Seen(data=(data,))
