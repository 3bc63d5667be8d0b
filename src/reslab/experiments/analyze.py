"""Instruments pointed at trained networks; what one finds of a run is measured once, and kept in its `analysis/`.

By settings of its own an instrument finds something else, which is kept beside that; so is what it finds of a run at
a step. What is not a run's own (a weight file, other images) is kept where the user says, or not at all.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reslab.analysis.catalogue import LogInstrument, find_instrument
from reslab.analysis.settings import Settings
from reslab.analysis.workbench import Workbench
from reslab.data.dataset import Dataset
from reslab.delivery.intake import refuse_detector
from reslab.errors import UserError
from reslab.experiments.trained import choose_inputs, load_run
from reslab.files import slug
from reslab.json_text import to_json
from reslab.runs.directory import RunDirectory
from reslab.runs.provenance import describe_surroundings, name_device
from reslab.runtime.listener import DEAF, Listener
from reslab.runtime.sealed import seal
from reslab.spec.codec import encode
from reslab.tasks.subject import Subject


def analyze(
    subject: Subject,
    instrument: str,
    settings: Settings | None = None,
    *,
    run: RunDirectory | None = None,
    out: Path | None = None,
    listener: Listener = DEAF,
) -> dict[str, Any]:
    """Point an instrument at a subject; return what it found as plain data, with its settings and what it ran on.

    That is kept in `out`, in a folder of the subject's own; or in the `run`, if it is on the run's own data. What is
    kept there already, by the same settings, is not measured again.
    """
    refuse_detector(subject.network)
    tool = find_instrument(instrument)
    if isinstance(tool, LogInstrument):
        raise UserError(f"{instrument} reads the log of a run; give analyze_log a run")
    chosen: Settings = settings or tool.settings()
    subject.count(chosen.on, chosen.images)
    keeper = RunDirectory(out / slug(subject.origin)) if out else run if subject.own else None
    name = _name(instrument, chosen, subject.step)
    about = _describe(subject, chosen, weights=keeper is not None)
    if keeper and _answers(kept := keeper.kept(name), subject, chosen, about):
        return {**kept, "settings": about["settings"]}
    workbench = Workbench(listener, place=keeper and keeper.path / "analysis" / name, about=about)
    measured = tool.measure(subject, chosen, workbench)
    found = json.loads(to_json({**about, **_surroundings(subject.device), **measured}))
    if keeper:
        keeper.keep(name, found)
        workbench.clear()
    return found


def analyze_log(
    run: RunDirectory,
    instrument: str,
    settings: Settings | None = None,
    *,
    out: Path | None = None,
    listener: Listener = DEAF,
) -> dict[str, Any]:
    """Let an instrument read what a run recorded; return what it found, kept in `out` or the run as `analyze` does.

    A log may have grown, so what is kept is never taken for an answer.
    """
    tool = find_instrument(instrument)
    assert isinstance(tool, LogInstrument)
    chosen: Settings = settings or tool.settings()
    keeper = RunDirectory(out / slug(run.path.name)) if out else run
    name = _name(instrument, chosen, None)
    about = {"subject": run.path.name, "step": None, "data": run.trial().data.name, "settings": encode(chosen)}
    workbench = Workbench(listener, place=keeper.path / "analysis" / name, about=about)
    measured = tool.measure(run, chosen, workbench)
    found = json.loads(to_json({**about, **_surroundings("cpu"), **measured}))
    keeper.keep(name, found)
    workbench.clear()
    return found


def analyze_run(
    run: RunDirectory, dataset: Dataset, instrument: str, settings: Settings | None = None, *, device: str = "cpu"
) -> dict[str, Any]:
    """Return what an instrument finds of a run on its own data, measured now if it was not before."""
    return analyze(choose_inputs(load_run(run), dataset, device=device), instrument, settings, run=run)


def _name(instrument: str, settings: Settings, step: int | None) -> str:
    """Name what is found: `curvature`, by other settings `curvature-1f0e4c2b`, of the weights at a step `...@20000`."""
    return "-".join(filter(None, (instrument, settings.digest))) + ("" if step is None else f"@{step}")


def _describe(subject: Subject, settings: Settings, *, weights: bool) -> dict[str, Any]:
    """Say what is measured: whoever resumes a measurement, or takes one for another, goes by this.

    A digest of the `weights` is in it where something is kept that may be compared. Early versions took the first
    images of folders, and did not say so.
    """
    about = {
        "subject": subject.origin,
        "step": subject.step,
        "data": subject.data,
        "split": subject.split,
        "preprocess": encode(subject.preprocess),
        "settings": encode(settings),
    }
    if subject.takes_evenly(settings.on, settings.images):
        about["taken"] = "evenly"
    return about | ({"weights": seal({}, subject.network.state_dict())} if weights else {})


def _surroundings(device: str) -> dict[str, Any]:
    surroundings = describe_surroundings()
    return {"versions": surroundings["versions"], "commit": surroundings["commit"], "device": name_device(device)}


def _answers(kept: Mapping[str, Any], subject: Subject, settings: Settings, about: Mapping[str, Any]) -> bool:
    """Whether what is kept is what would be measured; a setting that came later was as it is by default.

    Versions without settings had responses alone, always of all test images, and their settings among what was found.
    """
    if "settings" in kept:
        known = {**encode(type(settings)()), **kept["settings"]}
        return about.items() <= {**kept, "settings": known}.items()
    told = {name: value for name, value in encode(settings).items() if name in kept and name != "images"}
    return subject.covered_by(kept) and told.items() <= kept.items()
