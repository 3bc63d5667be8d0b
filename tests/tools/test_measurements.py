"""The page of questions and its figures."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from tools.questions.asked import Asked, Later, fold

from reslab.analysis.catalogue import list_instruments, list_panels
from reslab.cli.analyze import _read_settings  # pyright: ignore[reportPrivateUsage]
from reslab.spec.words import split_words
from tools import RESULTS, measurements
from tools.questions import asked as asked_module

PAGE = measurements.PAGE.read_text(encoding="utf-8")
ASKED = [one for question in measurements.QUESTIONS for one in question.asked]


def test_every_instrument_has_its_question() -> None:
    """In the words of the report, where that asks too; and what was not measured says so."""
    assert sorted(one.name for one in measurements.QUESTIONS) == list_instruments()
    panels = list_panels()
    assert all(panels[one.name].question == one.title for one in measurements.QUESTIONS if one.name in panels)
    parts = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")}
    for question in measurements.QUESTIONS:
        assert ("\nNot run.\n" in parts[question.title]) == (not question.run)
        assert (f"{question.figure}.svg" in parts[question.title]) == question.run


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.path(asked.networks[0]).stem)
def test_records_are_those_of_the_commands(asked: Asked) -> None:
    """What the command line makes of a command is what the record has, and where it is looked for."""
    words = shlex.split(asked.command.replace("\\\n", ""))[2 : -4 if asked.of_runs else -2]
    (instrument, *networks), fields = split_words(words)
    settings, rest = _read_settings(instrument, fields)
    weights = {} if asked.of_runs else {"weights": "cifar10"}
    assert (instrument, tuple(networks), rest) == (asked.instrument, asked.networks, weights)
    for network in asked.networks if asked.run else ():
        found = asked.read()[network]
        assert found["subject"] == " ".join([network, *(f"{name}={value}" for name, value in weights.items())])
        assert found["settings"]["images"] == settings.images == found["images"]
        assert all(found["settings"][name] == value for name, value in asked.settings.items())
        assert asked.path(network).stem in (f"{instrument}-{settings.digest}", instrument)


def test_records_name_no_place_and_are_small() -> None:
    """Nothing of the machine but its kind."""
    for path in asked_module.RECORDS.rglob("*"):
        assert path.is_dir() or path.stat().st_size < 200_000
        if path.suffix == ".json":
            assert not re.search(r'"(/|[A-Z]:\\)', path.read_text(encoding="utf-8")), path


def test_what_is_measured_by_now_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that what is called not run would leave stops the page."""
    (question, *_) = (one for one in measurements.QUESTIONS if one.later)
    later = Later("what nobody measured", ("reslab analyze RUN",), "analysis/*.json")
    monkeypatch.setattr(asked_module, "RESULTS", tmp_path)
    monkeypatch.setattr(
        measurements, "QUESTIONS", (replace(question, asked=(Asked(instrument="lesions"),), later=(later,)),)
    )
    assert "Not run: " in measurements.write_page([])
    (tmp_path / "analysis").mkdir()
    (tmp_path / "analysis" / "found.json").write_text("{}")
    with pytest.raises(AssertionError, match="what nobody measured is measured"):
        measurements.write_page([])


@pytest.mark.parametrize("name", ["gradients", "lesions", "identity", "shortcuts", "landscape"])
def test_figures_have_a_line_for_each_network(name: str) -> None:
    """Plain ones dashed, twins in one colour; views stand side by side."""
    (question,) = (one for one in measurements.QUESTIONS if one.name == name)
    assert question.draw
    figure = question.draw(measurements.collect(question, []))
    for axis in figure.axes:
        assert [line.is_dashed() for line in axis.lines] == [
            network.startswith("plain") for network in question.asked[0].networks
        ]
        colours = {str(line.get_label()).partition("-")[2]: line.get_color() for line in axis.lines}
        assert all(line.get_color() == colours[str(line.get_label()).partition("-")[2]] for line in axis.lines)
        assert len(set(colours.values())) == len(colours)


def test_long_commands_are_folded() -> None:
    """As a shell reads them; a field stays with its value."""
    command = "reslab analyze lesions " + " ".join(f"resnet-{depth}" for depth in range(20, 110, 6)) + " --out results"
    folded = fold(command)
    assert max(map(len, folded.splitlines())) <= 108
    assert shlex.split(folded.replace("\\\n", "")) == shlex.split(command)
    assert "--out results" in folded
    assert RESULTS.name == "results"
    assert fold(folded) == folded != command
    assert "\\ \\" not in PAGE
