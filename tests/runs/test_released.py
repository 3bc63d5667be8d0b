"""The record of tests of released weights."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.report.test_release import record

from reslab.errors import UserError
from reslab.runs.released import read_tests


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Each protocol and each data in a file of its own."""
    assert read_tests(tmp_path) == []
    record(tmp_path, "1-crop", 24.28)
    record(tmp_path, "1-crop", 25.0, images=100)
    record(tmp_path, "10-crop", 22.3)
    found = read_tests(tmp_path)
    assert [(one.protocol, one.images) for one in found] == [("1-crop", 100), ("1-crop", 5_000), ("10-crop", 5_000)]
    assert (tmp_path / "release" / "resnet-50-of-5000-0123456789ab" / "1-crop-fp32.json").is_file()
    assert found[1].scores == {"error_percent": 24.28, "top5_error_percent": 7.8}


@pytest.mark.parametrize("content", ["{", "[]", '{"network": "resnet-50"}'])
def test_a_damaged_record_is_named(content: str, tmp_path: Path) -> None:
    """With what to do."""
    record(tmp_path, "1-crop", 24.28)
    (path,) = tmp_path.rglob("1-crop-fp32.json")
    path.write_text(content)
    with pytest.raises(UserError, match=r"1-crop-fp32\.json is damaged .*; remove it and test again"):
        read_tests(tmp_path)
