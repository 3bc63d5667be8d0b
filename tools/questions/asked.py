"""What was measured for the page on measurements: a command's settings, of several networks, name the records it left.

Each lies in results/analysis, in a folder of its network or run.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reslab.analysis.catalogue import find_settings
from reslab.files import slug
from tools import REPOSITORY, RESULTS

RECORDS = RESULTS / "analysis"
PLAIN, RESIDUAL = ("plain-20", "plain-56"), ("resnet-20", "resnet-56", "resnet-110")
NETWORKS = (*PLAIN, *RESIDUAL)
SHIPPED = "weights=cifar10"
WIDEST = 100  # of a command's line
Found = Mapping[str, Mapping[str, Any]]  # what an instrument found, by the network


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An instrument by some settings, of networks with the weights that ship, or `of_runs` by their ids."""

    instrument: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    networks: tuple[str, ...] = NETWORKS
    of_runs: bool = False

    @property
    def command(self) -> str:
        """Return what measures it, folded."""
        fields = [f"{name}={str(value).lower()}" for name, value in self.settings.items()]
        words = ["reslab analyze", self.instrument, *self.networks, *([] if self.of_runs else [SHIPPED]), *fields]
        runs = ["--runs results/cifar10"] if self.of_runs else []
        return fold(" ".join([*words, *runs, "--out results/analysis"]))

    def path(self, network: str) -> Path:
        """Return where the record lies."""
        digest = find_settings(self.instrument)(**self.settings).digest
        name = "-".join(filter(None, (self.instrument, digest)))
        return RECORDS / slug(network if self.of_runs else f"{network} {SHIPPED}") / "analysis" / f"{name}.json"

    @property
    def pattern(self) -> str:
        """Return what its records match, from results/."""
        return f"analysis/*/analysis/{self.path(self.networks[0]).name}"

    @property
    def run(self) -> bool:
        """Whether all of it was measured."""
        return all(self.path(network).exists() for network in self.networks)

    def read(self) -> Found:
        """Return the records."""
        return {network: json.loads(self.path(network).read_text(encoding="utf-8")) for network in self.networks}

    def read_arrays(self, network: str) -> Mapping[str, NDArray[Any]]:
        """Return what is stored beside a record."""
        with np.load(self.path(network).with_suffix(".npz"), allow_pickle=False) as arrays:
            return dict(arrays)

    @property
    def links(self) -> str:
        """Return links to the records, from a page in docs/paper."""
        paths = {network: self.path(network).relative_to(REPOSITORY).as_posix() for network in self.networks}
        return ", ".join(f"[{name_in_prose(network)}](../../{path})" for network, path in paths.items())


@dataclass(frozen=True)
class Later:
    """What no record has: what it is, the commands for it, and a pattern that its records would match, if any tells."""

    what: str
    commands: tuple[str, ...]
    pattern: str = ""

    @property
    def run(self) -> bool:
        """Whether there is such a record by now."""
        return bool(self.pattern) and any(RESULTS.glob(self.pattern))


def name_in_prose(network: str) -> str:
    """Write a network as sentences have it: ResNet-56, plain-56."""
    return network.replace("resnet", "ResNet")


def fold(command: str) -> str:
    """Write a long command in lines that a shell joins; one that is folded already comes out as it was."""
    together = " ".join(command.replace("\\\n", " ").split())
    together = together.replace("--out ", "--out\0").replace("--runs ", "--runs\0")
    lines = textwrap.wrap(together, WIDEST, break_long_words=False, break_on_hyphens=False)
    return " \\\n    ".join(lines).replace("\0", " ")
