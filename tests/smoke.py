"""What an installed reslab must do where there is nothing else of ours: `python -m tests.smoke ENVIRONMENT`.

Each verb of a first hour, in an empty folder, with the `reslab` of a virtual environment: the first by the command a
user types, the others as that command runs them, one after the other in one process, which imports torch once.
`make wheel` runs it on a wheel installed alone, tests/test_wheel.py on one beside the packages here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
WHERE = "import reslab, sys; print(reslab.__file__, *sys.path, sep='\\n')"
SHIPPED = """
import torch, reslab
network = reslab.create_model("resnet-20", weights="cifar10").eval()
assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
print(network.class_names[3])
"""
PHOTOS = """
from pathlib import Path
import numpy as np
from PIL import Image
for split in ("train", "val"):
    for name, shade in (("dark", 40), ("light", 200)):
        folder = Path("photos", split, name)
        folder.mkdir(parents=True)
        for number in range(4):
            pixels = np.random.default_rng(number).integers(shade - 40, shade + 40, (48, 64, 3), np.uint8)
            Image.fromarray(pixels).save(folder / f"{number}.jpg")
"""
VERBS = """
import contextlib, io, json, sys
from reslab.cli import main
for line in sys.stdin:
    code, told = 0, io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        try:
            main(line.split())
        except SystemExit as stop:
            code = stop.code
    print(json.dumps([code, told.getvalue()]), flush=True)
"""
FIND_EXTRA = "import importlib.util as util; print(util.find_spec('onnxruntime') is not None)"
SHORT = ("recipe.iterations=2", "recipe.batch=4", "recipe.evaluate_every=1")


class Smoke:
    """An environment tried out in an empty folder, and what is to be seen in what it prints."""

    def __init__(self, environment: Path, folder: Path) -> None:
        self.programs, self.folder = environment.resolve() / "bin", folder
        # Nothing that could lead back to a checkout, nor to data and runs that are there already.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RESLAB", "COV"))}
        self.variables = kept | {"RESLAB_DATA": str(folder / "data"), "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
        command = [self.programs / "python", "-c", VERBS]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.verbs = subprocess.Popen(command, cwd=folder, env=self.variables, **pipes)

    def run(self, *words: str, shows: str = "") -> str:
        """Run a program of the environment, and check how it ends and that it shows what it should."""
        done = subprocess.run(
            [self.programs / words[0], *words[1:]],
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        self._check(" ".join(words), done.returncode, done.stdout + done.stderr, shows=shows)
        return done.stdout

    def reslab(self, words: str, *, shows: str, code: int = 0) -> None:
        """Run a verb, and say so."""
        assert self.verbs.stdin is not None and self.verbs.stdout is not None
        print(words, file=self.verbs.stdin, flush=True)
        line = self.verbs.stdout.readline()
        assert line, f"reslab {words}: the process is gone"
        ended, told = json.loads(line)
        self._check(f"reslab {words}", ended, told, shows=shows, code=code)
        print(f"reslab {words}")

    @staticmethod
    def _check(words: str, ended: int, told: str, *, shows: str, code: int = 0) -> None:
        assert ended == code, f"{words}\n{told}"
        assert shows in told, f"no '{shows}' in {words}\n{told}"


def try_out(environment: Path, folder: Path) -> None:
    """Try the reslab of `environment` in `folder`, which is empty; an AssertionError says what went wrong."""
    smoke = Smoke(environment, folder)
    with smoke.verbs:
        _try_verbs(smoke, environment)


def _try_verbs(smoke: Smoke, environment: Path) -> None:
    package, *path = smoke.run("python", "-c", WHERE).splitlines()
    assert Path(package).is_relative_to(environment.resolve()), f"reslab is taken from {package}"
    strays = [place for place in path if place and Path(place).is_relative_to(REPOSITORY / "src")]
    assert not strays, f"the checkout is on the path: {strays}"
    print(package)
    smoke.run("reslab", "--help", shows="train")
    smoke.reslab("describe resnet-20", shows="269,722 parameters")
    smoke.reslab("networks resnet-20", shows="cifar10")
    smoke.reslab(f"train data=digits network=cifar-resnet-8 {' '.join(SHORT)}", shows="wrote runs/cifar-resnet-8")
    smoke.reslab("evaluate cifar-resnet-8", shows="355 test images of digits")
    smoke.reslab("runs", shows="cifar-resnet-8")
    assert smoke.run("python", "-c", SHIPPED) == "cat\n"
    print('create_model("resnet-20", weights="cifar10")')
    smoke.run("python", "-c", PHOTOS)
    smoke.reslab("data check photos", shows="ready for training")
    smoke.reslab(f"train data=photos network=resnet-18 network.input_size=32 {' '.join(SHORT)}", shows="wrote runs/")
    smoke.reslab("predict resnet-18 photos/val", shows="light/3.jpg")
    words = "predict resnet-20 photos/val/dark weights=cifar10 preprocess.resize=32 preprocess.crop=32"
    smoke.reslab(words, shows="3.jpg")
    smoke.reslab("reproduce table-6 --from runs", shows="ResNet-110")
    smoke.reslab("report", shows="report/index.html")
    extra = smoke.run("python", "-c", FIND_EXTRA) == "True\n"
    shows = ".onnx" if extra else "pip install onnx onnxruntime onnxscript"
    smoke.reslab("export resnet-18 photos/val", shows=shows, code=0 if extra else 2)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as empty:
        try_out(Path(sys.argv[1]), Path(empty))
