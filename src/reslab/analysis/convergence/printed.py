"""Fitted laws in words and as a table; no torch."""

from collections.abc import Mapping
from typing import Any

from reslab.analysis.catalogue import PrintedInstrument
from reslab.numbers import count
from reslab.tasks.display import PrintedTable

SHORT = {"exponential": "exp", "power": "power"}


def _say(found: Mapping[str, Any]) -> str:
    settings = found["settings"]
    told = "floor + a·exp(−rate·t), with t in 1,000 iterations, and floor + a·t^(−rate) fitted to each phase"
    told += f" without its first {100 * settings['skip']:g} %; a star marks the law that fits better"
    if found["against"]:
        told += f"; 'reached' is when the law comes down to {found['against']['network']} at the end of its like phase"
    elif settings["reach"]:
        told += f"; 'reached' is when the law comes down to {settings['reach']:g}"
    return told


def _tabulate(found: Mapping[str, Any]) -> PrintedTable:
    percent = f"{100 * found['settings']['confidence']:g} %"
    reaching = bool(found["against"] or found["settings"]["reach"])
    headings = ("curve", "learning rate", "law<", "last", "floor", "from", "to", "rate", "from ", "to ", "off by")
    return PrintedTable(
        title=f"Laws fitted to the training, with {percent} intervals",
        headings=(*headings, "target", "reached", "from  ", "to  ") if reaching else headings,
        rows=tuple(
            (*_cells(curve, phase, name), *(_reach_cells(curve, law) if reaching else ()))
            for curve in found["curves"]
            for phase in curve["phases"]
            for name, law in phase["laws"].items()
        ),
    )


def _cells(curve: Mapping[str, Any], phase: Mapping[str, Any], name: str) -> tuple[str, ...]:
    law, digits = phase["laws"][name], curve["decimals"]
    rates = [law[key] for key in ("rate", "rate_low", "rate_high")] if law["determined"] else [None] * 3
    return (
        f"{curve['words']} {curve['unit']}".rstrip(),
        f"{phase['learning_rate']:g}",
        SHORT[name] + ("*" if phase["better"] == name else ""),
        *(f"{value:.{digits}f}" for value in (phase["last"], law["floor"], law["floor_low"], law["floor_high"])),
        *("" if rate is None else f"{rate:.3f}" for rate in rates),
        f"{law['residual']:.{digits + 1}f}",
    )


def _reach_cells(curve: Mapping[str, Any], law: Mapping[str, Any]) -> tuple[str, ...]:
    if "reach" not in law:
        return ("",) * 4
    reach = law["reach"]
    return (
        f"{reach['value']:.{curve['decimals']}f}",
        *("never" if reach[key] is None else count(round(reach[key])) for key in ("iterations", "low", "high")),
    )


PRINTED = PrintedInstrument(sentence=_say, table=_tabulate)
