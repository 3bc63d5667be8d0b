"""The house's layers, its torch-free rooms and its public names."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import reslab

SOURCE = Path(reslab.__file__).parent
# Top to bottom; rooms on one floor never import each other.
FLOORS = [
    {"cli"},
    {"experiments", "report"},
    {"training", "evaluation", "analysis", "drawing", "delivery"},
    {"networks", "data", "runs", "paper"},
    {"spec"},
    {"shipped"},
    {"errors", "files"},
]
TORCH_FREE = (
    "reslab",
    "reslab.spec",
    "reslab.spec.trial",
    "reslab.shipped",
    "reslab.paper.claims",
    "reslab.runs.directory",
    "reslab.report.verdicts",
    "reslab.cli",
    "reslab.cli.describe",
    "reslab.cli.train",
    "reslab.cli.evaluate",
    "reslab.cli.analyze",
    "reslab.cli.reproduce",
    "reslab.cli.runs",
    "reslab.cli.predict",
    "reslab.cli.export",
    "reslab.cli.embed",
    "reslab.cli.probe",
    "reslab.cli.report",
    "reslab.report.site",
    "reslab.files",
)


def _imports(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("reslab."):
            rooms.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            rooms |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("reslab.")}
    return rooms


def _floor(room: str) -> int:
    return next(index for index, floor in enumerate(FLOORS) if room in floor)


def test_imports_go_downward_only() -> None:
    """A room imports from floors below its own, and from itself."""
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room in ("__init__", "__main__"):
            continue
        for imported in _imports(path) - {room}:
            if {room, imported} == {"errors", "files"}:
                continue
            assert _floor(imported) > _floor(room), f"{path.relative_to(SOURCE)} imports reslab.{imported}"


def test_every_room_has_a_floor() -> None:
    """A new folder must say where it stands."""
    rooms = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert rooms - {"__init__", "__main__", "__pycache__", "py.typed"} == set().union(*FLOORS)


@pytest.mark.parametrize("module", TORCH_FREE)
def test_some_rooms_never_import_torch(module: str) -> None:
    """Help and specs answer without torch."""
    script = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_help_answers_without_torch() -> None:
    """`reslab --help`, and a verb's own help, leave torch alone."""
    script = (
        "import sys\nfrom reslab.cli import main\ntry: main({arguments})\nfinally: assert 'torch' not in sys.modules"
    )
    verbs = ("describe", "train", "evaluate", "analyze", "reproduce", "runs", "data")
    helps = [["--help"], *[[verb, "--help"] for verb in verbs]]
    for arguments in (*helps, ["networks"]):
        done = subprocess.run(
            [sys.executable, "-c", script.format(arguments=arguments)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "reslab" in done.stdout or "resnet" in done.stdout


def test_public_names_are_there() -> None:
    """Every name in `__all__` loads, and nothing unknown does."""
    for name in reslab.__all__:
        assert getattr(reslab, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = reslab.nonsense  # pyright: ignore[reportAttributeAccessIssue]


def test_files_stay_stories() -> None:
    """No source file outgrows what one reads in a sitting, none hides behind a vague name."""
    for path in SOURCE.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 350, path
        assert path.stem not in {"utils", "util", "common", "helpers", "misc"}, path


def test_tests_mirror_the_source() -> None:
    """Each test module stands where its source module, or its tool, does."""
    tests = Path(__file__).parent
    for path in tests.rglob("test_*.py"):
        relative = path.relative_to(tests)
        if len(relative.parts) > 1:
            tested = relative.with_name(path.name.removeprefix("test_"))
            exists = (SOURCE / tested).exists() or (tested.parts[0] == "tools" and (tests.parent / tested).exists())
            assert exists, f"{relative} tests nothing: there is no {tested}"
