"""How much memory is free and in use: on a CUDA device, or in this machine's RAM, less where a container has less."""

import contextlib
import os
import re
import resource
from pathlib import Path

import torch

MEMINFO, STATM = Path("/proc/meminfo"), Path("/proc/self/statm")
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
CONTAINER = Path("/sys/fs/cgroup")


def free_memory(device: torch.device | str) -> int:
    """Return the bytes that may still be used on `device`."""
    if torch.device(device).type == "cuda":
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + cached
    kibibytes = _read_number(MEMINFO, "MemAvailable")
    installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    free = installed if kibibytes is None else kibibytes * 1024
    # A container counts files it has read as used, and gives their memory back when others need it.
    reclaimable = _read_number(CONTAINER / "memory.stat", "inactive_file") or 0
    try:
        limit, used = ((CONTAINER / f"memory.{name}").read_text().strip() for name in ("max", "current"))
        return free if limit == "max" else max(0, min(free, int(limit) - int(used) + reclaimable))
    except (OSError, ValueError):
        return free


def _read_number(path: Path, name: str) -> int | None:
    """Return the number behind a name in a file of the system; None where it says none."""
    with contextlib.suppress(OSError, ValueError):
        found = re.search(rf"^{name}:?\s+(\d+)", path.read_text(), re.MULTILINE)
        return int(found[1]) if found else None
    return None


def used_memory(device: torch.device | str) -> int:
    """Return the bytes that this process holds on `device`."""
    if torch.device(device).type == "cuda":
        return torch.cuda.memory_allocated(device)
    try:
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def peak_memory(device: torch.device | str) -> int:
    """Return the most bytes this process has held on `device`, since it was told to forget or ever."""
    if torch.device(device).type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    kibibytes = _read_number(STATUS, "VmHWM")
    return 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss if kibibytes is None else kibibytes)


def forget_peak_memory(device: torch.device | str) -> None:
    """Let the peak be what is held now, so that one run does not inherit another's; where the system allows it."""
    if torch.device(device).type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return
    with contextlib.suppress(OSError):
        CLEAR.write_text("5")  # proc(5): reset the peak of the resident set
