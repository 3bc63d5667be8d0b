"""Instruments are folders, found by their names."""

from __future__ import annotations

import pytest

from reslab.analysis.catalogue import (
    describe_instruments,
    find_instrument,
    find_printed,
    find_settings,
    list_instruments,
    list_panels,
)
from reslab.analysis.settings import Settings


def test_layer_responses_are_an_instrument() -> None:
    """The first there was."""
    assert "responses" in list_instruments()


@pytest.mark.parametrize("name", list_instruments())
def test_every_instrument_measures_and_is_printed(name: str) -> None:
    """By settings of its own, which all have defaults and are told of; it says in a line what it measures."""
    instrument, printed = find_instrument(name), find_printed(name)
    assert callable(instrument.measure)
    assert instrument.settings is find_settings(name)
    assert issubclass(instrument.settings, Settings)
    assert instrument.settings().digest == ""
    own = set(instrument.settings.__dataclass_fields__) - set(Settings.__dataclass_fields__)
    assert all(f"{field}:" in (instrument.settings.__doc__ or "") for field in own)
    assert callable(printed.sentence)
    assert callable(printed.table)
    assert describe_instruments()[name].endswith(".")


def test_what_is_shown_is_measured() -> None:
    """An instrument may do without a panel, a panel not without an instrument; each view has a name of its own."""
    assert "responses" in list_panels()
    for name, panel in list_panels().items():
        assert name in list_instruments()
        assert panel.question.endswith("?")
        assert panel.note
        assert len({view.key for view in panel.views}) == len(panel.views)
