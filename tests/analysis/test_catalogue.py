"""Instruments are folders, found by their names."""

from __future__ import annotations

import pytest

from reslab.analysis.catalogue import find_instrument, find_printed, list_instruments, list_panels


def test_layer_responses_are_an_instrument() -> None:
    """The first there was."""
    assert "responses" in list_instruments()


@pytest.mark.parametrize("name", list_instruments())
def test_every_instrument_measures_and_is_printed(name: str) -> None:
    """By settings that are stored with what it finds."""
    instrument, printed = find_instrument(name), find_printed(name)
    assert callable(instrument.measure)
    assert all(isinstance(value, (int, float)) for value in instrument.settings.values())
    assert callable(printed.sentence)
    assert callable(printed.table)


def test_what_is_shown_is_measured() -> None:
    """An instrument may do without a panel, a panel not without an instrument; each view has a name of its own."""
    assert "responses" in list_panels()
    for name, panel in list_panels().items():
        assert name in list_instruments()
        assert len({view.key for view in panel.views}) == len(panel.views)
