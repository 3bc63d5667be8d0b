"""The command line, run in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from reslab.cli import main


@dataclass(frozen=True)
class Outcome:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def reslab(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run `reslab WORDS...`."""

    def run(*words: str) -> Outcome:
        code = 0
        try:
            main(list(words))
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return run
