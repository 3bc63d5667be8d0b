"""How numbers are written, in sentences, tables and pages; nothing where there is none."""

MINUTE, HOUR, DAY = 60, 3600, 86400


def percent(value: float | None) -> str:
    """Write an error: 8.75."""
    return "" if value is None else f"{value:.2f}"


def count(value: float | None) -> str:
    """Write a whole number: 269,722."""
    return "" if value is None else f"{value:,.0f}"


def printed(number: float | None) -> str:
    """Format a number as the paper prints it: 3.8G, 0.27M; nothing where it prints none."""
    if number is None:
        return ""
    return f"{number / 1e9:g}G" if number >= 1e9 else f"{number / 1e6:g}M"


def millions(value: float | None) -> str:
    """Write a count in millions: 40.6."""
    return "" if value is None else f"{value / 1e6:,.1f}"


def mebibytes(value: float | None) -> str:
    """Write bytes in MiB: 185.5, and small amounts to two digits: 0.028."""
    if value is None:
        return ""
    return f"{value / 2**20:,.1f}" if value >= 2**20 else f"{value / 2**20:.2g}"


def write_size(size: float) -> str:
    """Write a number of bytes in words: 185.5 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"


def duration(seconds: float | None) -> str:
    """Write a time in its two largest units: 27 s, 4 min 05 s, 2 h 03 min, 2 d 4 h."""
    if seconds is None:
        return ""
    whole = round(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE:02d} s"
    if whole < DAY:
        return f"{whole // HOUR} h {whole % HOUR // MINUTE:02d} min"
    return f"{whole // DAY} d {whole % DAY // HOUR} h"


def about(seconds: float) -> str:
    """Write a time that is only estimated: about 27 s, less than a second."""
    return f"about {duration(seconds)}" if round(seconds) else "less than a second"


def signed(value: float | None) -> str:
    """Write a difference with its sign, none that is not seen: −0.12, 0.00."""
    if value is None:
        return ""
    return f"{value:+.2f}".replace("-", "−") if round(value, 2) else "0.00"


def number(value: float | None) -> str:
    """Write a number as it was given, to four digits."""
    return "" if value is None else f"{value:.4g}"


def write_probability(probability: float) -> str:
    """Write a probability in percent so that rounding claims neither certainty nor impossibility."""
    percent = f"{100 * probability:.1f} %"
    return {"0.0 %": "<0.1 %", "100.0 %": ">99.9 %"}.get(percent, percent)
