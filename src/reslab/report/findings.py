"""What instruments found in a run and its page shows in sections of their own, for all settings and steps; no torch.

Arrays are large, so nobody keeps them: they are read when the page is written.
"""

import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reslab.analysis.catalogue import InstrumentPanel, list_panels
from reslab.errors import UserError
from reslab.report.records import Damage, RunRecord, naming
from reslab.report.steps import show_steps, split_step
from reslab.runs.directory import RunDirectory
from reslab.tasks.display import Section


def read_sections(record: RunRecord) -> tuple[dict[str, list[Section]], list[Damage]]:
    """Return each instrument's sections, those of default settings first, and what of them is damaged.

    Where a run was measured at several steps, lines along its training come after the rest.
    """
    run = RunDirectory(record.directory.path)  # not the one that remembers
    last = (record.result and record.result.best_step) or record.step  # what the final weights are of
    sections: dict[str, list[Section]] = {}
    damages: list[Damage] = []
    for name, panel in list_panels().items():
        along: dict[str, dict[int, InstrumentPanel]] = {}
        for path, kind, step in _list_shown(run, name, panel):
            try:
                found = run.read(f"analysis/{path.stem}")
                with naming(f"analysis/{path.name}"):
                    read = panel.read(found)
                    made = read.sections(_read_arrays(path.with_suffix(".npz")), key=_key(path.stem))
            except UserError as error:
                if not panel.views or path.stem != name:  # that one is told where runs are read
                    said = f"{error}; the run is shown without it"
                    damages.append(Damage(record.directory.path.name, said, ""))
                continue
            sections.setdefault(name, []).extend(made)
            along.setdefault(kind, {})[last if step is None else step] = read
        for kind, panels in along.items() if panel.views else ():
            sections.setdefault(name, []).extend(show_steps(panels, key=_key(f"{kind}-along")))
    return {name: made for name, made in sections.items() if made}, damages


def _key(stem: str) -> str:
    return re.sub(r"\W", "-", stem)


def _list_shown(run: RunDirectory, name: str, panel: type[InstrumentPanel]) -> list[tuple[Path, str, int | None]]:
    """Return what is shown in sections, with its settings and step: all, or of lines those that have steps."""
    found = [(path, *split_step(path.stem)) for path in _list_settings(run, name)]
    stepped = {kind for _, kind, step in found if step is not None}
    own = panel.sections is not InstrumentPanel.sections
    return [one for one in found if own or one[1] in stepped]


def _list_settings(run: RunDirectory, instrument: str) -> Sequence[Path]:
    found = [path for path in run.list_findings(instrument) if path.suffix == ".json"]
    return sorted(found, key=lambda path: (path.stem != instrument, path.name))


def _read_arrays(path: Path) -> Mapping[str, NDArray[Any]]:
    """Return what is stored in a file of arrays; an instrument need not leave any."""
    if not path.exists():
        return {}
    try:
        with np.load(path, allow_pickle=False) as kept:
            return {name: kept[name] for name in kept.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(f"{path.name} cannot be read ({error})") from error
