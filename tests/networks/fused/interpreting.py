"""Programs of this folder run under Triton's interpreter, which must be asked for before Triton is first imported."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest


def interpret(program: str, cases: Sequence[tuple[str, dict[str, Any]]]) -> list[dict[str, float]]:
    """Return what `program` prints of each case, interpreted in a process of its own."""
    pytest.importorskip("triton")
    done = subprocess.run(
        [sys.executable, "-m", f"tests.networks.fused.{program}", json.dumps(cases)],
        env=os.environ | {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(cases)
    return [json.loads(line) for line in lines]
