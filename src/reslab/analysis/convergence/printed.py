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
    headings = ("training", "at", "law<", "last", "floor", percent, "rate", f"{percent} ")
    return PrintedTable(
        title=f"Laws fitted to the training, phase by phase, with {percent} intervals",
        headings=(*headings, "reached", f"{percent}  ") if reaching else headings,
        rows=tuple(
            (*_cells(curve, phase, name), *(_reach_cells(law) if reaching else ()))
            for curve in found["curves"]
            for phase in curve["phases"]
            for name, law in phase["laws"].items()
        ),
    )


def _cells(curve: Mapping[str, Any], phase: Mapping[str, Any], name: str) -> tuple[str, ...]:
    law, digits = phase["laws"][name], curve["decimals"]
    rate = (f"{law['rate']:.3f}", _between(law, "rate", ".3f")) if law["determined"] else ("", "")
    return (
        f"{curve['words']} {curve['unit']}".rstrip(),
        f"{phase['learning_rate']:g}",
        SHORT[name] + ("*" if phase["better"] == name else ""),
        f"{phase['last']:.{digits}f}",
        f"{law['floor']:.{digits}f}",
        _between(law, "floor", f".{digits}f"),
        *rate,
    )


def _between(law: Mapping[str, Any], name: str, form: str) -> str:
    return f"{law[f'{name}_low']:{form}}–{law[f'{name}_high']:{form}}"


def _reach_cells(law: Mapping[str, Any]) -> tuple[str, str]:
    if "reach" not in law:
        return "", ""
    when, low, high = (
        "never" if law["reach"][key] is None else count(round(law["reach"][key]))
        for key in ("iterations", "low", "high")
    )
    return when, low if low == high else f"{low}–{high}"


PRINTED = PrintedInstrument(sentence=_say, table=_tabulate)
