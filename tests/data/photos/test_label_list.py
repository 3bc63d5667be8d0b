"""Lists of labels become datasets; what is wrong with one is told in a sentence, with its line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.multilabel import CLASSES, make_labelled

from reslab.data.catalogue import open_data
from reslab.data.photos.label_list import MultiLabelDataset, read_labelled
from reslab.errors import UserError


def write(root: Path, text: str, *, name: str = "labels.csv", images: str = "abcdefgh") -> Path:
    root.mkdir(exist_ok=True)
    for letter in images:
        (root / f"{letter}.jpg").write_bytes(letter.encode())
    (root / name).write_text(text)
    return root


def test_a_column_a_class(tmp_path: Path) -> None:
    """Rows of 0 and 1, in the columns' order; blank lines, spaces and a byte order mark do not matter."""
    text = "\ufeffimage, dog ,cat\na.jpg,1,0\n\n./b.jpg,1, 1\nc.jpg,0,0\n"
    (write(tmp_path, text, name="train.csv") / "val.csv").write_text("image,cat,dog\nd.jpg,1,0\n")
    dataset = open_data(str(tmp_path))
    assert isinstance(dataset, MultiLabelDataset)
    assert (dataset.target, dataset.class_names, dataset.held_out) == ("labels", ("dog", "cat"), False)
    assert dataset.train.files == ("a.jpg", "b.jpg", "c.jpg")
    assert dataset.train.targets.tolist() == [[1, 0], [1, 1], [0, 0]]
    assert dataset.test.targets.tolist() == [[0, 1]]


def test_a_column_of_labels(tmp_path: Path) -> None:
    """Semicolons between them, spaces inside; classes are sorted; an image may have none."""
    (write(tmp_path, "image,labels\na.jpg,red car; dog\nb.jpg,\nc.jpg,dog;dog;\n") / "val.csv").write_text(
        "image,labels\nd.jpg,dog\n"
    )
    dataset = read_labelled(tmp_path)
    assert dataset.class_names == ("dog", "red car")
    assert dataset.train.targets.tolist() == [[1, 1], [0, 0], [1, 0]]
    assert dataset.test.targets.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("text", "val"),
    [
        ("image;dog;cat\na.jpg;1;0\nb.jpg;1;1\n", "image;dog;cat\nc.jpg;1;0\n"),
        ("image\tdog\tcat\na.jpg\t1\t0\nb.jpg\t1\t1\n", "image,dog,cat\nc.jpg,1,0\n"),
        ("image;labels\na.jpg;dog\nb.jpg;cat;dog\n", 'image;labels\nc.jpg;"dog"\n'),
        ('image;labels\na.jpg;dog\n"b.jpg";"cat;dog"\n', "image,labels\nc.jpg,dog\n"),
    ],
)
def test_columns_are_separated_as_spreadsheets_do(text: str, val: str, tmp_path: Path) -> None:
    """By semicolons or tabs too, which the first line tells; labels then need no quotes."""
    (write(tmp_path, text, name="train.csv") / "val.csv").write_text(val)
    dataset = read_labelled(tmp_path)
    truth = [[name == "dog" or file == "b.jpg" for name in dataset.class_names] for file in ("a.jpg", "b.jpg")]
    assert sorted(dataset.class_names) == ["cat", "dog"]
    assert dataset.train.targets.tolist() == truth
    assert dataset.test.targets.sum() == 1


def test_paths_may_have_backslashes(tmp_path: Path) -> None:
    """As Windows writes them; a file whose name has one is meant first, and no path leads out of the folder."""
    write(tmp_path, "image,cat\nsub\\a.jpg,1\nb\\c.jpg,1\n", images="")
    write(tmp_path / "sub", "", name="x", images="a")
    for name in ("b\\c.jpg", "d.jpg"):
        (tmp_path / name).touch()
    (tmp_path / "val.csv").write_text("image,cat\nd.jpg,1\n")
    assert read_labelled(tmp_path).train.files == ("sub/a.jpg", "b\\c.jpg")
    (tmp_path / "val.csv").write_text("image,cat\n..\\d.jpg,1\n")
    with pytest.raises(UserError, match=r"'\.\./d\.jpg' is not the path of an image in"):
        read_labelled(tmp_path)


def test_a_fifth_of_every_class_is_held_out(tmp_path: Path) -> None:
    """About so much, at least one of each, drawn by the seed; every image is in one of the two."""
    root = make_labelled(tmp_path, count=60)
    dataset = read_labelled(root, seed=3)
    assert dataset.held_out
    assert sorted(dataset.train.files + dataset.test.files) == [f"images/labels-{n:03d}.png" for n in range(60)]
    assert 6 <= len(dataset.test) <= 18
    assert dataset.test.targets.sum(0).all()
    assert read_labelled(root, seed=3).test.files == dataset.test.files
    assert read_labelled(root, seed=4).test.files != dataset.test.files
    with pytest.raises(UserError, match="held_out_seed is -1; give a whole number"):
        read_labelled(root, seed=-1)


def test_rare_labels_are_on_both_sides(tmp_path: Path) -> None:
    """Two images of a class are one and one; the only one of a class is trained on."""
    names = [f"i{number}.jpg" for number in range(30)]
    rows = [f"{name},1,{int(number < 2)},{int(number == 7)}" for number, name in enumerate(names)]
    write(tmp_path, "\n".join(["image,common,rare,single", *rows]))
    for name in names:
        (tmp_path / name).touch()
    for seed in range(5):
        dataset = read_labelled(tmp_path, seed=seed)
        assert dataset.train.targets.sum(0).tolist()[1:] == [1, 1]
        assert dataset.test.targets.sum(0).tolist()[1:] == [1, 0]


def test_it_is_known_by_content(tmp_path: Path) -> None:
    """Wherever it lies; another label, or another size of a file, is other data."""
    text = "image,cat,dog\na.jpg,1,0\nb.jpg,0,1\n"
    prints = []
    for number, changed in enumerate((text, text, text.replace("b.jpg,0,1", "b.jpg,1,1"), text)):
        root = write(tmp_path / str(number), changed, name="train.csv")
        (root / "val.csv").write_text("image,cat,dog\nc.jpg,1,0\n")
        if number == 3:
            (root / "a.jpg").write_bytes(b"longer")
        prints.append(read_labelled(root).fingerprint)
        assert (dataset := read_labelled(root)).fingerprint is dataset.fingerprint  # taken once
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", r"labels\.csv is empty; the first line must name the columns: image,CLASS"),
        ("image,cat\n", "lists no images; add a line for each"),
        ("file,cat\na.jpg,1\n", "the first column of .* is 'file', not 'image'"),
        ("image\na.jpg\n", "has no column of labels; the columns are"),
        ("image,cat,cat\na.jpg,1,1\n", "column 3 of .* repeats the name cat"),
        ("image,cat,\na.jpg,1,1\n", "column 3 of .* has no name"),
        ("image,cat,dog\na.jpg,1\n", "line 2: 2 cells, but the first line has 3; correct it"),
        ("image,cat,dog\na.jpg,1,0\nb.jpg,yes,1\n", "line 3: cat is 'yes'; write 0 or 1"),
        ("image,cat\na.jpg,1\nz.jpg,1\n", r"line 3: there is no image .*z\.jpg; add it, or remove the line"),
        ("image,cat\n/etc/passwd,1\n", "line 2: '/etc/passwd' is not the path of an image in"),
        ("image,cat\n../a.jpg,1\n", r"line 2: '\.\./a\.jpg' is not the path of an image in"),
        ("image,cat\na.jpg,1\nb.jpg,0\n./a.jpg,1\n", r"line 4: a\.jpg is already on line 2; keep one"),
        ("image,cat,dog\na.jpg,1,0\nb.jpg,1,0\n", "has the label 'dog'; add one, or remove the column"),
        ("image,labels\na.jpg,\n", "no image of .* has a label"),
        ("image,cat\na.jpg,1\n", r"no image could be held out of .* add a list val\.csv"),
        ("image,cat\n\xff.jpg,1\n", "is not CSV in UTF-8"),
    ],
)
def test_mistakes_are_told_with_their_line(text: str, sentence: str, tmp_path: Path) -> None:
    """And what to do."""
    write(tmp_path, "")
    (tmp_path / "labels.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match=sentence):
        read_labelled(tmp_path)


@pytest.mark.parametrize(
    ("val", "sentence"),
    [
        ("image,cat,fox\nc.jpg,1,0\n", r"val\.csv has the label 'fox', which no training image has; add it to"),
        ("image,cat\nc.jpg,1\n", r"val\.csv lacks the column 'dog' of"),
        ("image,cat,dog\na.jpg,1,0\n", r"a\.jpg is in .*val\.csv and in .*train\.csv; keep it in one"),
        ("image,cat,dog\nc.jpg,0,0\n", "no test image has a label"),
    ],
)
def test_what_is_tested_on_must_fit(val: str, sentence: str, tmp_path: Path) -> None:
    """The same classes, other images, something to find."""
    write(tmp_path, "image,cat,dog\na.jpg,1,0\nb.jpg,0,1\n", name="train.csv")
    (tmp_path / "val.csv").write_text(val)
    with pytest.raises(UserError, match=sentence):
        read_labelled(tmp_path)


def test_a_folder_that_may_not_be_entered_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it has a list cannot be seen, and that is no reason for a traceback."""
    closed, look = make_labelled(tmp_path / "closed", count=4), Path.stat

    def stat(path: Path, **how: bool) -> os.stat_result:
        if path.parent == closed:
            raise PermissionError(13, "Permission denied")
        return look(path, **how)

    monkeypatch.setattr(Path, "stat", stat)
    with pytest.raises(UserError, match=rf"{closed} cannot be read: Permission denied; check its permissions"):
        open_data(str(closed))


def test_two_lists_are_one_too_many(tmp_path: Path) -> None:
    """Nobody can say which is meant."""
    write(tmp_path, "image,cat\na.jpg,1\n")
    write(tmp_path, "image,cat\na.jpg,1\n", name="train.csv")
    with pytest.raises(UserError, match=r"has both train\.csv and labels\.csv; keep one"):
        open_data(str(tmp_path))


def test_the_pictures_made_up_have_all_classes(tmp_path: Path) -> None:
    """So that tests can learn them."""
    assert read_labelled(make_labelled(tmp_path)).class_names == CLASSES
