"""The photographs of a folder, however they lie there: with annotated objects, on a list, in shards, or by class."""

from pathlib import Path

from reslab.data.objects.dataset import read_objects
from reslab.data.objects.layouts import find_layout
from reslab.data.photos.editions import CURRENT, Edition
from reslab.data.photos.folder import PhotoDataset, read_folder
from reslab.data.photos.label_list import find_list, read_labelled
from reslab.data.photos.shards import has_shards, read_shards
from reslab.spec.trial import DataSpec


def read_photos(root: Path, *, seed: int = 0, known: DataSpec | None = None) -> PhotoDataset:
    """Read them; `seed` draws what is held out where there is nothing to test on.

    `known` is what a trial says of its data: `seed` is then its, and what it was made of by an earlier edition is read
    so. Where no edition gives that, the folder has changed since, and is read as it is now.
    """
    now = read_edition(root, seed=seed if known is None else known.held_out_seed, edition=CURRENT)
    if known is None or known.fingerprint == now.fingerprint:
        return now
    earlier = now.read_before(held_out_seed=known.held_out_seed)
    return next((then for then in earlier if then.fingerprint == known.fingerprint), now)


def read_edition(root: Path, *, seed: int, edition: Edition) -> PhotoDataset:
    """Read them as an edition does."""
    if find_layout(root):
        return read_objects(root, seed=seed, edition=edition)
    if find_list(root):
        return read_labelled(root, seed=seed, edition=edition)
    read = read_shards if has_shards(root) else read_folder
    return read(root, seed=seed, edition=edition)
