"""The command line, run in this process."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.delivery.conftest import fill, make_network

from reslab.cli import main
from reslab.experiments.train import train
from reslab.networks import save_model


@dataclass(frozen=True)
class Outcome:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with weights and a folder of photographs of both classes."""
    monkeypatch.chdir(tmp_path)
    save_model(make_network(), "mine.safetensors")
    fill(Path("photos/ants"), 5, bright=20)
    fill(Path("photos/bees"), 5, bright=150)
    return tmp_path


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a short run on the digits."""
    fields = {"recipe.iterations": 12, "recipe.batch": 16, "recipe.evaluate_every": 6}
    return train("digits", "cifar-resnet-8", fields=fields, runs=tmp_path_factory.mktemp("trained")).path


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of that run, alone in its folder."""
    return shutil.copytree(trained, tmp_path / "runs" / trained.name)


@pytest.fixture
def reslab(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run `reslab WORDS...`."""

    def call(*words: str) -> Outcome:
        code = 0
        try:
            main(list(words))
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return call
