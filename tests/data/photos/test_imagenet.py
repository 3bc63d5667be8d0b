"""ILSVRC-2012 is brought into folders from any form; nothing half done stays, nothing strange is followed."""

from __future__ import annotations

import io
import shutil
import tarfile
from collections import Counter
from pathlib import Path

import pytest
from tests.data.photos.ilsvrc import TRAINED, TRUTH, WORDS, jpeg, pack, publish, unpack

from reslab.data.photos import imagenet
from reslab.data.photos.folder import read_folder
from reslab.data.photos.imagenet import choose_place, prepare_imagenet, read_devkit
from reslab.data.words import read_words
from reslab.errors import UserError

COUNTS = (len(WORDS), TRAINED * len(WORDS), len(TRUTH))
TRAIN, VAL, KIT = "ILSVRC2012_img_train.tar", "ILSVRC2012_img_val.tar", "ILSVRC2012_devkit_t12.tar.gz"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return publish(tmp_path / "published")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "imagenet"


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_archives_become_folders(source: Path, out: Path) -> None:
    """Each image in the folder of its class, with the publisher's bytes; the classes' words beside them."""
    seen = []
    prepared = prepare_imagenet(source, out, watch=lambda *told: seen.append(told))
    assert (prepared.root, prepared.counts, prepared.whole, prepared.as_found) == (out, COUNTS, False, False)
    dataset = read_folder(out)
    assert dataset.class_names == tuple(sorted(WORDS))
    assert read_words(out) == WORDS
    for number, truth in enumerate(TRUTH, 1):
        assert f"val/{list(WORDS)[truth - 1]}/ILSVRC2012_val_{number:08d}.JPEG" in dataset.test.files
    with tarfile.open(source / VAL) as archive:
        first = archive.extractfile("ILSVRC2012_val_00000001.JPEG")
        assert first is not None
        assert first.read() == (out / "val/n01440764/ILSVRC2012_val_00000001.JPEG").read_bytes()
    assert {what for what, _, _ in seen} == {"training images", "validation images"}
    assert all(0 <= done <= total for _, done, total in seen)
    assert not list(out.rglob(".*"))


def test_what_was_stopped_goes_on(source: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At whichever image: what is there is whole, the rest follows, and what is done is not done again."""
    reference = tree(prepare_imagenet(source, out.with_name("reference")).root)
    write = imagenet._write
    for stop_at in range(COUNTS[1] + COUNTS[2]):
        calls = Counter()

        def stop(image: object, path: Path, *, calls: Counter = calls, stop_at: int = stop_at) -> None:
            if calls["written"] == stop_at:
                raise KeyboardInterrupt
            calls["written"] += 1
            write(image, path)  # pyright: ignore[reportArgumentType]

        monkeypatch.setattr(imagenet, "_write", stop)
        with pytest.raises(KeyboardInterrupt):
            prepare_imagenet(source, out)
        assert {path.name for path in out.glob("train/*")} == set(sorted(WORDS)[: stop_at // TRAINED])
        assert not (out / "val").exists()
        assert all(len(list(folder.iterdir())) == TRAINED for folder in out.glob("train/*"))
        stopped, calls["written"] = calls["written"], -1000
        prepare_imagenet(source, out)
        whole = min(stopped // TRAINED * TRAINED, COUNTS[1])
        assert calls["written"] + 1000 == COUNTS[1] + COUNTS[2] - whole
        assert tree(out) == reference
        shutil.rmtree(out)


def test_finished_parts_need_no_archive(source: Path, out: Path) -> None:
    """The large one may be removed once it is unpacked."""
    before = tree(prepare_imagenet(source, out).root)
    (source / TRAIN).unlink()
    (source / VAL).unlink()
    assert prepare_imagenet(source, out).counts == COUNTS
    assert tree(out) == before


def test_a_flat_val_folder_is_sorted(source: Path, out: Path) -> None:
    """Beside training images that are unpacked, in place; else its images get a second place."""
    reference = tree(prepare_imagenet(source, out).root)
    shutil.rmtree(out / "val")
    unpack(source / VAL, out / "val")
    shutil.copy(source / KIT, out)
    assert choose_place(out) == out
    assert prepare_imagenet(out, out).counts == COUNTS
    (out / KIT).unlink()
    assert tree(out) == reference

    unpack(source / VAL, source / "val")
    (source / VAL).unlink()
    elsewhere = prepare_imagenet(source, out.with_name("elsewhere")).root
    assert tree(elsewhere) == reference
    assert len(list((source / "val").iterdir())) == len(TRUTH)


def test_unpacked_classes_are_brought_without_copying(source: Path, out: Path) -> None:
    """Where the disk is the same."""
    unpack(source / TRAIN, source / "tars")
    for path in (source / "tars").iterdir():
        unpack(path, source / "train" / path.stem)
    (source / TRAIN).unlink()
    prepare_imagenet(source, out)
    file = next((out / "train").rglob("*.JPEG"))
    assert file.samefile(source / "train" / file.parent.name / file.name)


def test_what_is_unpacked_is_only_counted(source: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written; another place for it is refused."""
    before = tree(prepare_imagenet(source, out).root)
    prepared = prepare_imagenet(out, choose_place(out))
    assert (prepared.root, prepared.counts, prepared.as_found) == (out, COUNTS, True)
    assert tree(out) == before
    with pytest.raises(UserError, match="is already unpacked; use it directly, without --out"):
        prepare_imagenet(out, out.with_name("other"))
    monkeypatch.setattr(imagenet, "WHOLE", COUNTS)
    assert prepare_imagenet(out, out).whole


@pytest.mark.parametrize("name", [TRAIN, VAL, KIT])
def test_missing_files_are_named(name: str, source: Path, out: Path) -> None:
    """With where they come from; nothing is begun."""
    (source / name).unlink()
    with pytest.raises(
        UserError, match=rf"has no {name}; download ILSVRC-2012 from image-net\.org, which needs an account"
    ):
        prepare_imagenet(source, out)
    with pytest.raises(UserError, match=rf"there is no folder .*nowhere; give the one with {TRAIN}"):
        prepare_imagenet(source / "nowhere", out)
    assert not out.exists()


def test_a_small_disk_is_refused_first(source: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what is still to be unpacked."""
    usage = shutil.disk_usage(source)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage._replace(free=10_000))
    with pytest.raises(UserError, match=r"of disk space, but .* are free; free some space or give --out"):
        prepare_imagenet(source, out)
    assert not out.exists()
    monkeypatch.undo()
    prepare_imagenet(source, out)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage._replace(free=0))
    assert prepare_imagenet(source, out).counts == COUNTS


@pytest.mark.parametrize("name", ["../../escaped.JPEG", "/tmp/escaped.JPEG", "n01440764_0.JPEG/../x.JPEG", "setup.py"])
@pytest.mark.parametrize("part", ["train", "val", "classes"])
def test_strange_names_are_refused(name: str, part: str, source: Path, out: Path) -> None:
    """Nothing outside the folder is written, nor anything that is no image."""
    members = {"val": {name: jpeg()}, "train": {"n01440764.tar": pack({name: jpeg()})}, "classes": {name: pack({})}}[
        part
    ]
    (source / (VAL if part == "val" else TRAIN)).write_bytes(pack(members))
    with pytest.raises(UserError, match=r"holds '.*', which is not (an image|a class) of ILSVRC-2012; fetch it again"):
        prepare_imagenet(source, out)
    assert not [path for path in out.parent.rglob("*") if path.name in ("escaped.JPEG", "x.JPEG", "setup.py")]


def test_links_are_refused(source: Path, out: Path) -> None:
    """Even under an image's name."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        link = tarfile.TarInfo("ILSVRC2012_val_00000001.JPEG")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    (source / VAL).write_bytes(buffer.getvalue())
    with pytest.raises(UserError, match=r"holds .*not a regular file"):
        prepare_imagenet(source, out)


def test_damage_is_named(source: Path, out: Path) -> None:
    """Archives cut short, a class the kit does not know, more images than labels."""
    whole = (source / TRAIN).read_bytes()
    (source / TRAIN).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match=r"img_train\.tar is damaged \(.*\); fetch it again"):
        prepare_imagenet(source, out)
    (source / TRAIN).write_bytes(pack({"n09999999.tar": pack({})}))
    with pytest.raises(UserError, match=r"has the class n09999999, but .*devkit.* does not"):
        prepare_imagenet(source, out)
    (source / TRAIN).write_bytes(whole)
    (source / VAL).write_bytes(pack({"ILSVRC2012_val_00000006.JPEG": jpeg()}))
    with pytest.raises(
        UserError, match=r"ILSVRC2012_val_00000006\.JPEG has no label: .* has labels for 5 images; fetch both again"
    ):
        prepare_imagenet(source, out)
    assert not (out / "val").exists()


def test_a_place_that_cannot_be_written_is_named(source: Path, tmp_path: Path) -> None:
    """With the remedy."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match=r"cannot write .*file/imagenet: Not a directory"):
        prepare_imagenet(source, tmp_path / "file" / "imagenet")


def test_words_and_truth(tmp_path: Path) -> None:
    """Synsets with children are none of the classes; numbers of the truth begin with 1."""
    kit = read_devkit(publish(tmp_path))
    assert kit is not None
    assert kit.words == WORDS
    assert kit.truth == tuple(list(WORDS)[number - 1] for number in TRUTH)
    unpack(tmp_path / "ILSVRC2012_devkit_t12.tar.gz", tmp_path / "elsewhere")
    assert read_devkit(tmp_path / "elsewhere") == kit
    assert read_devkit(tmp_path / "nowhere") is None


@pytest.mark.parametrize("content", [b"", b"nonsense" * 100])
def test_a_damaged_kit_is_named(content: bytes, tmp_path: Path) -> None:
    """Cut short, or something else."""
    (tmp_path / "ILSVRC2012_devkit_t12.tar.gz").write_bytes(content)
    with pytest.raises(UserError, match=r"devkit_t12\.tar\.gz cannot be read as a development kit .*fetch it again"):
        read_devkit(tmp_path)


def test_a_kit_cut_short_or_without_its_files_is_named(tmp_path: Path) -> None:
    """Whatever is missing of it."""
    path = publish(tmp_path) / "ILSVRC2012_devkit_t12.tar.gz"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(UserError, match="fetch it again"):
        read_devkit(tmp_path)
    with tarfile.open(path, "w:gz"):
        pass
    with pytest.raises(UserError, match=r"meta\.mat.*fetch it again"):
        read_devkit(tmp_path)
