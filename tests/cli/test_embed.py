"""`reslab embed`, end to end."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.multilabel import make_labelled

from reslab.delivery.embedding import read_embedding


def test_a_folder_of_classes_and_a_few_images(reslab, here: Path) -> None:
    """The first has labels and all its images, the second none; layers by name."""
    outcome = reslab("embed", "mine.safetensors", "photos", "--out", "f.safetensors", "--layer", "conv3_x")
    assert outcome.code == 0, outcome.err
    assert "wrote f.safetensors: 10 images x 32 features of conv3_x, with labels of 2 classes" in outcome.out
    found = read_embedding(Path("f.safetensors"))
    assert found.class_names == ("ants", "bees")
    for name, label in zip(found.names, found.labels.tolist(), strict=True):  # pyright: ignore[reportOptionalMemberAccess]
        assert name.startswith(found.class_names[label])
    words = ["photos/ants", "photos/bees/photo-0.png"]
    assert "6 images x 64 features" in reslab("embed", "mine.safetensors", *words, "--out", "g.safetensors").out
    assert read_embedding(Path("g.safetensors")).labels is None


def test_shards_are_a_folder_of_classes(reslab, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same features, labels and names."""
    monkeypatch.setenv("RESLAB_DATA", str(here / "data"))
    assert reslab("data", "shard", "photos", "shards").code == 0
    for source in ("photos", "shards"):
        assert reslab("embed", "mine.safetensors", source, "--out", f"{source}.safetensors").code == 0
    ours, theirs = read_embedding(Path("shards.safetensors")), read_embedding(Path("photos.safetensors"))
    assert (ours.names, ours.class_names) == (theirs.names, theirs.class_names)
    assert ours.features.equal(theirs.features)


def test_images_with_several_labels_are_images(reslab, here: Path) -> None:
    """Whatever folders they lie in; the list beside them is none of classes."""
    make_labelled(here / "tagged", count=4)
    (here / "tagged" / "more").mkdir()
    outcome = reslab("embed", "mine.safetensors", "tagged", "--out", "f.safetensors")
    assert "wrote f.safetensors: 4 images x 64 features of pooled" in outcome.out, outcome.err
    assert read_embedding(Path("f.safetensors")).labels is None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["photos", "--out", "mine.safetensors/f.safetensors"], "f.safetensors: Not a directory; choose a writable"),
        (["none.png", "--out", "f.safetensors"], "none.png cannot be read"),
    ],
)
def test_places_are_looked_at_before_the_work(
    words: list[str], sentence: str, reslab, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is loaded for a file that cannot be written, or of images that are not there."""
    monkeypatch.setattr("reslab.experiments.subjects.load_trained", None)
    outcome = reslab("embed", "mine.safetensors", *words)
    assert outcome.code == 2
    assert sentence in outcome.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["photos", "--out", "f.npy"], "name a file that ends in .safetensors"),
        (["--out", "f.safetensors"], "embed needs images"),
        (["photos", "--out", "f.safetensors", "--layer", "conv9"], "has no layer 'conv9'"),
        (["photos", "--out", "f.safetensors", "data=digits"], "embed has no field 'data'"),
        (["photos/bad", "data.on_bad_image=skip", "--out", "f.safetensors"], "none of the images can be read"),
        (["none.png", "--out", "f.safetensors"], "none.png cannot be read"),
    ],
)
def test_mistakes_end_in_one_sentence(words: list[str], sentence: str, reslab, here: Path) -> None:
    """Exit code 2, one line, and no file."""
    outcome = reslab("embed", "mine.safetensors", *words)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1
    assert not Path("f.safetensors").exists()


def test_what_is_read_is_never_written_over(reslab, here: Path) -> None:
    """Features in the place of the weights that made them would be the end of these."""
    before = Path("mine.safetensors").read_bytes()
    outcome = reslab("embed", "mine.safetensors", "photos", "--out", "photos/../mine.safetensors")
    assert outcome.code == 2
    assert "mine.safetensors is the input file; write to another file" in outcome.err
    assert Path("mine.safetensors").read_bytes() == before
