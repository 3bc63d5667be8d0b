"""What weights were trained on, and how many of the images to test on are among that.

A weight file names the data of its training and of those before it, whose weights it started from, and has digests of
the photographs of all, where these are read in seconds. Where it has none, images are known by their names in a folder
that still is what it was.
"""

import base64
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reslab.data.dataset import Dataset, Split
from reslab.errors import UserError
from reslab.networks import Weights
from reslab.runs.directory import RunDirectory
from reslab.spec.codec import convert, decode, encode
from reslab.spec.trial import DataSpec, Trial

FILE = "seen"  # of a run
DATA, BEFORE, DIGESTS, DIGESTED = "data", "data_before", "image_digests", "digested"  # of a weight file's provenance
TUNED = "thresholds_tuned_on"  # there too


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What was trained on, the newest first, and digests of the photographs among it, as far as they are known.

    `digested` are the fingerprints of the data whose images are among the digests.
    """

    data: tuple[DataSpec, ...] = ()
    digests: NDArray[np.int64] | None = None
    digested: tuple[str, ...] = ()

    def describe(self) -> dict[str, Any]:
        """Return it as plain data for a weight file's provenance."""
        newest, *before = encode(self.data)
        found = {DATA: newest} | ({BEFORE: before} if before else {})
        if self.digests is not None:
            found[DIGESTS] = _write_digests(self.digests)
            found[DIGESTED] = list(self.digested)
        return found


def read_seen(provenance: Mapping[str, Any]) -> Seen:
    """Return what a weight file says that it was trained on; others may write there what they like."""
    try:
        data = tuple(decode(DataSpec, one) for one in (provenance[DATA], *provenance.get(BEFORE, ())))
        text = provenance.get(DIGESTS)
        digests = None if text is None else _read_digests(text)
        digested = convert(tuple[str, ...], provenance.get(DIGESTED, ()), where=DIGESTED)
    except (KeyError, TypeError, ValueError):  # a UserError is a ValueError
        return Seen()
    return Seen(data=data, digests=digests, digested=digested)


def find_noted(run: RunDirectory) -> Seen | None:
    """Return what a run has noted; None where it has not yet, or by an earlier version, or the note is damaged."""
    with contextlib.suppress(UserError):
        seen = read_seen(run.read(FILE))
        return seen if seen.data else None
    return None


def note_seen(run: RunDirectory, trial: Trial, dataset: Dataset, started: Weights | None) -> Seen:
    """Return what a run's weights will have been trained on, what they start from included; noted when it begins."""
    if (noted := find_noted(run)) is not None:
        return noted
    before = read_seen(started.provenance) if started is not None else Seen()
    own = dataset.train.digests()
    digests = [one for one in (before.digests, own) if one is not None]
    seen = Seen(
        data=tuple(dict.fromkeys((trial.data, *before.data))),
        digests=np.unique(np.concatenate(digests)) if digests else None,
        digested=(*before.digested, *([] if own is None else [trial.data.fingerprint])),
    )
    if digests or before.data:  # else the trial says it all
        run.write(FILE, seen.describe())
    return seen


def describe_overlap(seen: Seen, dataset: Dataset, tested: Split, *, weights: str) -> str:
    """Say how many of the images to test on `weights` were trained on; nothing where none were, as far as is known."""
    found, unknown = np.zeros(len(tested), bool), False
    digests = tested.digests() if seen.digested else None
    if digests is not None and seen.digests is not None:
        found |= np.isin(digests, seen.digests)
    for before in seen.data:
        trained = dataset.find_trained(before)
        if trained is not None:
            found |= np.isin(tested.identities(), trained.identities())
        elif before.name == dataset.name and (digests is None or before.fingerprint not in seen.digested):
            unknown = True
    remedy = "test on other images"
    if found.any():
        count = f"{found.sum():,} of the {len(tested):,} test images of {dataset.name}"
        return f"{weights} was trained on {count}, so the test error is too low; {remedy}"
    if unknown:
        return f"{weights} was trained on another {dataset.name}, perhaps on some of these test images; {remedy}"
    return ""


def note_tuned(data: str, tuned: Split) -> dict[str, Any]:
    """Return what tells the images that thresholds were tuned on from others, as plain data."""
    digests = tuned.digests()
    return {"data": data, DIGESTS: None if digests is None else _write_digests(digests)}


def describe_tuned(provenance: Mapping[str, Any], data: str, tested: Split, *, weights: str) -> str:
    """Say how many of the images to test on `weights` have their thresholds from; nothing where none, as is known."""
    try:
        about = provenance[TUNED]
        known = None if about[DIGESTS] is None else _read_digests(about[DIGESTS])
        digests = None if known is None else tested.digests()
        if known is None or digests is None:
            if about["data"] != data:
                return ""
            which = f"images of {data}, perhaps on these"
        elif count := int(np.isin(digests, known).sum()):
            which = f"{count:,} of the {len(tested):,} test images of {data}"
        else:
            return ""
    except (KeyError, TypeError, ValueError):
        return ""
    return (
        f"the thresholds of {weights} were tuned on {which}, so the scores of labels are too good; test on other images"
    )


def _write_digests(digests: NDArray[np.int64]) -> str:
    return base64.b64encode(digests.astype("<i8").tobytes()).decode()


def _read_digests(text: str) -> NDArray[np.int64]:
    return np.frombuffer(base64.b64decode(text, validate=True), "<i8")
