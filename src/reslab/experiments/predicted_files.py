"""The files that `reslab predict` is asked for, refused before the work where they cannot or may not be written."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

from reslab.data.objects.coco import CocoIds
from reslab.delivery.coco_file import (
    find_category_ids,
    find_image_ids,
    name_listing,
    refuse_foreign_results,
    write_coco,
)
from reslab.delivery.drawn_objects import name_pictures, write_drawings
from reslab.delivery.guess_table import COLUMN, write_csv
from reslab.delivery.onnx_predictor import ENDING
from reslab.delivery.pictures import Given, Image
from reslab.delivery.prediction import Looker, Prediction
from reslab.delivery.sheet import SIGNATURE, refuse_sheet, write_sheet
from reslab.errors import UserError
from reslab.experiments.subjects import Noted
from reslab.files import refuse_closed_place, refuse_foreign


@dataclass(frozen=True, kw_only=True)
class PredictedFiles:
    """A table, a contact sheet, a folder of explanations, which the caller writes, one of drawings, COCO's results.

    The last two are for detectors, the sheet and the explanations for classifiers.
    """

    csv: Path | None = None
    sheet: Path | None = None
    explain: Path | None = None
    draw: Path | None = None
    coco: Path | None = None

    @classmethod
    def at(cls, **places: str | Path | None) -> Self:
        """Return those at places."""
        return cls(**{name: Path(place) for name, place in places.items() if place is not None})

    @property
    def files(self) -> list[Path]:
        """Those that are no folders."""
        listing = [] if self.coco is None else [name_listing(self.coco)]
        return [path for path in (self.csv, self.sheet, self.coco, *listing) if path is not None]

    @property
    def folders(self) -> dict[str, tuple[Path, str]]:
        """Folders of a picture for each image, by their option, and how the pictures' names end."""
        places = {"--explain": (self.explain, ".png"), "--draw": (self.draw, ".jpg")}
        return {option: (path, ending) for option, (path, ending) in places.items() if path is not None}

    def refuse_places(self, subject: object) -> None:
        """Refuse what can be refused before any image is looked for."""
        for path in self.files:
            refuse_closed_place(path)
        for option, (folder, _) in self.folders.items():
            refuse_closed_place(folder, folder=True)
            if str(subject).endswith(ENDING):
                raise UserError(f"{option} needs a network, not {subject}; give its run or weights")
        for option, path, ending in (("--csv", self.csv, ".csv"), ("--coco", self.coco, ".json")):
            if path is not None and path.suffix.lower() != ending:
                raise UserError(f"{option} is {path}; give a file that ends in {ending}")

    def refuse_images(self, given: Sequence[Image], found: Sequence[Image]) -> None:
        """Refuse to write over images, and over what reslab did not write."""
        if self.sheet is not None:
            refuse_sheet(self.sheet, found)
        read = {Path(image).resolve() for image in found if isinstance(image, (str, Path))}
        beside = {Path(image).parent.resolve() for image in found if isinstance(image, (str, Path))}
        if both := [path for path in self.files if path.resolve() in read]:
            raise UserError(f"{both[0]} is one of the input images; write to another file")
        for option, (folder, _) in self.folders.items():
            if folder.resolve() in beside | {path.parent for path in read}:
                raise UserError(
                    f"{folder} has input images, which pictures could replace; give {option} another folder"
                )
        for path, mark in ((self.csv, COLUMN), (self.sheet, SIGNATURE.encode())):
            if path is not None:
                refuse_foreign(path, mark)
        if self.coco is not None:
            refuse_foreign_results(self.coco)
        searched = [Path(one).resolve() for one in given if isinstance(one, (str, Path)) and Path(one).is_dir()]
        names = [Given(found).name(place) for place in range(len(found))]
        for option, (folder, ending) in self.folders.items():
            for name in name_pictures(names, ending):
                refuse_foreign(folder / name, SIGNATURE.encode())
            if any(folder.resolve().is_relative_to(place) for place in searched):
                raise UserError(
                    f"{folder} is inside a folder of images, which it would change; give {option} another folder"
                )

    def refuse_kind(self, looker: Looker) -> None:
        """Refuse what makes no sense for whoever looks."""
        name = looker.origin or looker.network_name
        wrong = ("sheet", "explain") if looker.finds_objects else ("draw", "coco")
        for field in fields(self):
            if field.name in wrong and getattr(self, field.name) is not None:
                raise UserError(
                    f"--{field.name} is for networks that classify images, but {name} finds objects; use --draw instead"
                    if looker.finds_objects
                    else f"--{field.name} is for detectors, but {name} classifies images; leave it out"
                )

    def refuse_ids(self, looker: Looker, found: Sequence[Image], ids: CocoIds | None) -> None:
        """Refuse images and classes that have no id."""
        if self.coco is not None:
            find_image_ids([Given(found).name(place) for place in range(len(found))], ids)
            find_category_ids(looker.class_names, ids)

    def write(
        self,
        predictions: Sequence[Prediction],
        every: Sequence[Prediction],
        *,
        looker: Looker,
        images: Sequence[Image],
        ids: CocoIds | None,
        noted: Noted | None,
    ) -> list[Path | None]:
        """Write all but the explanations; return the drawings. COCO's results are of `every` object found."""
        if self.csv is not None:
            write_csv(predictions, self.csv, objects=looker.finds_objects)
        if self.coco is not None:
            write_coco(every, self.coco, class_names=looker.class_names, ids=ids)
        if self.sheet is not None:
            title = f"{looker.origin or looker.network_name}: {len(predictions):,} images"
            left_out = noted.sentences if noted else ()
            write_sheet(predictions, self.sheet, title=title, on_bad=noted, left_out=left_out)
        if self.draw is None:
            return []
        return write_drawings(predictions, images, self.draw, class_names=looker.class_names, on_bad=noted)
