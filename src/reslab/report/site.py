"""The site as a folder: built beside its place under another name, then put there whole.

A marker lists the files a report wrote, so that only a report is ever replaced, and only if nobody put files in it.
"""

import contextlib
import importlib.util
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reslab.errors import UserError
from reslab.files import real_path, replace_folder, temporary_folder
from reslab.json_text import to_json
from reslab.report.figures import draw_figures
from reslab.report.findings import read_sections
from reslab.report.groups import Group, group_runs
from reslab.report.pages import page_addresses, render_index, render_measurements, render_run
from reslab.report.records import Damage, RunRecord, read_gallery
from reslab.tasks.display import Section

ASSETS = Path(__file__).parent / "assets"
MARKER = ".reslab-report.json"
NEEDED = ("jinja2", "matplotlib", "plotly")


def write_site(
    records: Sequence[RunRecord], damages: Sequence[Damage], out: Path, *, verdicts: Sequence[Any] = ()
) -> tuple[Path, list[Damage]]:
    """Write the site to the folder `out`, in place of an earlier report; return its first page, and all damages."""
    for package in NEEDED:
        if importlib.util.find_spec(package) is None:
            raise UserError(f"a report needs {package}, which is not installed; run `pip install {package}`")
    found = list(damages)
    with _replacing(out) as folder:
        for name, text in _render(records, found, verdicts):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")  # names may be no UTF-8
        (folder / "assets").mkdir()
        for source in (*ASSETS.iterdir(), _plotly()):
            shutil.copyfile(source, folder / "assets" / source.name)
    return out / "index.html", found


def _render(records: Sequence[RunRecord], damages: list[Damage], verdicts: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Yield every page and figure with its place in the site, one at a time: runs have galleries.

    Those that are damaged are added to the damages, which the first page tells, so it comes last.
    """
    groups = group_runs(records)
    figures = draw_figures(groups)
    addresses = page_addresses(groups)
    names = {data: {kind: name for kind, (name, _) in drawn.items()} for data, drawn in figures.items()}
    yield from ((f"figures/{name}", svg) for drawn in figures.values() for name, svg in drawn.values())
    shown: dict[str, list[tuple[Group, RunRecord, Section]]] = {}
    for group in groups:
        for run in group.runs:
            gallery, damaged = read_gallery(run)
            found, lost = read_sections(run)
            damages += [*damaged, *lost]
            sections = [section for made in found.values() for section in made]
            yield addresses[run.id], render_run(group, run, addresses=addresses, gallery=gallery, sections=sections)
            for name, made in found.items():
                # The rest is large.
                first = [replace(section, plots=section.plots[:1]) for section in made if section.plots]
                shown.setdefault(name, []).extend((group, run, section) for section in first)
    answered = bool(shown) or any(run.findings for group in groups for run in group.runs)
    if answered:
        yield "measurements.html", render_measurements(groups, shown, addresses=addresses, figures=names)
    yield "index.html", render_index(groups, damages, verdicts=verdicts, figures=names, answered=answered)


@contextlib.contextmanager
def _replacing(out: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the place of `out` once filled; if filling fails, `out` stays as it was."""
    place = real_path(out)
    _check_free(out, place)
    try:
        with temporary_folder(place.parent, place.name) as temporary:
            folder = temporary / "new"
            folder.mkdir()
            yield folder
            files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
            (folder / MARKER).write_text(to_json([*files, MARKER], indent=1) + "\n", encoding="utf-8")
            replace_folder(place, folder)
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}; free some space or choose another --out") from error


def _check_free(out: Path, place: Path) -> None:
    """Refuse to replace what is not a report of ours, or one that holds a file of someone else's."""
    if place.is_dir():
        present = {path.relative_to(place).as_posix() for path in place.rglob("*") if not path.is_dir()}
        if not present:
            return
        try:
            ours = set(json.loads((place / MARKER).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            raise UserError(f"{out} is not a report and is not empty; choose another --out") from None
        strange = sorted(present - ours)
        if strange:
            raise UserError(
                f"{out} contains {strange[0]}, which is not part of a report; move it away or choose another --out"
            )
    elif place.exists():
        raise UserError(f"{out} is a file; choose a folder with --out")


def _plotly() -> Path:
    """Return the drawing library that the installed plotly brings along; importing plotly is not needed for it."""
    spec = importlib.util.find_spec("plotly")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"
