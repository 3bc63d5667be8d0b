"""The images that a table is reproduced on: the paper's where they lie, or others that stand for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reslab.cli.terminal.show import note, progress_console
from reslab.errors import UserError, choices
from reslab.paper.claim import CIFAR10, IMAGENET, TINY_IMAGENET, Claim
from reslab.paper.detection import SETS
from reslab.report.reporting import Judgement

if TYPE_CHECKING:
    from reslab.data.dataset import Dataset

OBJECTS = {known.data.name: known.words for known in SETS}


def open_images(claims: Sequence[Claim], table: str, data: str | None, root: Path) -> Dataset:
    """Open the dataset of the claims; `data` is a dataset or a folder to use instead of the paper's."""
    _refuse_data(claims, table, data)
    names = _name_images(claims)
    place = Path(data).expanduser() if data else None
    with progress_console.status("loading"):
        from reslab.data.catalogue import LOADERS, load_dataset
        from reslab.experiments.paper_objects import open_objects
        from reslab.experiments.reproduce import open_imagenet

        if objects := [words for name, words in OBJECTS.items() if name in names]:
            dataset = open_objects(place, claims)
        elif IMAGENET.name not in names:
            return load_dataset(CIFAR10.name)
        elif data in LOADERS:
            return load_dataset(data)
        else:
            dataset = open_imagenet(place, runs=root)
    if dataset is not None:
        return dataset
    if objects:
        raise UserError(
            f"{table} needs {choices(objects)}: give it with data=FOLDER; another folder of images with annotated "
            "objects gives a reduced setting, and --from DIR judges existing runs"
        )
    raise UserError(
        f"{table} needs ImageNet (ILSVRC-2012), which was not found: get it from image-net.org and run "
        "`reslab data prepare imagenet SOURCE`, or give data=FOLDER if it is unpacked; "
        "other images, such as data=tiny-imagenet or a folder of photographs, give a reduced setting, and "
        "--from DIR judges existing runs"
    )


def stand_in(claims: Sequence[Claim], table: str, data: str, root: Path) -> Sequence[Claim]:
    """Return claims about the paper's images about other data; of Tiny-ImageNet no image is needed to judge runs."""
    _refuse_data(claims, table, data)
    if data == TINY_IMAGENET.data.name and not OBJECTS.keys() & _name_images(claims):
        return TINY_IMAGENET.stand_in(claims)
    dataset = open_images(claims, table, data, root)
    from reslab.experiments.reproduce import on_these

    return on_these(claims, dataset)


def tell_of_other_images(claims: Sequence[Claim], judged: Judgement, root: Path) -> None:
    """Say how to judge runs on other images, if a table about ImageNet, say, finds no run on those."""
    asked = _name_images(claims)
    if not (asked and asked <= {IMAGENET.name, *OBJECTS}) or not judged.data_names or asked & judged.data_names:
        return
    tiny = TINY_IMAGENET.data.name
    of_tiny = tiny in judged.data_names and asked == {IMAGENET.name}
    add = f"{tiny} to judge those" if of_tiny else "FOLDER to judge the runs on that folder"
    names = "ImageNet" if asked == {IMAGENET.name} else choices(sorted(asked))
    note(
        f"no run in {root} was trained on {names}, only on {', '.join(sorted(judged.data_names))}; "
        f"add data={add} as a reduced setting"
    )


def _refuse_data(claims: Sequence[Claim], table: str, data: str | None) -> None:
    if data is not None and not _name_images(claims) & {IMAGENET.name, *OBJECTS}:
        raise UserError(f"data= is only for tables that train on ImageNet or find objects; leave out data= for {table}")


def _name_images(claims: Sequence[Claim]) -> set[str]:
    return {setting.data.name for claim in claims for setting in claim.settings}
