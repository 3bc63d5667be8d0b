"""`reslab predict`, end to end."""

from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PIL import Image
from tests.delivery.conftest import SMALL, fill, make_network
from tests.finders import make_finder

from reslab.errors import UserError
from reslab.networks import create_model, save_model
from reslab.spec import Preprocess
from reslab.spec.task import MultiLabel


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with weights, two folders of photographs and something that is none."""
    monkeypatch.chdir(tmp_path)
    save_model(make_network(), "mine.safetensors")
    fill(Path("photos/a"), 2, bright=20)
    fill(Path("photos/b"), 1, bright=150)
    Path("bad.jpg").write_bytes(b"no image")
    torch.save(create_model("cifar-resnet-8", shortcut="B").state_dict(), "bare.pth")
    return tmp_path


def test_a_line_an_image(reslab, here: Path) -> None:
    """Folders are gone through; the folder all share is said once, and so is the preprocessing."""
    outcome = reslab("predict", "mine.safetensors", "photos")
    assert outcome.code == 0, outcome.err
    lines = [line for line in outcome.out.splitlines() if line]
    assert lines[0].endswith("pixels 0-1, resize 20, crop 16, mean 0.4 0.5 0.6, std 0.2 0.3 0.25")
    assert lines[1].split()[:3] == ["image", "in", "photos"]
    assert [line.split()[0] for line in lines[2:]] == ["a/photo-0.png", "a/photo-1.png", "b/photo-0.png"]
    assert all("ants" in line and "bees" in line and line.count("%") == 2 for line in lines[2:])


def test_a_url_is_not_fetched(reslab, here: Path) -> None:
    """And that is said, not that no such file is there."""
    outcome = reslab("predict", "mine.safetensors", "https://example.org/bee.jpg")
    assert outcome.code == 2
    assert "'https://example.org/bee.jpg' is a URL, and URLs are not fetched; download the image" in outcome.err


def test_a_mean_image_at_another_crop(reslab, here: Path) -> None:
    """Is subtracted as the averages of its channels."""
    network = make_network()
    network.preprocess, network.mean_image = Preprocess(resize=20, crop=16, per_pixel_mean=True), torch.rand(3, 16, 16)
    save_model(network, "centred.safetensors")
    words = ["predict", "centred.safetensors", "photos", "preprocess.resize=24", "preprocess.crop=20"]
    told = reslab(*words)
    assert told.code == 0, told.err
    averages = f"preprocess.mean={network.mean_image.mean((1, 2)).tolist()}".replace(" ", "")
    same = reslab(*words, averages, "preprocess.std=[1,1,1]", "preprocess.per_pixel_mean=false")
    assert told.out.splitlines()[-3:] == same.out.splitlines()[-3:]
    assert "%" in told.out.splitlines()[-1]


@pytest.mark.parametrize(
    ("probability", "ants", "bees"),
    [
        (0.0004, "<0.1 %", ">99.9 %"),
        (0.0006, "0.1 %", "99.9 %"),
        (0.25, "25.0 %", "75.0 %"),
        (0.9996, ">99.9 %", "<0.1 %"),
    ],
)
def test_rounding_claims_nothing(probability: float, ants: str, bees: str, reslab, here: Path) -> None:
    """Neither certainty nor impossibility, of the first guess as of the others."""
    network = make_network()
    with torch.no_grad():
        network.get_parameter("classifier.weight").zero_()
        network.get_parameter("classifier.bias").copy_(torch.tensor([math.log(probability / (1 - probability)), 0.0]))
    save_model(network, "sure.safetensors")
    words = reslab("predict", "sure.safetensors", "photos/b").out.splitlines()[-1].split()
    told = dict(zip(words[1::3], zip(words[2::3], words[3::3], strict=True), strict=True))
    assert {name: " ".join(parts).rstrip(",") for name, parts in told.items()} == {"ants": ants, "bees": bees}


def test_json_from_standard_input(reslab, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """- reads a list of paths; probabilities add up; `--top` cuts."""
    monkeypatch.setattr("sys.stdin", io.StringIO("photos/b/photo-0.png\n\nphotos/a/photo-1.png\n"))
    told = json.loads(reslab("predict", "mine.safetensors", "-", "--json").out)
    assert [one["image"] for one in told] == ["photos/b/photo-0.png", "photos/a/photo-1.png"]
    assert sum(guess["probability"] for guess in told[0]["guesses"]) == pytest.approx(1)
    (one,) = json.loads(reslab("predict", "mine.safetensors", "photos/b", "--json", "--top", "1").out)
    assert [guess["class"] for guess in one["guesses"]] == [told[0]["guesses"][0]["class"]]


def test_classes_are_called_by_their_words(reslab, here: Path) -> None:
    """The first of them, the class's own name beside it; as JSON both; a class without words goes by its name."""
    network = make_network()
    network.class_words = {"ants": "emmet, pismire"}
    save_model(network, "told.safetensors")
    out = reslab("predict", "told.safetensors", "photos").out
    assert "pismire" not in out
    for line in out.splitlines()[3:]:
        assert "emmet ants" in line or ("bees" in line and "emmet" in line and "ants" not in line)
    for one in json.loads(reslab("predict", "told.safetensors", "photos", "--json").out):
        words = {guess["class"]: guess.get("words") for guess in one["guesses"]}
        assert words == {"ants": "emmet, pismire", "bees": None}


def test_several_labels_an_image(reslab, here: Path) -> None:
    """All above the threshold, the others beside them; none where none is."""
    network = make_network()
    network.task = MultiLabel()
    save_model(network, "several.safetensors")
    lines = reslab("predict", "several.safetensors", "photos/b", "--threshold", "0").out.splitlines()
    assert lines[-1].count("%") == 2
    assert "below the threshold" in lines[-2]
    lines = reslab("predict", "several.safetensors", "photos/b", "--threshold", "1").out.splitlines()
    assert lines[-1].split()[:2] == ["photos/b/photo-0.png", "none"]
    (told,) = json.loads(reslab("predict", "several.safetensors", "photos/b", "--threshold", "0", "--json").out)
    assert sorted(told["labels"]) == sorted(guess["class"] for guess in told["guesses"]) == ["ants", "bees"]
    assert (
        "threshold is for multi-label networks"
        in reslab("predict", "mine.safetensors", "photos/b", "--threshold", "0.5").err
    )


def test_guesses_as_csv(reslab, here: Path) -> None:
    """To a file, beside the table; or alone to standard output, where it and JSON do not go together."""
    outcome = reslab("predict", "mine.safetensors", "photos", "--csv", "out/guesses.csv")
    assert "wrote out/guesses.csv" in outcome.out
    header, *lines = Path("out/guesses.csv").read_text().splitlines()
    assert header.replace('"', "") == "image,guess,probability,guess_2,probability_2"
    assert [line.split(",")[0] for line in lines] == [
        f'"photos/{name}.png"' for name in ("a/photo-0", "a/photo-1", "b/photo-0")
    ]
    assert reslab("predict", "mine.safetensors", "photos", "--csv", "-").out.splitlines() == [header, *lines]
    assert (
        "both print to standard output" in reslab("predict", "mine.safetensors", "photos", "--csv", "-", "--json").err
    )


def test_csv_keeps_the_bytes_of_names(here: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Where they are no UTF-8, in the file as on standard output."""
    name = b"caf\xe9.png"
    Path("photos/b/photo-0.png").rename(os.fsdecode(name))
    for place in ("guesses.csv", "-"):
        subprocess.run(
            [sys.executable, "-m", "reslab", "predict", "mine.safetensors", name, "--csv", place], check=True
        )
    written = Path("guesses.csv").read_bytes()
    assert b'\n"caf\xe9.png",' in written
    assert capfdbinary.readouterr().out.endswith(written)


def test_a_contact_sheet(reslab, here: Path) -> None:
    """Of all that could be read, with a note of the rest."""
    words = ["predict", "mine.safetensors", "photos", "bad.jpg", "data.on_bad_image=skip", "--sheet", "sheet.html"]
    outcome = reslab(*words)
    assert outcome.code == 0, outcome.err
    assert "wrote sheet.html" in outcome.out
    assert Path("sheet.html").read_text().count("<figure>") == 3
    assert "bad.jpg is not an image" in Path("sheet.html").read_text()


def test_guesses_are_told_though_the_sheet_fails(reslab, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where its classes need more rows than a picture has."""
    monkeypatch.setattr("reslab.delivery.sheet.MOST_ROWS", 10)
    outcome = reslab("predict", "mine.safetensors", "photos", "--sheet", "s.png")
    assert outcome.code == 2
    assert outcome.out.count("photo-") == 3
    assert "s.png has no room for 3 images" in outcome.err


def test_explanations_are_written(reslab, here: Path) -> None:
    """A PNG for each, also where two images have one name; JSON says where."""
    assert "wrote 3 pictures to maps" in reslab("predict", "mine.safetensors", "photos", "--explain", "maps").out
    assert sorted(path.name for path in Path("maps").iterdir()) == ["photo-0-2.png", "photo-0.png", "photo-1.png"]
    with Image.open("maps/photo-0.png") as image:
        assert (image.format, image.size) == ("PNG", (452, 224))
    told = json.loads(reslab("predict", "mine.safetensors", "photos", "--explain", "maps", "--json").out)
    assert told[2]["explanation"] == "maps/photo-0-2.png"


def test_explanations_never_replace_an_input(reslab, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with input images, or with links to them, is refused before the work."""
    monkeypatch.setattr("reslab.experiments.predict.load_trained", None)
    Path("links").mkdir()
    Path("links/photo-0.png").symlink_to(here / "photos/b/photo-0.png")
    for images, folder in (("photos", "photos/a"), ("photos/b/photo-0.png", "photos/b"), ("links", "links")):
        outcome = reslab("predict", "mine.safetensors", images, "--explain", folder)
        assert outcome.code == 2
        assert f"{folder} has input images, which pictures could replace; give --explain another folder" in outcome.err
    outcome = reslab("predict", "mine.safetensors", "photos", "--explain", "photos/maps")
    assert outcome.code == 2 and "photos/maps is inside a folder of images" in outcome.err
    assert "--explain needs a network, not x.onnx" in reslab("predict", "x.onnx", "photos", "--explain", "maps").err


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_guesses_are_told_though_explanations_fail(
    json: list[str], reslab, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that is full by then."""

    def fail(path: Path) -> None:
        raise UserError(f"cannot write {path}: No space left on device; free some space")

    monkeypatch.setattr("reslab.cli.predict.atomic_write", fail)
    outcome = reslab("predict", "mine.safetensors", "photos", "--explain", "maps", *json)
    assert outcome.code == 2
    assert outcome.out.count("photo-0.png") == 2
    assert "No space left" in outcome.err


def test_a_closed_place_is_told_before_the_work(reslab, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is a file cannot be a folder of pictures, and what is not there cannot be looked at: nothing is loaded."""
    monkeypatch.setattr("reslab.experiments.predict.load_trained", None)
    outcome = reslab("predict", "mine.safetensors", "photos", "--explain", "mine.safetensors")
    assert outcome.code == 2
    assert "cannot write mine.safetensors: Not a directory" in outcome.err
    assert "none.png cannot be read" in reslab("predict", "mine.safetensors", "none.png").err


def test_shipped_weights_look_at_a_photograph(reslab, here: Path) -> None:
    """A network of small images, told to resize; without, one sentence with what to add."""
    fill(Path("large"), 1, bright=90)
    words = ["predict", "resnet-20", "large/photo-0.png", "weights=cifar10"]
    outcome = reslab(*words, "preprocess.resize=32", "preprocess.crop=32", "--json")
    assert outcome.code == 0, outcome.err
    assert len(json.loads(outcome.out)[0]["guesses"]) == 5
    outcome = reslab(*words)
    assert outcome.code == 2
    assert "is 30x24, but resnet-20 takes 32x32" in outcome.err
    assert "add preprocess.resize=32 preprocess.crop=32" in outcome.err


def test_a_name_with_an_equals_sign_is_an_image(reslab, here: Path) -> None:
    """If there is such a file."""
    Path("photos/b/photo-0.png").rename("a=b.png")
    assert json.loads(reslab("predict", "mine.safetensors", "a=b.png", "--json").out)[0]["image"] == "a=b.png"


def test_bad_images_stop_or_are_named(reslab, here: Path) -> None:
    """As asked; the others are told all the same."""
    words = ["predict", "mine.safetensors", "bad.jpg", "photos/b", "--json"]
    assert "bad.jpg is not an image that can be read" in reslab(*words).err
    outcome = reslab(*words, "data.on_bad_image=skip")
    assert outcome.code == 0
    assert "warning: skipped: bad.jpg is not an image that can be read; remove it\n" in outcome.err
    assert [one["image"] for one in json.loads(outcome.out)] == ["photos/b/photo-0.png"]


def test_an_image_that_does_not_fit_is_skipped_too(reslab, here: Path) -> None:
    """Like one that cannot be read; asked for no skipping, it stops."""
    Image.new("RGB", (9, 9)).save("photos/tiny.png")
    network = make_network()
    network.preprocess = replace(SMALL, resize=None)
    save_model(network, "mine.safetensors")
    words = ["mine.safetensors", "photos/tiny.png", "photos/b"]
    assert "photos/tiny.png: crop is 16" in reslab("predict", *words).err
    verbs = (["predict", "--json"], ["embed", "--out", "f.safetensors"], ["export", "--format", "torch-export"])
    for verb, *options in verbs:
        outcome = reslab(verb, *words, "data.on_bad_image=skip", *options)
        assert outcome.code == 0, outcome.err
        assert "warning: skipped: photos/tiny.png: crop is 16, but the images are 9x9" in outcome.err
        assert "tiny" not in outcome.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["mine.safetensors"], "predict needs an image; give files, folders, or -"),
        (["mine.safetensors", "none.jpg"], "none.jpg cannot be read: No such file or directory; check the file"),
        (["mine.safetensors", "photos", "--top", "0"], "top is 0"),
        (["mine.safetensors", "photos", "size=3"], "predict has no field 'size'"),
        (["mine.safetensors", "bad.jpg", "data.on_bad_image=hide"], "choose stop or skip"),
        (["resnet-18", "photos"], "starts with 'resnet-18'; pass weights=FILE"),
        (["cifar-resnet-8 shortcut=B", "weights=bare.pth", "photos"], "does not say how to prepare images; give"),
        (["mine.safetensors", "photos", "--tip", "3"], "there is no option --tip; --help lists the options"),
        (["mine.safetensors", "photos", "--tip=3"], "there is no option --tip"),
        (["mine.safetensors", "photos", "preprocess.crop=40"], "photos/a/photo-0.png: crop is 40, but the images are"),
        (["mine.safetensors", "photos", "--explain", "bad.jpg/maps"], "cannot write bad.jpg/maps"),
    ],
)
def test_mistakes_end_in_one_sentence(words: list[str], sentence: str, reslab, here: Path) -> None:
    """Exit code 2, one line that says what to do."""
    outcome = reslab("predict", *words)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1


def test_paths_may_be_relative_and_absolute(reslab, here: Path) -> None:
    """They share no folder that could be said once."""
    outcome = reslab("predict", "mine.safetensors", "photos/b", str(here / "photos/a"))
    assert outcome.code == 0, outcome.err
    assert "photos/b/photo-0.png" in outcome.out


def test_a_single_path_keeps_its_slash(reslab, here: Path) -> None:
    """Nothing is said once in its stead."""
    photo = here / "photos" / "a" / "photo-0.png"
    assert f"\n/{photo.parts[1]}/" in reslab("predict", "mine.safetensors", str(photo)).out


def test_files_of_others_are_not_replaced(reslab, here: Path) -> None:
    """A table, a sheet and an overlay are written again where they were, and nowhere else."""
    again = ["--csv", "guesses.csv", "--sheet", "sheet.jpg", "--explain", "maps"]
    for _ in range(2):
        assert reslab("predict", "mine.safetensors", "photos", *again).code == 0
    Path("labels.csv").write_text("image,cat\nphoto.jpg,1\n")
    Path("pngs").mkdir()
    for name in ("kept.jpg", "kept.png", "pngs/photo-0.png"):
        Image.new("RGB", (8, 8)).save(name)
    for option, path in (
        ("--csv", "labels.csv"),
        ("--sheet", "kept.jpg"),
        ("--sheet", "kept.png"),
        ("--explain", "pngs"),
    ):
        before = {
            path: path.read_bytes() for path in (*Path().glob("kept.*"), Path("labels.csv"), *Path("pngs").iterdir())
        }
        outcome = reslab("predict", "mine.safetensors", "photos", option, str(path))
        assert outcome.code == 2 and "exists, and reslab did not write it; name another file" in outcome.err
        assert all(path.read_bytes() == content for path, content in before.items())


@pytest.fixture
def finder(here: Path) -> str:
    """The weights of a detector that finds a few objects in any image."""
    save_model(make_finder(detections=4), "finder.safetensors")
    return "finder.safetensors"


def test_a_line_an_object(reslab, finder: str) -> None:
    """Class, score and box, and a word where there is none; JSON and CSV say the same."""
    words = ["predict", finder, "photos", "--threshold", "0"]
    outcome = reslab(*words)
    assert outcome.code == 0, outcome.err
    heading, columns, *lines = [line for line in outcome.out.splitlines() if line]
    assert heading.endswith("shorter side 64, longer side at most 96")
    assert columns.split() == ["image", "in", "photos", "class", "score", "left", "top", "right", "bottom"]
    told = json.loads(reslab(*words, "--json").out)
    objects = [(one["image"], found) for one in told for found in one["objects"]]
    assert len(lines) == len(objects) > 3
    for line, (image, found) in zip(lines, objects, strict=True):
        name, kind, score, _, *box = line.split()
        assert (f"photos/{name}", kind) == (image, found["class"])
        assert float(score.lstrip("<>")) == pytest.approx(100 * found["score"], abs=0.11)
        assert list(map(float, box)) == pytest.approx(found["box"], abs=0.51)
    rows = reslab(*words, "--csv", "-").out.splitlines()
    assert rows[0] == '"image","class","score","left","top","right","bottom"' and len(rows) == 1 + len(objects)
    none = reslab("predict", finder, "photos", "--threshold", "1").out.splitlines()
    assert [line.split()[1] for line in none[-3:]] == ["none"] * 3


def test_objects_are_drawn(reslab, finder: str) -> None:
    """A JPEG for each image, of its size or larger; JSON says where. Images and others' files are not replaced."""
    words = ["predict", finder, "photos", "--threshold", "0", "--draw", "drawn", "--coco", "found.json"]
    outcome = reslab(*words)
    assert outcome.code == 0, outcome.err
    assert "wrote 3 pictures to drawn" in outcome.out and "wrote found.json" in outcome.out
    assert sorted(path.name for path in Path("drawn").iterdir()) == ["photo-0-2.jpg", "photo-0.jpg", "photo-1.jpg"]
    assert [one["drawing"] for one in json.loads(reslab(*words, "--json").out)][2] == "drawn/photo-0-2.jpg"
    Path("others").mkdir()
    Image.new("RGB", (8, 8)).save("others/photo-1.jpg")
    Path("theirs.json").write_text('[{"image_id": 1}]')
    for option, place, sentence in (
        ("--draw", "others", "others/photo-1.jpg exists, and reslab did not write it"),
        ("--draw", "photos/a", "photos/a has input images, which pictures could replace; give --draw another folder"),
        ("--draw", "photos/new", "photos/new is inside a folder of images"),
        ("--coco", "theirs.json", "theirs.json exists, and reslab did not write it"),
        ("--coco", "found.txt", "--coco is found.txt; give a file that ends in .json"),
    ):
        outcome = reslab("predict", finder, "photos", option, place)
        assert (outcome.code, outcome.out) == (2, "") and sentence in outcome.err


def test_objects_are_told_though_drawing_fails(reslab, finder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a picture that is too large."""
    monkeypatch.setattr("reslab.delivery.drawn_objects.MOST_ROWS", 10)
    outcome = reslab("predict", finder, "photos", "--draw", "drawn")
    assert outcome.code == 2
    assert outcome.out.count("photo-") >= 3 and "a JPEG has at most 10 pixels a side" in outcome.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["finder.safetensors", "photos", "--sheet", "s.html"], "--sheet is for networks that classify images, but"),
        (["finder.safetensors", "photos", "--explain", "maps"], "finder.safetensors finds objects; use --draw instead"),
        (["finder.safetensors", "photos", "preprocess.crop=9"], "is shown whole images (task.shorter=64, task.longest"),
        (["finder.safetensors", "photos", "--threshold", "7"], "threshold is 7; give a score from 0 to 1"),
        (["mine.safetensors", "photos", "--draw", "drawn"], "--draw is for detectors, but mine.safetensors classifies"),
        (["mine.safetensors", "photos", "--coco", "r.json"], "--coco is for detectors, but mine.safetensors"),
        (["x.onnx", "photos", "--draw", "drawn"], "--draw needs a network, not x.onnx"),
    ],
)
def test_each_kind_has_its_files(words: list[str], sentence: str, reslab, finder: str) -> None:
    """What makes no sense for it is refused in a sentence."""
    outcome = reslab("predict", *words)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1
    assert not any(Path(name).exists() for name in ("drawn", "maps", "s.html", "r.json"))


@pytest.mark.parametrize(
    "words", [["embed", "photos", "--out", "f.safetensors"], ["probe", "data=digits"], ["analyze", "data=digits"]]
)
def test_instruments_of_classifiers_refuse_detectors(words: list[str], reslab, finder: str) -> None:
    """In a sentence, whatever the data."""
    verb, *rest = words
    outcome = reslab(verb, finder, *rest)
    assert outcome.code == 2
    assert len(outcome.err.strip().splitlines()) == 1
    assert "finder.safetensors" in outcome.err and ("finds objects" in outcome.err or "for detection" in outcome.err)
