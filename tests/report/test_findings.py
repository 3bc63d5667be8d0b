"""Sections that instruments give a run's page, read with their arrays when it is written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.analysis.landscape.test_panel import ARRAYS
from tests.analysis.landscape.test_printed import FOUND
from tests.runs_by_hand import write_run

from reslab.report.findings import read_sections
from reslab.report.records import Result, RunRecord, read_records
from reslab.report.site import write_site
from reslab.runs.directory import RunDirectory


def keep(run: RunDirectory, name: str, *, seed: int) -> Path:
    run.keep(name, FOUND | {"settings": FOUND["settings"] | {"seed": seed}})
    path = run.path / "analysis" / f"{name}.npz"
    np.savez(path, **ARRAYS)
    return path


def read(root: Path) -> RunRecord:
    records, damages = read_records(root)
    assert not damages
    return records[0]


def test_all_settings_have_their_section(tmp_path: Path) -> None:
    """Those by default first; charts have keys of their own; lines have no section."""
    run = write_run(tmp_path)
    for seed, name in enumerate(("landscape-0a1b2c3d", "landscape@500", "landscape")):
        keep(run, name, seed=seed)
    found, damages = read_sections(read(tmp_path))
    assert not damages
    assert list(found) == ["landscape"]
    sections = found["landscape"]
    assert [section.note.partition("seed ")[2][0] for section in sections] == ["2", "0", "1"]
    keys = [plot.key for section in sections for plot in section.plots]
    assert keys[0] == "landscape-contours"
    assert "landscape-500-surface" in keys
    assert len(set(keys)) == 9


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    """The rest is shown."""
    run = write_run(tmp_path)
    keep(run, "landscape", seed=0)
    keep(run, "landscape-0a1b2c3d", seed=1).write_bytes(b"PK")
    keep(run, "landscape-1a1b2c3d", seed=1).unlink()
    (run.path / "analysis" / "landscape-2a1b2c3d.json").write_text(json.dumps({"data": "cifar10"}))
    sections, damages = read_sections(read(tmp_path))
    assert len(sections["landscape"]) == 1
    assert "0a1b2c3d.npz cannot be read" in damages[0].sentence
    assert "its arrays lack loss" in damages[1].sentence
    assert "landscape-2a1b2c3d.json is damaged" in damages[2].sentence


def test_the_page_of_a_run_shows_them(tmp_path: Path) -> None:
    """And the first page tells what is damaged."""
    run = write_run(tmp_path / "runs")
    keep(run, "landscape", seed=0)
    keep(run, "landscape-0a1b2c3d", seed=1).write_bytes(b"PK")
    records, damages = read_records(tmp_path / "runs")
    index, told = write_site(records, damages, tmp_path / "site")
    (page,) = (index.parent / "runs").glob("*.html")
    text = page.read_text()
    assert "Loss around the weights" in text
    assert text.count('data-plot="landscape-') == 3
    assert '"landscape-contours":{"kind":"contours"' in text
    assert len(told) == 1
    assert "the run is shown without it" in index.read_text()


def test_steps_of_a_run_are_lines_along_its_training(tmp_path: Path) -> None:
    """With the last weights, by the same settings; a step alone, or a damaged one, makes none."""
    run = write_run(tmp_path)
    layers = [{"name": name, "std": 1.0, "low": 0.9, "high": 1.1} for name in ("conv1", "fc")]
    found = {"data": "cifar10", "images": 100, "confidence": 0.95, "layers": layers}
    for name in ("responses", "responses@0", "responses@100", "responses-0a1b2c3d@100"):
        run.keep(name, found)
    record = read(tmp_path)
    sections, damages = read_sections(record)
    (section,) = sections["responses"]
    assert not damages and section.plots[0].content["x"] == [0, 100, record.step]
    best = replace(record, result=Result(best_step=500, step=record.step))
    assert read_sections(best)[0]["responses"][0].plots[0].content["x"] == [0, 100, 500]
    run.keep("responses@100", {"data": "cifar10"})
    sections, damages = read_sections(record)
    assert sections["responses"][0].plots[0].content["x"] == [0, record.step]
    assert len(damages) == 1 and "responses@100.json is damaged" in damages[0].sentence
