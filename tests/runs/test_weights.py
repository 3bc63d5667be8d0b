"""A weight file is as long as it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from reslab.runs.weights import find_damage


def test_whole_files_are_known_from_others(tmp_path: Path) -> None:
    """With metadata or without, of several tensors or none; cut anywhere, it is damaged."""
    path = tmp_path / "weights.safetensors"
    assert find_damage(path) == "gone"
    assert find_damage(tmp_path) == "damaged"
    for tensors in ({}, {"a": np.zeros(3), "b": np.ones((2, 2), np.float32)}):
        for metadata in (None, {"reslab": "{}"}):
            save_file(tensors, path, metadata)
            assert find_damage(path) == ""
    whole = path.read_bytes()
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        assert find_damage(path) == "damaged"
    path.write_bytes(b"\xff" * 8 + whole[8:])
    assert find_damage(path) == "damaged"
