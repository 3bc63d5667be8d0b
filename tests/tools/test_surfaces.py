"""The tool that draws landscapes for the docs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from tests.analysis.landscape.test_printed import FOUND
from tests.report.test_surfaces import ARRAYS
from tools.surfaces import main


def test_findings_become_a_picture(tmp_path: Path) -> None:
    """By what is stored, arrays included."""
    findings = tmp_path / "landscape.json"
    findings.write_text(json.dumps(FOUND))
    np.savez(findings.with_suffix(".npz"), allow_pickle=False, **ARRAYS)
    drawn = main(findings, "bowl", tmp_path)
    assert drawn == tmp_path / "bowl.svg"
    assert drawn.read_text().startswith("<?xml")
