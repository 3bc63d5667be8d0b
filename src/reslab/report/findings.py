"""What instruments found in a run and its page shows in sections of their own, for all settings; no torch.

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
from reslab.runs.directory import RunDirectory
from reslab.tasks.display import Section


def read_sections(record: RunRecord) -> tuple[dict[str, list[Section]], list[Damage]]:
    """Return each instrument's sections, those of default settings first, and what of them is damaged."""
    run = RunDirectory(record.directory.path)  # not the one that remembers
    sections: dict[str, list[Section]] = {}
    damages: list[Damage] = []
    shown = {name: panel for name, panel in list_panels().items() if panel.sections is not InstrumentPanel.sections}
    for name, panel in shown.items():
        for path in _list_settings(run, name):
            try:
                found = run.read(f"analysis/{path.stem}")
                with naming(f"analysis/{path.name}"):
                    key = re.sub(r"\W", "-", path.stem)
                    made = panel.read(found).sections(_read_arrays(path.with_suffix(".npz")), key=key)
                    sections.setdefault(name, []).extend(made)
            except UserError as error:
                said = f"{error}; the run is shown without it"
                damages.append(Damage(record.directory.path.name, said, ""))
    return sections, damages


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
