"""A small ILSVRC-2012 in its publisher's form: three classes under one synset, archives within an archive, a devkit."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image

WORDS = {"n02012849": "crane", "n03126707": "crane", "n01440764": "tench, Tinca tinca"}
TRUTH = (3, 1, 2, 3, 1)
TRAINED = 2  # images a class
generator = np.random.default_rng(0)


def jpeg() -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(generator.integers(0, 256, (40, 50, 3), dtype=np.uint8)).save(buffer, "JPEG")
    return buffer.getvalue()


def pack(members: dict[str, bytes], *, mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def unpack(archive: Path, folder: Path) -> None:
    """Write an archive's files, by hand: tarfile's filters are newer than the oldest Python we run on."""
    with tarfile.open(archive) as file:
        for member in file.getmembers():
            content = file.extractfile(member)
            if content is not None:
                (folder / member.name).parent.mkdir(parents=True, exist_ok=True)
                (folder / member.name).write_bytes(content.read())


def make_meta() -> bytes:
    """Write `meta.mat` as the kit has it: a struct array of all synsets, those with children included."""
    from scipy.io import savemat

    leaves = [(number, wnid, words, 0) for number, (wnid, words) in enumerate(WORDS.items(), 1)]
    fields = ("ILSVRC2012_ID", "WNID", "words", "gloss", "num_children", "children", "wordnet_height")
    synsets = np.zeros((len(leaves) + 1, 1), dtype=[(name, object) for name in (*fields, "num_train_images")])
    for row, (number, wnid, words, children) in enumerate([*leaves, (1001, "n00001740", "entity", 3)]):
        below = np.arange(1, children + 1, dtype=np.float64)[None]
        synsets[row, 0] = (float(number), wnid, words, "a gloss", float(children), below, 0.0, float(TRAINED))
    buffer = io.BytesIO()
    savemat(buffer, {"synsets": synsets})
    return buffer.getvalue()


def publish(folder: Path) -> Path:
    """Write the three files into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    classes = {
        f"{wnid}.tar": pack({f"{wnid}_{number}.JPEG": jpeg() for number in range(TRAINED)}) for wnid in sorted(WORDS)
    }
    (folder / "ILSVRC2012_img_train.tar").write_bytes(pack(classes))
    images = {f"ILSVRC2012_val_{number:08d}.JPEG": jpeg() for number in range(1, len(TRUTH) + 1)}
    (folder / "ILSVRC2012_img_val.tar").write_bytes(pack(images))
    kit = {"meta.mat": make_meta(), "ILSVRC2012_validation_ground_truth.txt": "".join(f"{n}\n" for n in TRUTH).encode()}
    kit = {f"ILSVRC2012_devkit_t12/data/{name}": data for name, data in kit.items()}
    (folder / "ILSVRC2012_devkit_t12.tar.gz").write_bytes(pack(kit, mode="w:gz"))
    return folder
